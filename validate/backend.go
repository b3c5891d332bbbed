package validate

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
)

// ExternalNameBackend describes a backend that is a Service of type ExternalName: the problem,
// how to fix it, and the Service.
func ExternalNameBackend(key mesh.ServiceKey) Finding {
	return Finding{
		Rule: RuleBackendExternalName, Value: key.Name,
		Problem: key.String() + " is of type ExternalName", Remedy: "use a Service with endpoints",
		Reference: Reference{Service: key},
	}
}

// MarksBackends reports whether a backend of type ExternalName shows in the status of routes in the
// namespace, as Marked does of the faults of parentRefs.
func (e *Engine) MarksBackends(namespace *mesh.Namespace) bool {
	action := e.Action(RuleBackendExternalName)
	return (action == Deny || action == Warn) && e.policy.ModeIn(namespace) != mesh.Audit
}

// FindExternalNameBackend returns the finding on the first backend of the route that is a Service of
// type ExternalName, in the words of admission; nil if there is none, or none that can be known. The
// error is the failure of a read.
func FindExternalNameBackend(world mesh.Reader, route *mesh.AttachedRoute) (*Finding, error) {
	for _, key := range route.Backends {
		service, err := mesh.FindService(world, key)
		switch {
		case errors.Is(err, mesh.ErrNotFound), errors.Is(err, mesh.ErrUnknown):
		case err != nil:
			return nil, err
		case service.Type == mesh.ExternalName:
			f := ExternalNameBackend(key)
			f.quote()
			f.Action, f.Effect = Deny, Deny
			return &f, nil
		}
	}
	return nil, nil
}
