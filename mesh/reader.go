package mesh

import "errors"

// Why a Reader has no answer. Any other error means that the read failed,
// and nothing may be concluded from it.
var (
	// ErrNotFound: the object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrNotServed: the API server does not serve the kind at all. It is an
	// ErrNotFound too.
	ErrNotServed error = &notServed{}
	// ErrUnknown: this Reader cannot know, as a set of files cannot know of a
	// Service that is in none of them.
	ErrUnknown = errors.New("unknown")
)

type notServed struct{}

func (*notServed) Error() string        { return "its CustomResourceDefinition is not installed" }
func (*notServed) Is(target error) bool { return target == ErrNotFound }

// Reader is all that the core can see in addition to the route: a cluster, from
// caches or live, or a set of files. What it returns is shared and must not be
// changed. Errors are ErrNotFound, ErrNotServed, ErrUnknown, or failures.
type Reader interface {
	// Namespace returns a namespace.
	Namespace(name string) (*Namespace, error)
	// Service returns a Service or a ServiceImport.
	Service(key ServiceKey) (*Service, error)
	// HasEndpoints reports whether any EndpointSlice of the Service has an endpoint.
	HasEndpoints(key ServiceKey) (bool, error)
	// ReferenceGrants returns the ReferenceGrants in a namespace.
	ReferenceGrants(namespace string) ([]ReferenceGrant, error)
	// AttachedRoutes returns the routes of the namespace with a parentRef to the
	// Service, in no order; those of all namespaces if it is empty. Routes of one
	// scope are all in one namespace.
	AttachedRoutes(key ServiceKey, namespace string) ([]*AttachedRoute, error)
}

// Assume returns the reader with the namespace as it is given.
func Assume(reader Reader, namespace *Namespace) Reader { return &assuming{reader, namespace} }

type assuming struct {
	Reader
	namespace *Namespace
}

// Namespace implements Reader.
func (a *assuming) Namespace(name string) (*Namespace, error) {
	if name == a.namespace.Name {
		return a.namespace, nil
	}
	return a.Reader.Namespace(name)
}

// Object implements ObjectReader.
func (a *assuming) Object(key ObjectKey) error {
	if objects, ok := a.Reader.(ObjectReader); ok {
		return objects.Object(key)
	}
	return ErrUnknown
}

// ObjectReader is a Reader that also knows of objects of other implementations, such as
// other mesh parents. Of a Reader that is none, they are unknown.
type ObjectReader interface {
	// Object reports whether the object exists: nil, ErrNotFound, ErrNotServed or
	// ErrUnknown, and never a failure. With an empty name it reports on the kind alone:
	// nil, ErrNotServed or ErrUnknown.
	Object(key ObjectKey) error
}

// ObjectKey identifies an object of any kind.
type ObjectKey struct{ Group, Kind, Namespace, Name string }

// Known returns the object, and nil where it does not exist or cannot be known. An
// error is a failure.
func Known[T any](object *T, err error) (*T, error) {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnknown) {
		return nil, nil
	}
	return object, err
}

// Read is one call of a Reader: its method, and the object that it reads. It is
// comparable.
type Read struct {
	Kind ReadKind
	// Service is the Service that Services, Endpoints and Routes are about.
	Service ServiceKey
	// Namespace is the namespace that Namespaces, ReferenceGrants and Routes are
	// about.
	Namespace string
}

// MaxReads is how many reads are made live for one request, to confirm a denial or a
// mutation. A route that is not made to cause many needs a handful.
const MaxReads = 64

// ReadKind is a method of Reader.
type ReadKind uint8

// The kinds of reads.
const (
	ReadNamespace ReadKind = iota
	ReadService
	ReadEndpoints
	ReadReferenceGrants
	ReadRoutes
)

// ReferenceGrant is what gammaguard reads of a ReferenceGrant (GEP-709).
type ReferenceGrant struct {
	From []ReferenceGrantFrom `json:"from"`
	To   []ReferenceGrantTo   `json:"to"`
}

// ReferenceGrantFrom identifies whose references are granted.
type ReferenceGrantFrom struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
}

// ReferenceGrantTo identifies what may be referred to; an empty name is every object
// of the kind.
type ReferenceGrantTo struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// Permits reports whether the grant lets routes of a kind in a namespace refer to
// the Service or ServiceImport, which must be in the grant's own namespace.
func (g *ReferenceGrant) Permits(kind RouteKind, namespace string, to ServiceKey) bool {
	from := ReferenceGrantFrom{Group: GatewayGroup, Kind: string(kind), Namespace: namespace}
	group := ""
	if to.Kind == ServiceImportKind {
		group = MulticlusterGroup
	}
	for _, f := range g.From {
		if f != from {
			continue
		}
		for _, t := range g.To {
			if t.Group == group && t.Kind == to.Kind && (t.Name == "" || t.Name == to.Name) {
				return true
			}
		}
	}
	return false
}
