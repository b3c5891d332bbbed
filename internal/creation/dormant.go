package creation

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Audit judges a stored route. What of it is dormant is found to be so, and has no other effect; so only what would be denied
// of it, if the route were created now, is judged by it. The rest is judged as Create does.
func (j *Judge) Audit(route *mesh.Route, world mesh.Reader) (mutate.Plan, validate.Verdict, error) {
	plan, verdict, err := j.Create(j.Awake(route), world)
	if err == nil && route.Dormant(j.Engine.Policy().Mesh) != 0 {
		err = j.addDormant(&verdict, route, world)
	}
	return plan, verdict, err
}

// addDormant adds what is dormant of the stored route to the verdict on the rest of it.
func (j *Judge) addDormant(verdict *validate.Verdict, route *mesh.Route, world mesh.Reader) error {
	namespace, err := mesh.Known(mesh.FindNamespace(world, route.Metadata.Namespace))
	if err != nil {
		return err
	}
	created := mutate.Plan{Changes: j.Changes(route, world), Mode: mesh.Enforce, Controller: owner(route)}
	woken, err := j.denials(&validate.Request{Route: route, Stored: true}, created.Made(), world)
	if err != nil {
		return err
	}
	denied := validate.Verdict{Findings: woken}
	dormant := j.Engine.Dormant(route, namespace)
	for i := range dormant {
		f := &dormant[i]
		if still := find(&denied, f); still != nil {
			f.Effect, f.Downgraded = still.Effect, still.Downgraded
		} else {
			f.Action = validate.Audit // a mutation would correct it
		}
	}
	verdict.Add(dormant...)
	verdict.Add(slices.DeleteFunc(woken, func(f validate.Finding) bool {
		return find(verdict, &f) != nil
	})...)
	return nil
}

// Awake returns a stored route without what is dormant of it.
func (j *Judge) Awake(route *mesh.Route) *mesh.Route {
	return route.Awake(route.Dormant(j.Engine.Policy().Mesh))
}

// waking are the mutations that make mesh parents of look-alikes.
var waking = map[string]bool{"parent-kind": true, "parent-group": true}

// Waking plans the changes that make mesh parents of the dormant parentRefs of a stored
// route, whatever the mode; none where there is no dormant one, or it is not clear what they
// mean. They are withheld where a controller writes the route: its owner is to be corrected.
func (j *Judge) Waking(route *mesh.Route) mutate.Plan {
	profile := j.Engine.Policy().Mesh
	dormant := route.Dormant(profile)
	off := map[string]bool{}
	for _, name := range mutate.Names() {
		off[name] = !waking[name]
	}
	changes := mutate.Changes(route, nil, mutate.Options{Off: off, Mesh: profile})
	awake := mutate.Mutated(route, changes)
	fields := map[string]bool{}
	for i := range awake.Spec.ParentRefs {
		if dormant.Has(i) && awake.Spec.ParentRefs[i].Class(profile) == mesh.MeshParent {
			fields[mesh.ParentPath(i, "kind")], fields[mesh.ParentPath(i, "group")] = true, true
		}
	}
	plan := mutate.Plan{Mode: mesh.Enforce, Controller: owner(route)}
	for _, change := range changes {
		if fields[change.Path] {
			plan.Changes = append(plan.Changes, change)
		}
	}
	return plan
}
