package kube

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/gammaguard/gammaguard/mesh"
)

// routeObject is a route of any kind and version, with its status.
type routeObject struct {
	Metadata RouteMetadata  `json:"metadata"`
	Spec     mesh.RouteSpec `json:"spec"`
	Status   struct {
		Parents []jsontext.Value `json:"parents"`
	} `json:"status"`
}

// RouteMetadata is what is read of a stored route's metadata.
type RouteMetadata struct {
	mesh.Metadata
	ResourceVersion string `json:"resourceVersion"`
}

// OwnEntry decodes an entry of status.parents if it is the controller's, by its name or
// a former one, and returns nil for others'. With an error the entry has no conditions, and so is
// stale: the schema admits times, for one, that cannot be read.
func OwnEntry(text []byte, controller string, former []string) (*Entry, error) {
	var whose struct {
		ControllerName string `json:"controllerName"`
	}
	if mesh.Decode(text, &whose) != nil || whose.ControllerName == "" {
		return nil, nil //nolint:nilerr // what cannot be read is not ours
	}
	entry := &Entry{Former: slices.Contains(former, whose.ControllerName)}
	if whose.ControllerName != controller && !entry.Former {
		return nil, nil
	}
	err := mesh.Decode(text, entry)
	if err != nil {
		entry.Conditions = nil
	}
	return entry, err
}

// Answers returns the parentRefs that an entry of another controller is about: none if
// it cannot be read.
func Answers(text []byte, refs []mesh.ParentRef) (set mesh.ParentSet) {
	var entry struct {
		ParentRef mesh.ParentRef `json:"parentRef"`
	}
	if mesh.Decode(text, &entry) != nil {
		return 0
	}
	for i := range refs {
		if refs[i].Same(&entry.ParentRef) {
			set |= 1 << i
		}
	}
	return set
}

// acknowledges returns what an entry of another controller answers about a route of the
// generation: nothing if it cannot be read.
func acknowledges(text []byte, generation int64) mesh.Acknowledgement {
	var entry struct {
		Conditions []mesh.ParentCondition `json:"conditions"`
	}
	if mesh.Decode(text, &entry) != nil {
		return mesh.Unanswered
	}
	answer, _ := mesh.Acknowledge(entry.Conditions, generation)
	return answer
}

func identity(route *mesh.Route) (uid uuid.UUID, ignores uint32) {
	uid, _ = uuid.Parse(route.Metadata.UID) // API servers give no others
	return uid, crc32.ChecksumIEEE([]byte(route.Metadata.Annotations.Ignore))
}

// reduceRoute returns what the cache keeps of the route.
func (c *Cache) reduceRoute(kind mesh.RouteKind, text jsontext.Value) (*item, error) {
	var o routeObject
	if err := mesh.Decode(text, &o); err != nil {
		return nil, err
	}
	meta := mesh.ObjectMeta{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, ResourceVersion: o.Metadata.ResourceVersion}
	full := mesh.Route{Kind: kind, Metadata: o.Metadata.Metadata, Spec: o.Spec}
	route := &Route{AttachedRoute: *full.Attached(c.options.Mesh).WithBackends(&full, c.options.Mesh)}
	route.UID, route.Ignores = identity(&full)
	route.Parents = slices.Clone(route.Parents)
	for i, text := range o.Status.Parents {
		entry, err := OwnEntry(text, c.options.ControllerName, c.options.FormerControllerNames)
		if err != nil {
			c.unreadable(string(kind), meta, fmt.Errorf("status.parents[%d].%w", i, err))
		}
		if entry == nil {
			route.ForeignEntries++
			about := Answers(text, route.Parents)
			route.ForeignParents |= about
			route.acknowledged = route.acknowledged.With(about, acknowledges(text, route.Generation))
			continue
		}
		route.Entries = append(route.Entries, *entry)
	}
	if !route.matters() {
		return &item{ObjectMeta: meta}, nil
	}
	return &item{meta, route}, nil
}

// matters reports whether the route is worth keeping: other parents too may need a grant.
func (r *Route) matters() bool {
	return len(r.Entries) > 0 || slices.ContainsFunc(r.Parents, func(ref mesh.ParentRef) bool { return ref.Class(nil) != mesh.GatewayParent })
}

// appendServices adds the route's mesh parents to keys where they are missing.
func appendServices(keys []mesh.ServiceKey, route *Route) []mesh.ServiceKey {
	if route == nil {
		return keys
	}
	for i := range route.Parents {
		if !route.IsMeshParent(i) {
			continue
		}
		if key := route.Parents[i].Service(route.Namespace); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
