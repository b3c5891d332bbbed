package traffic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// standing says what becomes of the requests that a backendRef gets.
type standing struct {
	name string
	// failure is how they fail, and noFailure where they arrive.
	failure failure
	problem string
	// absent: it does not exist, is of another kind, or is not permitted.
	absent bool
	// doubt says what is not known of the backend.
	doubt string
}

type failure uint8

const (
	noFailure failure = iota
	// invalidBackend: 500, or UNAVAILABLE for gRPC (HTTPRouteRule.backendRefs).
	invalidBackend
	// noEndpoints: 503 is what the API recommends.
	noEndpoints
	// noMatch: 404, or UNIMPLEMENTED for gRPC.
	noMatch
	// noService: the Service itself does not exist.
	noService
	// refusedRoutes: the proxies refuse the routes, and keep the former ones (mesh.Backends.ZeroRefused).
	refusedRoutes
)

// FormerRoutes is the answer where the proxies of the mesh refuse the routes: requests meet those that they had before.
const FormerRoutes = "as by the former routes"

// answer is what the client of a route of this kind gets.
func (f failure) answer(kind mesh.RouteKind) string {
	switch f {
	case noService:
		return "no such Service"
	case refusedRoutes:
		return FormerRoutes
	default:
	}
	switch kind {
	case mesh.GRPCRoute:
		if f == noMatch {
			return "UNIMPLEMENTED"
		}
		return "UNAVAILABLE"
	case mesh.HTTPRoute:
		return map[failure]string{invalidBackend: "500", noEndpoints: "503", noMatch: "404"}[f]
	case mesh.UDPRoute:
		return "packets dropped"
	}
	return "connection refused"
}

// backend finds out what a backendRef of a route leads to.
func (t *Table) backend(from *route, ref *mesh.BackendRef) (standing, error) {
	key := ref.Service(from.Namespace)
	s := standing{name: backendName(key, ref.Port)}
	if !ref.IsService(t.engine.Policy().Mesh) {
		if s.name = key.String(); ref.Group != "" {
			s.name = fmt.Sprintf("%s.%s %s/%s", key.Kind, ref.Group, key.Namespace, key.Name)
		}
		s.absent, s.failure, s.problem = true, invalidBackend, "is of a kind that is not supported"
		return s, nil
	}
	service, err := mesh.FindService(t.reader, key)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
		s.doubt = t.noteExists(key)
	case errors.Is(err, mesh.ErrNotFound):
		s.absent, s.failure, s.problem = true, invalidBackend, absent(err)
		return s, nil
	case err != nil:
		return s, fmt.Errorf("%s: %w", key, err)
	}
	if key.Namespace != from.Namespace && t.engine.Action(validate.RuleBackendNotPermitted) != validate.Off {
		permitted, err := t.permitted(from, key)
		switch {
		case errors.Is(err, mesh.ErrUnknown):
			s.doubt = t.lacks("a ReferenceGrant of namespace "+key.Namespace, mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: key.Namespace})
		case err != nil:
			return s, fmt.Errorf("ReferenceGrants in %s: %w", key.Namespace, err)
		case !permitted:
			s.absent, s.failure, s.problem = true, invalidBackend, "is not permitted by a ReferenceGrant"
			return s, nil
		}
	}
	if service == nil {
		return s, nil
	}
	return t.backendPort(s, from, ref, service)
}

// backendPort looks at the backend's port and endpoints.
func (t *Table) backendPort(s standing, from *route, ref *mesh.BackendRef, service *mesh.Service) (standing, error) {
	if service.Type == mesh.ExternalName {
		s.doubt = service.Key.String() + " is of type ExternalName, which meshes should refuse as a backend"
		return s, nil
	}
	at := slices.IndexFunc(service.Ports, func(p mesh.Port) bool {
		return p.Number == ref.Port && p.Protocol == from.Kind.Transport()
	})
	if at < 0 {
		s.failure, s.problem = invalidBackend, "has no such port"
		return s, nil
	}
	has, err := mesh.HasEndpoints(t.reader, service.Key)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
	case err != nil:
		return s, fmt.Errorf("endpoints of %s: %w", service.Key, err)
	case !has:
		s.failure, s.problem = noEndpoints, "has no endpoints"
	}
	return s, nil
}

func (t *Table) permitted(from *route, to mesh.ServiceKey) (bool, error) {
	grants, err := mesh.ReferenceGrants(t.reader, to.Namespace)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(grants, func(g mesh.ReferenceGrant) bool {
		return g.Permits(from.Kind, from.Namespace, to)
	}), nil
}

// backendName reads "Service shop/cart:80".
func backendName(key mesh.ServiceKey, port int32) string {
	if port == 0 {
		return key.String()
	}
	return fmt.Sprintf("%s:%d", key, port)
}
