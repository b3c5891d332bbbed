package check

import (
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// together adds to the remedy of a missing grant the label that gives what the other routes of the input lack, too: each
// command alone would take from another route what that was given.
func (j *judge) together(f *validate.Finding) {
	if f.Rule != validate.RuleGrantMissing {
		return
	}
	name := f.Reference.Namespace
	namespace, err := mesh.FindNamespace(j.sees, name)
	if err != nil { // what it has is not known
		return
	}
	grants := &j.engine.Policy().Grants
	now := grants.Label(namespace)
	all := now
	for kind, roles := range j.needed[name] {
		all = all.Plus(grants.Missing(namespace, kind, roles)...)
	}
	if label := mesh.GrantLabel + "=" + string(all); all != now && !strings.Contains(f.Remedy, label) {
		f.Remedy += "; together, its routes in the input need " + label
	}
}

// needed returns the roles that routes of the input need, by namespace and kind.
func (l *loaded) needed() map[string]map[mesh.RouteKind][]mesh.Role {
	all, grants := map[string]map[mesh.RouteKind][]mesh.Role{}, &l.engine.Policy().Grants
	for _, r := range l.routes {
		if r.mutated == nil { // it cannot be decoded
			continue
		}
		if all[r.Key.Namespace] == nil {
			all[r.Key.Namespace] = map[mesh.RouteKind][]mesh.Role{}
		}
		of := all[r.Key.Namespace]
		for _, role := range grants.Needed(r.Key.Namespace, r.mutated.Spec.ParentRefs) {
			if !slices.Contains(of[r.mutated.Kind], role) {
				of[r.mutated.Kind] = append(of[r.mutated.Kind], role)
			}
		}
	}
	return all
}
