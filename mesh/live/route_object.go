package live

import (
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gammaguard/gammaguard/mesh"
)

// routeObject is a route of any kind and version as it is read from the API
// server.
type routeObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct {
		objectMeta
		Generation        int64        `json:"generation"`
		CreationTimestamp metav1.Time  `json:"creationTimestamp"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec   mesh.RouteSpec `json:"spec"`
	Status struct {
		Parents []parentStatus `json:"parents"`
	} `json:"status"`
}

// parentStatus is an entry of status.parents; only those of ours are read in full.
type parentStatus struct {
	ControllerName string         `json:"controllerName"`
	ParentRef      mesh.ParentRef `json:"parentRef"`
	Conditions     rawJSON        `json:"conditions"`
}

// rawJSON keeps a value unread.
type rawJSON []byte

func (r *rawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

func (o *routeObject) GetObjectMeta() metav1.Object   { return o.Metadata.meta() }
func (o *routeObject) DeepCopyObject() runtime.Object { c := *o; return &c }

// reduce returns what the cache keeps of the route, as the controller of that
// name sees it.
func (o *routeObject) reduce(kind mesh.RouteKind, controller string) (*Route, error) {
	full := &mesh.Route{
		Kind: kind,
		Metadata: mesh.Metadata{
			Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, UID: o.Metadata.UID,
			Generation: o.Metadata.Generation, CreationTimestamp: o.Metadata.CreationTimestamp.Time,
		},
		Spec: o.Spec,
	}
	if o.Metadata.DeletionTimestamp != nil {
		full.Metadata.DeletionTimestamp = &o.Metadata.DeletionTimestamp.Time
	}
	route := &Route{AttachedRoute: *full.Attached()}
	route.UID, _ = uuid.Parse(o.Metadata.UID) // API servers give no others
	route.Parents = slices.Clone(route.Parents)
	for i := range route.Parents {
		route.Parents[i].Group = sharedGroup(route.Parents[i].Group)
	}
	for i := range o.Status.Parents {
		status := &o.Status.Parents[i]
		if controller == "" || status.ControllerName != controller {
			route.ForeignEntries++
			continue
		}
		entry := Entry{ParentRef: status.ParentRef}
		if len(status.Conditions) > 0 {
			if err := jsonv2.Unmarshal(status.Conditions, &entry.Conditions); err != nil {
				return nil, err
			}
		}
		route.Entries = append(route.Entries, entry)
	}
	return route, nil
}

// matters says whether the route is worth keeping.
func (r *Route) matters() bool {
	return len(r.Entries) > 0 || slices.ContainsFunc(r.Parents, func(p mesh.ParentRef) bool { return p.Class() == mesh.MeshParent })
}

// shareKey has the parentRefs to the Service use the strings of its key.
func (r *Route) shareKey(key mesh.ServiceKey) {
	for i := range r.Parents {
		ref := &r.Parents[i]
		if ref.Class() != mesh.MeshParent || ref.Service(r.Namespace) != key {
			continue
		}
		ref.Kind, ref.Name = key.Kind, key.Name
		if ref.Namespace != "" {
			ref.Namespace = key.Namespace
		}
	}
}

// appendServices adds the route's mesh parents to keys where they are missing.
func appendServices(keys []mesh.ServiceKey, route *Route) []mesh.ServiceKey {
	if route == nil {
		return keys
	}
	for i := range route.Parents {
		ref := &route.Parents[i]
		if ref.Class() != mesh.MeshParent {
			continue
		}
		if key := ref.Service(route.Namespace); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// The groups that nearly all parentRefs have, once for all routes.
var coreGroup, gatewayGroup, multiclusterGroup = "", mesh.GatewayGroup, mesh.MulticlusterGroup

func sharedGroup(group *string) *string {
	if group == nil {
		return nil
	}
	for _, known := range []*string{&coreGroup, &gatewayGroup, &multiclusterGroup} {
		if *group == *known {
			return known
		}
	}
	return group
}
