package validate

import (
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Dormant returns a finding for each dormant parentRef of a stored route, which says why no
// mesh acts on it. It denies nothing: the route is stored, and has no effect by it.
func (e *Engine) Dormant(route *mesh.Route) []Finding {
	var findings []Finding
	dormant := route.Dormant(e.policy.Mesh)
	attached := &mesh.AttachedRoute{Kind: route.Kind, Namespace: route.Metadata.Namespace, Name: route.Metadata.Name, Parents: route.Spec.ParentRefs}
	for i := range route.Spec.ParentRefs {
		if dormant.Has(i) {
			ref := &route.Spec.ParentRefs[i]
			f := e.describeDormant(&Parent{Route: attached, Index: i, Ref: ref, Key: ref.Service(attached.Namespace)})
			f.Remedy += route.InController()
			findings = append(findings, f)
		}
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
	f.Remedy = "to make it live, grant first, then " + f.Remedy
	return f
}

// AddDormant adds what is dormant of the stored route to the verdict on the rest of it.
func (e *Engine) AddDormant(verdict *Verdict, route *mesh.Route) {
	if dormant := e.Dormant(route); len(dormant) > 0 {
		verdict.Findings = append(verdict.Findings, dormant...)
		sortFindings(verdict.Findings)
	}
}
