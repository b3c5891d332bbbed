package mesh

import "iter"

// Namespace is what gammaguard reads of a namespace. Its tags are those of the
// metadata: a further field is read by its line here.
type Namespace struct {
	Name                 string            `json:"-"`
	Labels               map[string]string `json:"labels"`
	NamespaceAnnotations `json:"annotations"`
	// DeletionTimestamp is empty unless the namespace is being deleted.
	DeletionTimestamp string `json:"deletionTimestamp"`
}

// NamespaceAnnotations are the annotations that gammaguard reads on a namespace. A field is
// nil, or empty, where its annotation is not set.
type NamespaceAnnotations struct {
	// ConsumerAnnotations narrow which consumer routes its Services accept.
	ConsumerAnnotations
	// GrantKinds narrows the grant by its label, or by default, to kinds of routes.
	GrantKinds *KindList `json:"gammaguard.dev/grant-route-kinds"`
	// LinkerdInject says whether Linkerd adds the Pods of the namespace to the mesh.
	LinkerdInject string `json:"linkerd.io/inject"`
}

// Unreadable yields the annotations of the namespace that cannot be read, by key, with a sentence on what they then do.
func (n *Namespace) Unreadable() iter.Seq2[string, string] {
	return func(yield func(key, sentence string) bool) {
		if n == nil {
			return
		}
		if n.GrantKinds != nil && n.GrantKinds.Invalid && !yield(GrantRouteKindsAnnotation, unreadable(GrantRouteKindsAnnotation, "nothing is granted")+n.GrantKinds.noKind()) {
			return
		}
		n.ConsumerAnnotations.Unreadable()(yield)
	}
}

// unreadable is a sentence on an annotation that cannot be read.
func unreadable(key, effect string) string {
	return "the annotation " + key + " cannot be read, so " + effect
}

// NarrowsGrant reports whether the annotation GrantRouteKindsAnnotation keeps the namespace's
// grant from routes of the kind. A nil namespace has none.
func (n *Namespace) NarrowsGrant(kind RouteKind) bool {
	return n != nil && n.GrantKinds != nil && !n.GrantKinds.Accepts(kind)
}

// Terminating reports whether the namespace is being deleted.
func (n *Namespace) Terminating() bool { return n.DeletionTimestamp != "" }

// The labels that mesh admins set.
const (
	// GrantLabel, on a namespace, defines what its routes may do in the mesh.
	GrantLabel = "gammaguard.dev/grant"
	// ModeLabel, on a namespace, defines how deny rules act on its routes.
	ModeLabel = "gammaguard.dev/mode"
	// ConsumerRoutesLabel, on a namespace or a Service, reports whether consumer
	// routes to its Services are accepted.
	ConsumerRoutesLabel = "gammaguard.dev/consumer-routes"
)

// GrantRouteKindsAnnotation, on a namespace, narrows the grant by its label, or by default, to
// the route kinds that it lists, separated by commas. One that cannot be read grants nothing.
const GrantRouteKindsAnnotation = "gammaguard.dev/grant-route-kinds"

// Mode defines how deny rules act on the routes of a namespace.
type Mode string

const (
	// Enforce denies.
	Enforce Mode = "enforce"
	// Warn admits, with a warning that reports what would be denied.
	Warn Mode = "warn"
	// Audit admits in silence; metrics and the audit log report what would be denied.
	Audit Mode = "audit"
)

// Modes returns every mode, the strictest first.
func Modes() []Mode { return []Mode{Enforce, Warn, Audit} }
