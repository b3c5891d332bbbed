package rules

import (
	"fmt"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func backendHasRoutes() *validate.Rule {
	return &validate.Rule{
		ID:    "backend-has-routes",
		Title: "A backend Service has routes of its own, which do not apply",
		Rationale: "A mesh sends the requests of a rule to the endpoints of its backend, without the routes whose parent is that backend. If you expect " +
			"the routes to be applied one after the other, the rules of the second one have no effect on these requests.",
		Remedy: "Copy the rules that must apply into this route, or make the backend a Service without routes of its own. A route may have its own " +
			"parent as a backend.",
		Citation:  "GEP-1294, Multiple routes for a Service: the routes of a Service apply to requests for its frontend, not to its role as a backend",
		Default:   validate.Warn,
		OfTraffic: true,
		Backend:   checkBackendHasRoutes,
	}
}

func checkBackendHasRoutes(p *validate.Pass, backend *validate.BackendService) {
	parents := p.Parents()
	if p.HasParent(backend.Key) || backend.Ref.Share() == 0 {
		return // of the latter, no request gets there
	}
	for _, namespace := range routeNamespaces(p, parents, backend.Key) {
		if namespace == "" {
			continue
		}
		at := mesh.PortScope{Port: backend.Ref.Port, Protocol: p.Route.Kind.Transport(), Scope: mesh.ScopeOf(namespace, backend.Key)}
		owner := p.OwnersAmong(backend.Key, namespace)[at]
		if owner == nil {
			continue
		}
		which := "in namespace " + namespace
		if namespace == p.Route.Metadata.Namespace {
			which = andMore(owner.Routes[0], len(owner.Routes)-1)
		}
		p.Report(validate.Finding{
			Field:     backend.Path(),
			Value:     backend.Ref.Name,
			Problem:   fmt.Sprintf("routes on port %d of %s (%s) do not apply to requests from this rule", backend.Ref.Port, backend.Key, which),
			Remedy:    "copy their rules, or use a backend without routes",
			Reference: validate.Reference{Service: backend.Key, Detail: strconv.Itoa(int(backend.Ref.Port))},
		})
		return
	}
}

// routeNamespaces returns the namespaces of the routes on the backend that the clients of
// the route would meet if they called the backend themselves: the backend's, whose routes
// are producer routes, and before it, for a consumer route, its own. They are empty where
// there are none, as where the route attaches to nothing.
func routeNamespaces(p *validate.Pass, parents []validate.Parent, backend mesh.ServiceKey) (namespaces [2]string) {
	for i := range parents {
		parent := &parents[i]
		if len(p.Ports(parent)) == 0 {
			continue
		}
		namespaces[1] = backend.Namespace
		if own := parent.Route.Namespace; parent.Scope.Role() == mesh.Consumer && own != backend.Namespace {
			namespaces[0] = own
		}
	}
	return namespaces
}
