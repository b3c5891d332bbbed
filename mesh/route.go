package mesh

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Route is a route of any kind, reduced to the fields that gammaguard reads.
// Its JSON form is the API's own, in any version: fields that are not
// listed here are ignored, and all served versions have the same listed fields.
type Route struct {
	// APIVersion is empty but while the route is decoded: the kind says all of it.
	APIVersion string    `json:"apiVersion"`
	Kind       RouteKind `json:"kind"`
	Metadata   Metadata  `json:"metadata"`
	Spec       RouteSpec `json:"spec"`
}

// Metadata is what gammaguard reads of an object's metadata.
type Metadata struct {
	Namespace         string      `json:"namespace"`
	Name              string      `json:"name"`
	GenerateName      string      `json:"generateName"`
	UID               string      `json:"uid"`
	Generation        int64       `json:"generation"`
	CreationTimestamp time.Time   `json:"creationTimestamp"`
	DeletionTimestamp *time.Time  `json:"deletionTimestamp"`
	Annotations       Annotations `json:"annotations"`
	// Controllers has the object whose controller writes this one, if any; see Route.Controller.
	Controllers Controllers `json:"ownerReferences"`
}

// Annotations are the annotations on a route that gammaguard reads.
type Annotations struct {
	// Ignore lists, separated by commas, the rules to silence on this route.
	Ignore string `json:"gammaguard.dev/ignore"`
}

// IgnoreAnnotation is the key of the annotation that silences rules on a route.
const IgnoreAnnotation = "gammaguard.dev/ignore"

// RouteSpec is what gammaguard reads of a route's spec.
type RouteSpec struct {
	ParentRefs []ParentRef `json:"parentRefs"`
	Hostnames  Hostnames   `json:"hostnames"`
	Rules      []RouteRule `json:"rules"`
	// UseDefaultGateways is the scope of the default Gateways that the route attaches to as well
	// (GEP-3793); empty for none.
	UseDefaultGateways string `json:"useDefaultGateways"`
}

// HasGateway reports whether the route attaches to Gateways or ListenerSets too.
func (s *RouteSpec) HasGateway() bool {
	return s.AttachesByDefault() ||
		slices.ContainsFunc(s.ParentRefs, func(ref ParentRef) bool { return ref.Class(nil) == GatewayParent })
}

// AttachesByDefault reports whether the route attaches to the default Gateways (GEP-3793).
func (s *RouteSpec) AttachesByDefault() bool {
	return s.UseDefaultGateways != "" && s.UseDefaultGateways != "None"
}

// RouteRule is one rule of a route of any kind. What is kept as text has no effect that
// gammaguard knows.
type RouteRule struct {
	Name               string          `json:"name"`
	Matches            []RouteMatch    `json:"matches"`
	Filters            []Filter        `json:"filters"`
	BackendRefs        []BackendRef    `json:"backendRefs"`
	Timeouts           *Timeouts       `json:"timeouts"`
	Retry              *jsontext.Value `json:"retry"`
	SessionPersistence *jsontext.Value `json:"sessionPersistence"`
}

// Timeouts are those of an HTTPRoute's rule. An empty field was left out.
type Timeouts struct {
	Request        string `json:"request"`
	BackendRequest string `json:"backendRequest"`
}

// DecodeRoute reads a route of any kind and version from JSON. Fields that are
// not read never make it fail; a field of the wrong type, or a kind that is not a
// route kind, does.
func DecodeRoute(data []byte) (*Route, error) {
	route := new(Route)
	if err := Decode(data, route); err != nil && !decodeLinkerd(data, route) {
		return nil, fmt.Errorf("not a route: %w", err)
	}
	if err := route.Settle(); err != nil {
		return nil, err
	}
	return route, nil
}

// String reads "HTTPRoute shop/cart".
func (r *Route) String() string {
	name := r.Metadata.Name
	if name == "" {
		name = r.Metadata.GenerateName + "*"
	}
	return string(r.Kind) + " " + r.Metadata.Namespace + "/" + name
}

// Deleting reports whether the route is being deleted.
func (r *Route) Deleting() bool { return r.Metadata.DeletionTimestamp != nil }

// HasMeshParent reports whether any parentRef refers to a Service or ServiceImport, under
// the profile of a mesh.
func (r *Route) HasMeshParent(profile *Profile) bool {
	for i := range r.Spec.ParentRefs {
		if r.Spec.ParentRefs[i].Class(profile) == MeshParent {
			return true
		}
	}
	return false
}
