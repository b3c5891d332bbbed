package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// assumed is a world in which what is not known exists as a route needs it: each Service with the ports that the route
// names, or with one, and each namespace with all grants.
type assumed struct {
	mesh.Reader
	route *mesh.Route
	// services and namespaces are those that were asked for.
	services   map[mesh.ServiceKey]bool
	namespaces []string
}

// Do implements mesh.Reader.
func (a *assumed) Do(read mesh.Read) mesh.Answer {
	answer := a.Reader.Do(read)
	switch {
	case !errors.Is(answer.Err, mesh.ErrUnknown):
	case read.Kind == mesh.ReadService:
		a.services[read.Service] = true
		return mesh.Answer{Service: a.service(read.Service)}
	case read.Kind == mesh.ReadNamespace:
		a.namespaces = append(a.namespaces, read.Namespace)
		return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace, Labels: map[string]string{mesh.GrantLabel: string(mesh.GrantAll)}}}
	}
	return answer
}

// service returns the Service with the ports that the parentRefs to it name, or with one.
func (a *assumed) service(key mesh.ServiceKey) *mesh.Service {
	service := &mesh.Service{Key: key}
	for i := range a.route.Spec.ParentRefs {
		ref := &a.route.Spec.ParentRefs[i]
		if ref.Service(a.route.Metadata.Namespace) != key || ref.Port == 0 && ref.SectionName == "" {
			continue
		}
		port := mesh.Port{Name: ref.SectionName, Number: ref.Port, Protocol: a.route.Kind.Transport()}
		if port.Number == 0 {
			port.Number = int32(1 + i) //nolint:gosec // there are few parentRefs
		}
		if port.Name == "" {
			port.Name = fmt.Sprintf("port-%d", i)
		}
		service.Ports = append(service.Ports, port)
	}
	if len(service.Ports) == 0 {
		service.Ports = []mesh.Port{{Number: 1, Protocol: a.route.Kind.Transport()}}
	}
	return service
}

// missing returns what is not known and decides whether a mutation fixes the field; nil where all is known.
func (a *assumed) missing(field string) *validate.Reference {
	namespace := a.route.Metadata.Namespace
	for backend := range a.route.Backends() {
		if key := backend.Ref.Service(namespace); strings.HasPrefix(backend.Path()+".port", field) && a.services[key] {
			return &validate.Reference{Service: key}
		}
	}
	for i := range a.route.Spec.ParentRefs {
		if key := a.route.Spec.ParentRefs[i].Service(namespace); strings.HasPrefix(mesh.ParentPath(i, "sectionName"), field) && a.services[key] {
			return &validate.Reference{Service: key}
		}
	}
	if len(a.namespaces) == 0 {
		return nil
	}
	return &validate.Reference{Namespace: a.namespaces[0]}
}

// undecide finds the refusals that a mutation would fix if what it reads were known.
func (l *loader) undecide(ctx context.Context, r *route, w *definitions.Write) error {
	if len(r.refusals) == 0 || r.mutated == nil { // it cannot be decoded
		return nil
	}
	world := &assumed{Reader: l.world, route: r.Route, services: map[mesh.ServiceKey]bool{}}
	l.reading.Lock()
	plan, err := l.creation.Plan(r.Route, l.options.User, l.creation.Changes(r.Route, world), l.world)
	l.reading.Unlock()
	if err != nil || len(world.services)+len(world.namespaces) == 0 || len(plan.Made()) == 0 {
		return err
	}
	fixed := *w
	if fixed.Mutated, err = mutate.Apply(r.JSON, plan.Made()); err != nil {
		return err
	}
	outcome, err := l.defined.Write(ctx, &fixed)
	if err != nil {
		return err
	}
	for i := range r.refusals {
		if f := &r.refusals[i]; f.gone(outcome) {
			f.missing = world.missing(f.Field)
		}
	}
	return nil
}

// gone reports whether nothing is refused in the field any more.
func (f *refusal) gone(outcome *definitions.Outcome) bool {
	return !slices.ContainsFunc(outcome.Findings, func(g definitions.Finding) bool { return g.Field == f.Field })
}

// refused reports whether the API server refuses the route, whatever is not known.
func (r *route) refused() bool {
	return slices.ContainsFunc(r.refusals, func(f refusal) bool { return f.missing == nil })
}
