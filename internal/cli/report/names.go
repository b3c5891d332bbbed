package report

import "github.com/gammaguard/gammaguard/mesh"

// APIVersion is that of every JSON and YAML form that the command line writes or reads.
const APIVersion = "gammaguard.dev/v1alpha1"

// TypeMeta begins a JSON or YAML form.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// StatesVersion is the apiVersion of the forms that say what becomes of routes.
const StatesVersion = "gammaguard.dev/v1alpha2"

// Typed returns the beginning of a form of this kind.
func Typed(kind string) TypeMeta { return TypeMeta{APIVersion, kind} }

// RouteName names a route.
type RouteName struct {
	Kind      mesh.RouteKind `json:"kind"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
}

// String names the route as people do: "HTTPRoute shop/cart".
func (r *RouteName) String() string { return string(r.Kind) + " " + r.Namespace + "/" + r.Name }
