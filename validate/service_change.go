package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
)

// ServiceChange is what a change or the deletion of a Service does to routes.
type ServiceChange struct {
	// Old is the Service as it is, New as it will be; nil if it is deleted.
	Old, New *mesh.Service
	// Own are sentences about routes of the Service's namespace.
	Own []string
	// Others counts the routes of other namespaces that no longer attach.
	Others int
}

// AddParents adds the routes with a parentRef to the Service. Those that do not attach
// before the change are left out.
func (c *ServiceChange) AddParents(routes []*mesh.AttachedRoute) {
	slices.SortFunc(routes, (*mesh.AttachedRoute).CompareAge)
	for _, route := range routes {
		for i := range route.Parents {
			ref := &route.Parents[i]
			if !route.IsMeshParent(i) || ref.Service(route.Namespace) != c.Old.Key {
				continue
			}
			loss := c.loss(route.Kind, ref)
			if loss == "" {
				continue
			}
			if route.Namespace == c.Old.Key.Namespace {
				c.Own = append(c.Own, route.String()+" "+loss)
			} else {
				c.Others++
			}
			break
		}
	}
}

// loss describes why the parentRef does not attach any more; nothing if it does, or never
// did.
func (c *ServiceChange) loss(kind mesh.RouteKind, ref *mesh.ParentRef) string {
	if _, before := c.Old.Attach(kind, ref); before != mesh.Attached {
		return ""
	}
	if c.New == nil {
		return "has this Service as a parent"
	}
	switch _, after := c.New.Attach(kind, ref); after {
	case mesh.NotAttachedExternalName:
		return "has this Service as a parent, which cannot be of type ExternalName"
	case mesh.NotAttachedHeadless:
		return "has this Service as a parent, which cannot be headless"
	case mesh.NotAttachedNoPort:
		if ref.Port == 0 && ref.SectionName == "" {
			return "has this Service as a parent, which would have no port"
		}
		return fmt.Sprintf("selects port %s, which this change removes", cmp.Or(ref.SectionName, strconv.Itoa(int(ref.Port))))
	case mesh.NotAttachedTransport:
		return fmt.Sprintf("selects %s ports, of which this change leaves none", kind.Transport())
	}
	return ""
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
