package rules

import (
	"fmt"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func producerRoutesReplaced() *validate.Rule {
	return &validate.Rule{
		ID:    "producer-routes-replaced",
		Title: "A consumer route replaces the producer routes of a Service port",
		Rationale: "Requests from a namespace that has consumer routes on a Service port use these routes only. The producer routes on the port no " +
			"longer apply to them: no canary, no header rule, and no timeout of the producer's. The two are not merged, and the kinds of the routes do " +
			"not matter.",
		Remedy: "Copy the rules of the producer routes that must still apply, and follow their changes. The warning stays, since the rule does not " +
			"compare the copies: ignore it by the annotation once you have copied the rules. Or ask the owner of the Service to add the " +
			"rule to a producer route, which applies to all clients.",
		Citation:  "GEP-1294, Multiple routes for a Service: requests from a namespace with consumer routes utilize the routes in the consumer namespace",
		Default:   validate.Warn,
		OfTraffic: true,
		Parent:    checkProducerRoutesReplaced,
	}
}

func checkProducerRoutesReplaced(p *validate.Pass, parent *validate.Parent) {
	if parent.Scope.Role() != mesh.Consumer {
		return
	}
	var held []mesh.PortScope
	for at, owner := range p.Owned(parent) {
		// Of several routes, the oldest replaces the producer routes, and the others change nothing.
		if owner.Holds(p.Route.Kind) && owner.Routes[0].Same(p.Attached()) {
			held = append(held, at)
		}
	}
	if len(held) == 0 {
		return
	}
	producers := p.OwnersAmong(parent.Key, parent.Key.Namespace)
	var replaced replacedRoutes
	for _, at := range held {
		at.Scope = mesh.Scope{}
		if owner := producers[at]; owner != nil && !competesAcrossScopes(p.Policy.Mesh, owner.Kind, p.Route.Kind) {
			replaced.add(at, owner)
		}
	}
	if replaced.oldest == nil {
		return
	}
	p.Report(validate.Finding{
		Field: parent.Path(""), Value: parent.Ref.Name, Reference: parent.Reference(),
		Problem: fmt.Sprintf("requests %sto %s of %s no longer meet %s", fromClients(parent), portsNamed(replaced.ports),
			parent.Key, replaced.names()) + forExample(replacedExample(p, replaced.oldest)),
		Remedy: "copy the producer's rules you need",
	})
}

// replacedRoutes are producer routes that do not apply for the clients of a namespace.
type replacedRoutes struct {
	ports []string
	// oldest is the one that is named, so that the text does not change when others come and go.
	oldest *mesh.AttachedRoute
	// last are the routes on the last port: most ports have the same.
	last []*mesh.AttachedRoute
	all  map[*mesh.AttachedRoute]bool
}

func (r *replacedRoutes) add(at mesh.PortScope, owner *mesh.Owner) {
	r.ports = append(r.ports, strconv.Itoa(int(at.Port)))
	if r.oldest == nil || owner.Routes[0].CompareAge(r.oldest) < 0 {
		r.oldest = owner.Routes[0]
	}
	if r.last == nil {
		r.last = owner.Routes
		return
	}
	if r.all == nil {
		r.all = map[*mesh.AttachedRoute]bool{}
		for _, route := range r.last {
			r.all[route] = true
		}
	}
	for _, route := range owner.Routes {
		r.all[route] = true
	}
}

func (r *replacedRoutes) names() string { return andMore(r.oldest, max(len(r.all), len(r.last))-1) }

// andMore reads "HTTPRoute shop/cart and 2 more".
func andMore(route *mesh.AttachedRoute, more int) string {
	if more > 0 {
		return fmt.Sprintf("%s and %d more", route, more)
	}
	return route.String()
}

// replacedExample describes a request that meets the route instead of the replaced one: one that
// the latter matches, or else one that the former does.
func replacedExample(p *validate.Pass, replaced *mesh.AttachedRoute) string {
	if request := replaced.Matched(); request != "" {
		return request
	}
	if keys := p.Route.MatchKeys(p.Policy.Mesh); len(keys) > 0 {
		return p.Route.Example(keys[0])
	}
	return ""
}

// competesAcrossScopes reports whether the mesh has a producer route of one kind compete with a
// consumer route of another one, which route-conflict reports.
func competesAcrossScopes(profile *mesh.Profile, producer, consumer mesh.RouteKind) bool {
	return profile.Shares(mesh.SharingAcrossScopes) && producer != consumer
}
