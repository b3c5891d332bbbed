// Package creation brings mutations and rules together: it decides whether mutations are
// made, and judges a stored route as the webhooks would if it were created now. It is pure;
// whoever audits routes judges by it.
package creation

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Judge judges routes by one configuration.
type Judge struct {
	Engine *validate.Engine
	// Off names the mutations that are off.
	Off map[string]bool
}

// Changes returns what the mutations would set in the route, wherever they are made.
func (j *Judge) Changes(route *mesh.Route, world mesh.Reader) []mutate.Change {
	policy := j.Engine.Policy()
	mayRead := mutate.Granted(route, &policy.Grants, j.Engine.NeedsGrant(), world)
	return mutate.Changes(route, world, mutate.Options{Off: j.Off, Mesh: policy.Mesh, MayRead: mayRead})
}

// Plan decides whether the changes to the user's route are made: in mode enforce alone, for
// users and in namespaces that are not exempt, and on routes that no controller writes. The
// mode is that of the rules: by the default where there is no such namespace, or it is not in
// the input. Where the world confirms, the mode is not taken from a cache. The error is a
// read that failed: the plan makes no change then.
func (j *Judge) Plan(route *mesh.Route, user validate.User, changes []mutate.Change, world mesh.Reader) (mutate.Plan, error) {
	plan := mutate.Plan{Changes: changes, Mode: mesh.Audit}
	if len(changes) == 0 {
		return plan, nil
	}
	policy, namespace := j.Engine.Policy(), route.Metadata.Namespace
	plan.Controller = owner(route)
	plan.Exempt = policy.Exemptions.Cover(user, namespace)
	if confirmer, confirms := world.(mesh.Confirmer); confirms {
		if _, err := confirmer.Read([]mesh.Read{{Kind: mesh.ReadNamespace, Namespace: namespace}}); err != nil {
			return plan, err
		}
	}
	labels, err := mesh.Known(mesh.FindNamespace(world, namespace))
	if err == nil {
		plan.Mode = policy.ModeIn(labels)
	}
	return plan, err
}

// owner reads "Canary shop/podinfo" if a controller writes the route.
func owner(route *mesh.Route) string {
	if controller := route.Controller(); controller != nil {
		return controller.In(route.Metadata.Namespace)
	}
	return ""
}

// Create judges the creation of a route like the stored one, also where that is being
// deleted. The error is a read that failed.
func (j *Judge) Create(stored *mesh.Route, world mesh.Reader) (mutate.Plan, validate.Verdict, error) {
	route := *stored
	route.Metadata.DeletionTimestamp = nil
	plan, err := j.Plan(&route, validate.User{}, j.Changes(&route, world), world)
	if err != nil {
		return plan, validate.Verdict{}, err
	}
	verdict, err := j.Judge(&validate.Request{Route: mutate.Mutated(&route, plan.Made()), Stored: true}, &plan, world)
	return plan, verdict, err
}

// Judge judges the request, in whose route the plan has been carried out, and completes the verdict as Relate does.
func (j *Judge) Judge(request *validate.Request, plan *mutate.Plan, world mesh.Reader) (validate.Verdict, error) {
	verdict, err := j.Engine.Judge(request, world)
	if err == nil {
		err = j.Relate(&verdict, request, plan, world)
	}
	return verdict, err
}

// Relate completes the verdict on a request whose changes the mode or an exemption withholds, so that it says what mode
// enforce would: a field that a mutation would set would not be denied, and what the changes bring out would be. The
// error is a read that failed.
func (j *Judge) Relate(verdict *validate.Verdict, request *validate.Request, plan *mutate.Plan, world mesh.Reader) error {
	switch plan.Withheld() {
	case mutate.WithheldByMode, mutate.WithheldByExemption:
	default:
		return nil
	}
	if len(plan.Changes) == 0 {
		return nil
	}
	changed, err := j.denials(request, plan.Changes, world)
	if err != nil {
		return err
	}
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		switch f.Downgraded {
		case validate.DowngradedByMode, validate.DowngradedByExemption:
			if slices.ContainsFunc(plan.Changes, func(c mutate.Change) bool { return c.Path == f.Field }) {
				f.Downgraded = validate.DowngradedByMutation
			}
		}
	}
	verdict.Add(slices.DeleteFunc(changed, func(f validate.Finding) bool { return find(verdict, &f) != nil })...)
	return nil
}

// denials returns the findings on the request with the changes whose rules deny, with their effects in the mode.
func (j *Judge) denials(request *validate.Request, changes []mutate.Change, world mesh.Reader) ([]validate.Finding, error) {
	changed := *request
	changed.Route = mutate.Mutated(request.Route, changes)
	verdict, err := j.Engine.Judge(&changed, world)
	return slices.DeleteFunc(verdict.Findings, func(f validate.Finding) bool { return f.Action != validate.Deny }), err
}

// find returns the finding of the verdict of the rule and field of another one, or nil.
func find(verdict *validate.Verdict, f *validate.Finding) *validate.Finding {
	i := slices.IndexFunc(verdict.Findings, func(g validate.Finding) bool { return g.Rule == f.Rule && g.Field == f.Field })
	if i < 0 {
		return nil
	}
	return &verdict.Findings[i]
}
