package mesh

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// AttachedRoute is what other routes on the same Service, and the status
// reconciler, need to know of a route. It is much smaller than the route.
type AttachedRoute struct {
	Kind            RouteKind
	Namespace, Name string
	// Created is the creation time in seconds; zero for a route that is just being
	// created, which is younger than any other.
	Created    int64
	Generation int64
	// Parents are all parentRefs, in the order of the spec.
	Parents []ParentRef
	// Taken are the Parents that are mesh parents because the mesh at hand takes them for
	// such, though they are not written as the specification demands.
	Taken ParentSet
	// CatchAll reports whether any rule matches every request.
	CatchAll bool
	// Regular reports whether any match has a regular expression for the path or the
	// gRPC method.
	Regular bool
	// Dropped is the field for which the mesh at hand does not apply the route at all; empty if it
	// does.
	Dropped Field
	// Matches are the keys of all matches, in the order of the rules.
	Matches []MatchKey
	// Backends are the Services that the rules send requests to, each once, in the order of the
	// rules, without those that are mesh parents: at most maxBackends. They are for the status, and
	// set by WithBackends.
	Backends []ServiceKey
}

// maxBackends is how many Backends are noted of a route.
const maxBackends = 32

// FirstSyntheticAge is the first Created that says nothing of a route's age: a Reader that does
// not know the creation times numbers routes from here on, in multiples of it for those
// that come later than others.
const FirstSyntheticAge = 1 << 33

// LaterSyntheticAge is that of routes that come later than all others whose creation times are not known.
const LaterSyntheticAge = 3 * FirstSyntheticAge

// Age returns what a Created says of a route's age: of those whose creation times are not known, all
// that come at once are equally old. Zero stands for one that is not known.
func Age(created int64) int64 {
	if created >= FirstSyntheticAge {
		return created / FirstSyntheticAge * FirstSyntheticAge
	}
	return cmp.Or(created, FirstSyntheticAge)
}

// OrderKnown reports whether it is known which of the two routes is older.
func (a *AttachedRoute) OrderKnown(b *AttachedRoute) bool {
	return a.Created < FirstSyntheticAge || b.Created < FirstSyntheticAge || a.Created/FirstSyntheticAge != b.Created/FirstSyntheticAge
}

// IsMeshParent reports whether the parentRef with that index is a mesh parent.
func (a *AttachedRoute) IsMeshParent(ref int) bool {
	return a.Taken.Has(ref) || a.Parents[ref].Class(nil) == MeshParent
}

// WithParents sets the parentRefs, which the profile of a mesh classifies.
func (a *AttachedRoute) WithParents(refs []ParentRef, profile *Profile) *AttachedRoute {
	a.Parents, a.Taken = refs, profile.taken(refs)
	return a
}

// Attached reduces the route to what others need to know of it, under the profile of a
// mesh.
func (r *Route) Attached(profile *Profile) *AttachedRoute {
	a := &AttachedRoute{
		Kind:       r.Kind,
		Namespace:  r.Metadata.Namespace,
		Name:       r.Metadata.Name,
		Generation: r.Metadata.Generation,
		Regular:    r.regular(),
		Dropped:    r.DroppedBy(profile),
	}
	a.WithParents(r.Spec.ParentRefs, profile)
	if created := r.Metadata.CreationTimestamp; created != (time.Time{}) {
		a.Created = created.Unix()
	}
	keys := r.MatchKeys(profile)
	a.Matches = make([]MatchKey, len(keys))
	for i, key := range keys {
		a.Matches[i] = key.Key
	}
	a.CatchAll = a.HasCatchAll() || r.anyPath(profile)
	return a
}

// HasCatchAll reports whether any match has no condition.
func (a *AttachedRoute) HasCatchAll() bool { return slices.Contains(a.Matches, catchAll) }

// WithBackends sets the Backends to those of the route, which Attached leaves out: no rule needs them.
// The profile classifies them.
func (a *AttachedRoute) WithBackends(route *Route, profile *Profile) *AttachedRoute {
	a.Backends = nil
	for backend := range route.Backends() {
		if backend.Ref.IsService(profile) && backend.Ref.Kind != ServiceImportKind {
			if key := backend.Ref.Service(a.Namespace); !slices.Contains(a.Backends, key) && !a.hasParent(key) {
				if a.Backends = append(a.Backends, key); len(a.Backends) == maxBackends {
					return a
				}
			}
		}
	}
	return a
}

// ParentServices yields the Services that the mesh parentRefs name.
func (a *AttachedRoute) ParentServices() iter.Seq[ServiceKey] {
	return func(yield func(ServiceKey) bool) {
		for i := range a.Parents {
			if a.IsMeshParent(i) && !yield(a.Parents[i].Service(a.Namespace)) {
				return
			}
		}
	}
}

// hasParent reports whether the Service is a mesh parent.
func (a *AttachedRoute) hasParent(key ServiceKey) bool {
	for i := range a.Parents {
		if a.Parents[i].Name == key.Name && a.IsMeshParent(i) && a.Parents[i].Service(a.Namespace) == key {
			return true
		}
	}
	return false
}

// String reads "HTTPRoute shop/cart".
func (a *AttachedRoute) String() string {
	return string(a.Kind) + " " + a.Namespace + "/" + a.Name
}

// Same reports whether both are the same route, possibly at different times.
func (a *AttachedRoute) Same(b *AttachedRoute) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
}

// InNamespace returns the routes that are in the namespace; all of them if it is
// empty.
func InNamespace(routes []*AttachedRoute, namespace string) []*AttachedRoute {
	if namespace == "" {
		return routes
	}
	count := 0
	for _, route := range routes {
		if route.Namespace == namespace {
			count++
		}
	}
	if count == len(routes) {
		return routes
	}
	here := make([]*AttachedRoute, 0, count)
	for _, route := range routes {
		if route.Namespace == namespace {
			here = append(here, route)
		}
	}
	return here
}

// CompareAge orders the older route first; of two equally old ones the first by
// namespace and name, as the Gateway API breaks ties.
func (a *AttachedRoute) CompareAge(b *AttachedRoute) int {
	if c := cmp.Compare(a.age(), b.age()); c != 0 {
		return c
	}
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return cmp.Compare(a.Kind, b.Kind)
}

func (a *AttachedRoute) age() uint64 { return uint64(a.Created) - 1 } // zero becomes the youngest
