package validate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// PreviewRoute describes what requests meet once a route is deleted, or some of its parentRefs
// are gone: the difference of the tables of its Services. The new state is nil for a deletion.
// There is a sentence for each thing that becomes of ports of a Service, and none about ports that
// the route did not hold, or still holds.
func (e *Engine) PreviewRoute(world mesh.Reader, old, now *mesh.Route) ([]string, error) {
	c := &routeChange{engine: e, world: world, was: old.Attached(e.policy.Mesh)}
	if now != nil {
		c.is = now.Attached(e.policy.Mesh)
	}
	var keys []mesh.ServiceKey
	for i := range c.was.Parents {
		if key := c.was.Parents[i].Service(c.was.Namespace); c.was.IsMeshParent(i) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	var sentences []string
	for _, key := range keys {
		fates, more, err := c.fates(key, maxFates-len(sentences))
		if err != nil {
			return nil, err
		}
		for _, f := range fates {
			sentences = append(sentences, f.sentence(c.engine.Policy(), c.was, key))
		}
		if more > 0 {
			return append(sentences, fmt.Sprintf("the change has effects on %d more ports of %s, and maybe on other Services", more, key)), nil
		}
	}
	return sentences, nil
}

// routeChange is the change of a route.
type routeChange struct {
	engine *Engine
	world  mesh.Reader
	was    *mesh.AttachedRoute
	is     *mesh.AttachedRoute // nil: deleted
}

// fate is what becomes of some ports that the route held.
type fate struct {
	fateKey
	ports []string
	// owner has the routes that requests meet instead; nil for the Service itself.
	owner *mesh.Owner
}

// fateKey identifies a fate.
type fateKey struct {
	// to is the oldest of the routes that requests meet instead; nil for the Service itself.
	to *mesh.AttachedRoute
	// rejected: they are routes as before, of which none matches all requests any more.
	rejected bool
	// alone: none did before; the route has matches that none of them has.
	alone bool
}

// maxFates is how many fates are described, and maxPorts how many ports of each.
const (
	maxFates = 16
	maxPorts = 6
)

// tables returns the table of the Service before the change, and after it.
func (c *routeChange) tables(key mesh.ServiceKey) (before, after *Table) {
	before = &Table{engine: c.engine, world: c.world, key: key, namespace: c.was.Namespace, own: c.was}
	after = &Table{engine: c.engine, world: c.world, key: key, namespace: c.was.Namespace, own: c.is}
	if c.is == nil {
		after.world = mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
			answer := c.world.Do(read)
			if read.Kind == mesh.ReadRoutes {
				answer.AttachedRoutes = slices.DeleteFunc(slices.Clone(answer.AttachedRoutes), c.was.Same)
			}
			return answer
		})
	}
	return before, after
}

// fates returns what becomes of the ports of a Service, in the order of its ports: at most so many
// fates, and how many ports have others.
func (c *routeChange) fates(key mesh.ServiceKey, most int) (fates []*fate, more int, err error) {
	before, after := c.tables(key)
	held, err := c.held(before, c.was)
	if err != nil {
		return nil, 0, err
	}
	still := map[mesh.PortScope]bool{}
	if c.is != nil {
		ports, err := c.held(after, c.is)
		if err != nil {
			return nil, 0, err
		}
		for _, at := range ports {
			still[at] = true
		}
	}
	if held = slices.DeleteFunc(held, func(at mesh.PortScope) bool { return still[at] }); len(held) == 0 {
		return nil, 0, nil
	}
	owners, errBefore := before.Owners()
	rest, errAfter := after.Owners()
	producers, errProducers := c.producers(key)
	if err := errors.Join(errBefore, errAfter, errProducers); err != nil {
		return nil, 0, err
	}
	known := map[fateKey]*fate{}
	for _, at := range held {
		becomes, changes := c.becomes(owners[at], rest[at], producers[mesh.PortScope{Port: at.Port, Protocol: at.Protocol}])
		if !changes {
			continue
		}
		f := known[becomes.fateKey]
		if f == nil && len(fates) == most {
			more++
			continue
		}
		if f == nil {
			f = &becomes
			known[f.fateKey], fates = f, append(fates, f)
		}
		f.ports = append(f.ports, strconv.Itoa(int(at.Port)))
	}
	return fates, more, nil
}

