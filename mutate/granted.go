package mutate

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
)

// Granted returns an Options.MayRead for the route: objects of other namespaces
// may be read if the route's namespace is granted the role of every mesh parent,
// and no consumer parent is refused. Parents that only lack the right group
// count. If labels cannot be known, nothing may be read. The labels are read once,
// and only if needed; the result is for one goroutine.
func Granted(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) func(namespace string) bool {
	var answer, known bool
	return func(string) bool {
		if !known {
			answer, known = confirmed(route, grants, world), true
		}
		return answer
	}
}

// confirmed reports whether the route is granted what it does, by the cache or, where
// that says no, by live reads: a label that was set a moment ago counts. The labels of
// the parents' side are read live only where the route's namespace has the grant.
func confirmed(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) bool {
	if granted(route, grants, world) && len(refusing(route, world)) == 0 {
		return true
	}
	confirmer, ok := world.(mesh.Confirmer)
	if !ok {
		return false
	}
	_, err := confirmer.Read([]mesh.Read{{Kind: mesh.ReadNamespace, Namespace: route.Metadata.Namespace}})
	if err != nil || !granted(route, grants, world) {
		return false
	}
	var reads []mesh.Read
	for _, key := range refusing(route, world) {
		reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: key}, mesh.Read{Kind: mesh.ReadNamespace, Namespace: key.Namespace})
	}
	_, err = confirmer.Read(reads)
	return err == nil && len(refusing(route, world)) == 0
}

// granted reports whether the route's namespace is granted the role of every parent.
func granted(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) bool {
	own, known := namespaceOf(world, route.Metadata.Namespace)
	if !known {
		return false
	}
	for _, key := range parents(route) {
		if !grants.Allows(own, mesh.ScopeOf(route.Metadata.Namespace, key).Role(), route.Kind) {
			return false
		}
	}
	return true
}

// refusing returns the parents that refuse the route, or may, as a consumer route.
func refusing(route *mesh.Route, world mesh.Reader) []mesh.ServiceKey {
	var refusing []mesh.ServiceKey
	for _, key := range parents(route) {
		if mesh.ScopeOf(route.Metadata.Namespace, key).Role() != mesh.Consumer {
			continue
		}
		_, whyService := mesh.FindService(world, key)
		_, whyNamespace := mesh.FindNamespace(world, key.Namespace)
		refusal, unknown, err := mesh.Handshake(world, key, route.Metadata.Namespace, route.Kind)
		if unknown || errors.Is(whyService, mesh.ErrUnknown) || errors.Is(whyNamespace, mesh.ErrUnknown) || err != nil || refusal.By != mesh.NotRefused {
			refusing = append(refusing, key)
		}
	}
	return refusing
}

// parents returns the parents that count, as Services.
func parents(route *mesh.Route) []mesh.ServiceKey {
	var keys []mesh.ServiceKey
	for i := range route.Spec.ParentRefs {
		switch ref := &route.Spec.ParentRefs[i]; ref.Class(nil) {
		case mesh.MeshParent, mesh.LookAlikeParent:
			keys = append(keys, ref.Service(route.Metadata.Namespace))
		}
	}
	return keys
}

// namespaceOf returns the namespace, or nil if it does not exist; known is false
// where that cannot be known.
func namespaceOf(world mesh.Reader, name string) (namespace *mesh.Namespace, known bool) {
	namespace, err := mesh.FindNamespace(world, name)
	if err != nil {
		return nil, errors.Is(err, mesh.ErrNotFound)
	}
	return namespace, true
}
