package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
)

// ServiceChange is what a change or the deletion of a Service does to routes: the difference of
// its two tables. It is for one goroutine.
type ServiceChange struct {
	// Old is the Service as it is, New as it will be; nil if it is deleted.
	Old, New *mesh.Service
	// Own are sentences about routes of the Service's namespace.
	Own []string
	// Others counts the routes of other namespaces that no longer attach.
	Others int

	before, after *Table
}

// PreviewService returns the change of the Service, with nothing about routes yet.
func (e *Engine) PreviewService(world mesh.Reader, old, now *mesh.Service) *ServiceChange {
	as := func(service *mesh.Service) *Table {
		return e.Table(mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
			switch {
			case read != (mesh.Read{Kind: mesh.ReadService, Service: old.Key}):
				return world.Do(read)
			case service == nil:
				return mesh.Answer{Err: mesh.ErrNotFound}
			}
			return mesh.Answer{Service: service}
		}), old.Key)
	}
	return &ServiceChange{Old: old, New: now, before: as(old), after: as(now)}
}

// AddParents adds the routes with a parentRef to the Service. Those that do not attach
// before the change are left out.
func (c *ServiceChange) AddParents() error {
	routes, err := mesh.AttachedRoutes(c.before.world, c.Old.Key, "")
	if err != nil {
		return err
	}
	for _, route := range slices.SortedFunc(slices.Values(routes), (*mesh.AttachedRoute).CompareAge) {
		lost, err := becomes(route, c.before, c.after, func(b *Binding) bool { return b.State == Invalid })
		switch {
		case err != nil:
			return err
		case lost == nil:
		case route.Namespace == c.Old.Key.Namespace:
			c.Own = append(c.Own, route.String()+" "+c.loss(lost))
		default:
			c.Others++
		}
	}
	return nil
}

// loss describes why the parentRef does not attach any more.
func (c *ServiceChange) loss(b *Binding) string {
	switch ref := b.parent.Ref; b.Fault {
	case ParentExternalName:
		return "has this Service as a parent, which cannot be of type ExternalName"
	case ParentHeadless:
		return "has this Service as a parent, which cannot be headless"
	case ParentProtocolMismatch:
		return fmt.Sprintf("selects %s ports, of which this change leaves none", b.Route.Kind.Transport())
	case ParentPortNotFound:
		if ref.Port == 0 && ref.SectionName == "" {
			return "has this Service as a parent, which would have no port"
		}
		return fmt.Sprintf("selects port %s, which this change removes", cmp.Or(ref.SectionName, strconv.Itoa(int(ref.Port))))
	}
	return "has this Service as a parent"
}

// BecomesExternalName reports whether the change makes the Service unfit to be a backend.
func (c *ServiceChange) BecomesExternalName() bool {
	return c.New != nil && c.New.Type == mesh.ExternalName && c.Old.Type != mesh.ExternalName
}

// AddBackend adds a route of the Service's namespace that may have it as a backend, when
// the Service becomes of type ExternalName. The profile of the mesh says which routes
// count.
func (c *ServiceChange) AddBackend(route *mesh.Route, profile *mesh.Profile) {
	if !route.HasMeshParent(profile) {
		return
	}
	for backend := range route.Backends() {
		if backend.Ref.IsService(profile) && backend.Ref.Service(route.Metadata.Namespace) == c.Old.Key {
			c.Own = append(c.Own, route.String()+" has this Service as a backend, which cannot be of type ExternalName")
			return
		}
	}
}
