package validate

import (
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Dormant returns a finding for each dormant parentRef of a stored route, which says why no
// mesh acts on it. It denies nothing: the route is stored, and has no effect by it. The namespace is that of the
// route, nil if it is not known. The remedy names the grant first unless the namespace has it.
func (e *Engine) Dormant(route *mesh.Route, namespace *mesh.Namespace) []Finding {
	var findings []Finding
	dormant := route.Dormant(e.policy.Mesh)
	attached := &mesh.AttachedRoute{Kind: route.Kind, Namespace: route.Metadata.Namespace, Name: route.Metadata.Name, Parents: route.Spec.ParentRefs}
	for i := range route.Spec.ParentRefs {
		if !dormant.Has(i) {
			continue
		}
		ref := &route.Spec.ParentRefs[i]
		f := e.describeDormant(&Parent{Route: attached, Index: i, Ref: ref, Key: ref.Service(attached.Namespace)})
		first := "grant first, then "
		if needed := e.policy.Grants.Needed(attached.Namespace, []mesh.ParentRef{*ref}); namespace != nil && len(e.policy.Grants.Missing(namespace, route.Kind, needed)) == 0 {
			first = ""
		}
		f.Remedy = "to make it live, " + first + f.Remedy + route.InController()
		findings = append(findings, f)
	}
	return findings
}

// describeDormant describes a dormant parentRef, in the words of RuleParentGroupInvalid.
func (e *Engine) describeDormant(parent *Parent) Finding {
	rule := e.byID[RuleParentGroupInvalid]
	f := rule.describe(e.policy, parent)
	f.Action, f.Effect, f.Downgraded = rule.action, Audit, DowngradedByDormancy
	who := "no mesh acts"
	switch others := parent.Ref.ReadBy(); {
	case e.policy.Mesh != nil:
		who = e.policy.Mesh.Title + " does not act"
	case len(others) > 0:
		who = "no mesh but " + strings.Join(others, ", ") + " acts"
	}
	f.Problem = who + " on this parentRef: " + f.Problem
	return f
}