// producers returns who owns the ports of a Service where no consumer route does.
func (c *routeChange) producers(key mesh.ServiceKey) (mesh.PortOwners, error) {
	if mesh.ScopeOf(c.was.Namespace, key).Role() == mesh.Producer {
		return nil, nil
	}
	return (&Table{engine: c.engine, world: c.world, key: key, namespace: key.Namespace}).Owners()
}

// held returns what the route holds on the Service: nothing where its author may not learn of
// other routes, though the mode admits it.
func (c *routeChange) held(table *Table, route *mesh.AttachedRoute) ([]mesh.PortScope, error) {
	bindings, err := table.of(nil, route)
	if err != nil {
		return nil, err
	}
	var held []mesh.PortScope
	seen := map[mesh.PortScope]bool{}
	for i := range bindings {
		b := &bindings[i]
		if b.State.InEffect() && (b.Fault == NoFault || c.engine.byFault[b.Fault].action == Off) && !seen[b.At] {
			seen[b.At] = true
			held = append(held, b.At)
		}
	}
	return held, nil
}

// becomes returns what becomes of a port that the route held, by who owns it before the change
// and after it, and who owns it for the producer scope if no consumer route does. It reports
// whether that is worth a warning.
func (c *routeChange) becomes(before, after, producer *mesh.Owner) (fate, bool) {
	switch {
	case before == nil:
		return fate{}, false
	case after == nil && producer == nil:
		return fate{}, true
	case after == nil:
		return fate{fateKey: fateKey{to: producer.Routes[0]}, owner: producer}, true
	case !before.Holds(after.Kind):
		return fate{fateKey: fateKey{to: after.Routes[0]}, owner: after}, true
	}
	for _, kind := range []mesh.RouteKind{c.was.Kind, after.Kind} {
		if kind.MatchesRequests() && before.CatchesAll(kind) && !after.CatchesAll(kind) {
			return fate{fateKey: fateKey{to: after.Routes[0], rejected: true}, owner: after}, true
		}
	}
	if c.was.Kind.MatchesRequests() && !after.CatchesAll(c.was.Kind) && c.matchesAlone(after) {
		return fate{fateKey: fateKey{to: after.Routes[0], alone: true}, owner: after}, true
	}
	return fate{}, false
}

// matchesAlone reports whether the route has a match that none of those that remain has.
func (c *routeChange) matchesAlone(after *mesh.Owner) bool {
	return slices.ContainsFunc(c.was.Matches, func(key mesh.MatchKey) bool {
		return !slices.ContainsFunc(after.Of(c.was.Kind), func(route *mesh.AttachedRoute) bool { return slices.Contains(route.Matches, key) })
	})
}

// sentence describes the fate of ports of the Service.
func (f *fate) sentence(policy *Policy, was *mesh.AttachedRoute, key mesh.ServiceKey) string {
	to := " to port "
	if len(f.ports) > 1 {
		to = " to ports "
	}
	to += strings.Join(f.ports[:min(len(f.ports), maxPorts)], ", ")
	if more := len(f.ports) - maxPorts; more > 0 {
		to += fmt.Sprintf(" and %d more", more)
	}
	to += " of " + key.String()
	scope := mesh.ScopeOf(was.Namespace, key)
	requests := "requests"
	if scope.Role() == mesh.Consumer {
		requests += " from namespace " + scope.ConsumerNamespace
	}
	switch {
	case f.alone:
		unmatched, _ := policy.Unmatched(f.owner.Kind)
		return requests + to + " that only " + was.String() + " matches " + unmatched + ", since no catch-all rule is there"
	case f.rejected:
		unmatched, _ := policy.Unmatched(f.owner.Kind)
		text := "unmatched " + requests + to + " " + unmatched + ", since no catch-all rule remains"
		if request := f.owner.Unmatched(f.owner.Kind); request != "" {
			text += ", for example " + request
		}
		return text
	case f.to == nil:
		return requests + to + " reach the Service itself, since no other route applies"
	case f.to.Namespace != was.Namespace:
		return requests + to + " meet the producer routes again, such as " + f.to.String()
	}
	return requests + to + " meet " + f.to.String() + ", which is of another kind"
}
