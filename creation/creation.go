// Package creation judges a stored route as the webhooks would if it were created now:
// mutations first, then the rules. It is pure; whoever audits routes judges by it.
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

// Concerns reports whether the route has a parentRef that needs a grant: all others are
// not audited.
func (j *Judge) Concerns(route *mesh.Route) bool {
	grants := &j.Engine.Policy().Grants
	return slices.ContainsFunc(route.Spec.ParentRefs, func(ref mesh.ParentRef) bool { return grants.Covers(&ref) })
}

// Changes returns what the mutating webhook sets in the route.
func (j *Judge) Changes(route *mesh.Route, world mesh.Reader) []mutate.Change {
	return mutate.Changes(route, world, mutate.Options{Off: j.Off, MayRead: mutate.Granted(route, &j.Engine.Policy().Grants, world)})
}

// Create judges the creation of a route like the stored one, also where that is being
// deleted. The error is a read that failed.
func (j *Judge) Create(stored *mesh.Route, world mesh.Reader) ([]mutate.Change, validate.Verdict, error) {
	route := *stored
	route.Metadata.DeletionTimestamp = nil
	changes := j.Changes(&route, world)
	verdict, err := j.Engine.Judge(&validate.Request{Route: mutate.Mutated(&route, changes)}, world)
	return changes, verdict, err
}
