package mesh

import (
	"errors"
	"strings"
)

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

// Reader is all that the core can see in addition to the route: a cluster, from caches
// or live, or a set of files. FindNamespace and those after it ask it.
type Reader interface {
	// Do answers one read. What it returns is shared and must not be changed.
	Do(read Read) Answer
}

// ReaderFunc is a function as a Reader.
type ReaderFunc func(read Read) Answer

// Do implements Reader.
func (f ReaderFunc) Do(read Read) Answer { return f(read) }

// Answer is what a Reader knows of a Read: the field of its kind, or why there is none.
type Answer struct {
	Namespace       *Namespace
	Service         *Service
	HasEndpoints    bool
	ReferenceGrants []ReferenceGrant
	AttachedRoutes  []*AttachedRoute
	// Err is ErrNotFound, ErrNotServed, ErrUnknown, or a failure.
	Err error
}

// FindNamespace returns a namespace.
func FindNamespace(reader Reader, name string) (*Namespace, error) {
	answer := reader.Do(Read{Kind: ReadNamespace, Namespace: name})
	return answer.Namespace, answer.Err
}

// FindService returns a Service or a ServiceImport. A Service whose name is a host cannot exist: its name is a DNS label.
func FindService(reader Reader, key ServiceKey) (*Service, error) {
	if key.Kind == ServiceKind && strings.Contains(key.Name, ".") {
		return nil, ErrNotFound
	}
	answer := reader.Do(Read{Kind: ReadService, Service: key})
	return answer.Service, answer.Err
}

// HasEndpoints reports whether any EndpointSlice of the Service has an endpoint.
func HasEndpoints(reader Reader, key ServiceKey) (bool, error) {
	answer := reader.Do(Read{Kind: ReadEndpoints, Service: key})
	return answer.HasEndpoints, answer.Err
}

// ReferenceGrants returns the ReferenceGrants in a namespace.
func ReferenceGrants(reader Reader, namespace string) ([]ReferenceGrant, error) {
	answer := reader.Do(Read{Kind: ReadReferenceGrants, Namespace: namespace})
	return answer.ReferenceGrants, answer.Err
}

// AttachedRoutes returns the routes of the namespace with a parentRef to the Service, in
// no order; those of all namespaces if it is empty. Routes of one scope are all in one
// namespace.
func AttachedRoutes(reader Reader, key ServiceKey, namespace string) ([]*AttachedRoute, error) {
	answer := reader.Do(Read{Kind: ReadRoutes, Service: key, Namespace: namespace})
	return answer.AttachedRoutes, answer.Err
}

// ObjectKey identifies an object of any kind.
type ObjectKey struct{ Group, Kind, Namespace, Name string }

// FindObject reports whether an object of another implementation exists, such as another
// mesh parent: nil, ErrNotFound, ErrNotServed or ErrUnknown, and never a failure. With an
// empty name it reports on the kind alone: nil, ErrNotServed or ErrUnknown.
func FindObject(reader Reader, key ObjectKey) error {
	return reader.Do(Read{Kind: ReadObject, Group: key.Group, Service: ServiceKey{key.Kind, key.Namespace, key.Name}}).Err
}

// Assume returns the reader with the namespace as it is given.
func Assume(reader Reader, namespace *Namespace) Reader {
	return ReaderFunc(func(read Read) Answer {
		if read == (Read{Kind: ReadNamespace, Namespace: namespace.Name}) {
			return Answer{Namespace: namespace}
		}
		return reader.Do(read)
	})
}

// Confirmer is a Reader that makes given reads live, and returns their results from then
// on.
type Confirmer interface {
	Reader
	// Read makes those reads live that it has not made before, and returns their number.
	Read(reads []Read) (fresh int, err error)
}

// Known returns the object, and nil where it does not exist or cannot be known. An
// error is a failure.
func Known[T any](object *T, err error) (*T, error) {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnknown) {
		return nil, nil
	}
	return object, err
}

// Read is one question to a Reader. It is comparable.
type Read struct {
	Kind ReadKind
	// Service is the Service that Services, Endpoints and Routes are about, or the name
	// of the Object.
	Service ServiceKey
	// Namespace is the namespace that Namespaces, ReferenceGrants and Routes are
	// about.
	Namespace string
	// Group is that of the Object.
	Group string
}

// Object returns the object that a read of one is about.
func (r *Read) Object() ObjectKey {
	return ObjectKey{r.Group, r.Service.Kind, r.Service.Namespace, r.Service.Name}
}

// String reads "EndpointSlices of Service shop/cart".
func (r Read) String() string {
	switch r.Kind {
	case ReadNamespace:
		return "Namespace " + r.Namespace
	case ReadEndpoints:
		return "EndpointSlices of " + r.Service.String()
	case ReadReferenceGrants:
		return "ReferenceGrants in namespace " + r.Namespace
	case ReadRoutes:
		return "routes in " + r.Namespace + " on " + r.Service.String()
	}
	return r.Service.String()
}

// MaxReads is how many reads are made live for one request, to confirm a denial or a
// mutation. A route that is not made to cause many needs a handful.
const MaxReads = 64

// ReadKind is what a Read asks for.
type ReadKind uint8

// The kinds of reads.
const (
	ReadNamespace ReadKind = iota
	ReadService
	ReadEndpoints
	ReadReferenceGrants
	ReadRoutes
	ReadObject
)
