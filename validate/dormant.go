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
	for i := range route.Spec.ParentRefs {
		if dormant.Has(i) {
			f := e.describeDormant(i, &route.Spec.ParentRefs[i], route.Metadata.Namespace)
			f.Remedy += byController(route)
			findings = append(findings, f)
		}
	}
	return findings
}

func (e *Engine) describeDormant(index int, ref *mesh.ParentRef, namespace string) Finding {
	rule := parentGroupInvalid()
	f := describeLookAlike(index, ref, namespace)
	f.Rule, f.Action, f.Effect, f.Downgraded = rule.ID, e.policy.Action(rule.ID), Audit, DowngradedByDormancy
	who := "no mesh acts"
	switch others := ref.ReadBy(); {
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
