package mutate

import (
	"errors"

	"github.com/gammaguard/gammaguard/mesh"
)

// Granted returns an Options.MayRead for the route. Objects of its own namespace may be
// read if that is granted each role that its parents need, or may be, as files do not have it;
// with enforced unset, always, since the missing grant denies nothing. Objects of other
// namespaces may be read if the grant is known and no consumer parent is refused. Parents
// that only lack the right group count. The labels are read once, and only if needed; the
// result is for one goroutine.
func Granted(route *mesh.Route, grants *mesh.GrantPolicy, enforced bool, world mesh.Reader) func(namespace string) bool {
	answers := map[bool]bool{} // for the own namespace, and for all others
	return func(namespace string) bool {
		own := namespace == route.Metadata.Namespace
		if own && !enforced {
			return true
		}
		if _, known := answers[own]; !known {
			granted, err := confirmed(route, grants, world)
			answers[own] = own && (granted || errors.Is(err, mesh.ErrUnknown)) || granted && unrefused(route, grants, world)
		}
		return answers[own]
	}
}

// confirmed reports whether the route is granted what it does, by the cache or, where
// that says no, by a live read: a label that was set a moment ago counts.
func confirmed(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) (bool, error) {
	yes, err := granted(route, grants, world)
	if yes || err != nil || !confirm(world, ownLabels(route)) {
		return yes, err
	}
	return granted(route, grants, world)
}

// unrefused reports whether no parent refuses the route, by the cache or, where that says
// no, by live reads: only where the route's namespace has the grant live.
func unrefused(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) bool {
	refused := refusing(route, grants, world)
	if len(refused) == 0 {
		return true
	}
	if !confirm(world, ownLabels(route)) {
		return false
	}
	if yes, err := granted(route, grants, world); !yes || err != nil {
		return false
	}
	var reads []mesh.Read
	for _, key := range refused {
		reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: key}, mesh.Read{Kind: mesh.ReadNamespace, Namespace: key.Namespace})
	}
	return confirm(world, reads...) && len(refusing(route, grants, world)) == 0
}

func ownLabels(route *mesh.Route) mesh.Read {
	return mesh.Read{Kind: mesh.ReadNamespace, Namespace: route.Metadata.Namespace}
}

// confirm makes the reads live, and reports whether that was possible.
func confirm(world mesh.Reader, reads ...mesh.Read) bool {
	confirmer, ok := world.(mesh.Confirmer)
	if !ok {
		return false
	}
	_, err := confirmer.Read(reads)
	return err == nil
}

// granted reports whether the route's namespace is granted each role that its parents need. The
// error is why that cannot be known.
func granted(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) (bool, error) {
	own, err := mesh.FindNamespace(world, route.Metadata.Namespace)
	if err != nil && !errors.Is(err, mesh.ErrNotFound) {
		return false, err
	}
	return len(grants.Missing(own, route.Kind, grants.Needed(route.Metadata.Namespace, route.Spec.ParentRefs))) == 0, nil
}

// refusing returns the parents that refuse the route, or may, as a consumer route.
func refusing(route *mesh.Route, grants *mesh.GrantPolicy, world mesh.Reader) []mesh.ServiceKey {
	var refusing []mesh.ServiceKey
	for _, key := range parents(route) {
		if mesh.ScopeOf(route.Metadata.Namespace, key).Role() != mesh.Consumer {
			continue
		}
		_, whyService := mesh.FindService(world, key)
		_, whyNamespace := mesh.FindNamespace(world, key.Namespace)
		refusal, unknown, err := grants.Handshake(world, key, route.Metadata.Namespace, route.Kind)
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
