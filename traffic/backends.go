package traffic

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// backendsOf returns the backends of the requests that a match decides, as the mesh reads them.
func (t *Table) backendsOf(pr *portRoutes, e *entry, known *caveats) ([]backendRef, error) {
	profile := t.engine.Policy().Mesh
	own, reads := e.route.rules[e.rule].backends, profile.ReadsBackends()
	if reads == (mesh.Backends{}) {
		return own, nil
	}
	backends, err := t.permittedOf(e.route, own, reads, known)
	if err != nil {
		return nil, err
	}
	several := len(backends) > 1
	if reads.MergesEqual && len(backends) > 0 {
		if backends, err = t.mergeEqual(pr, e, backends, reads, known); err != nil {
			return nil, err
		}
		several = len(backends) > 1 || pr.ports(e.route) > 1
	}
	switch {
	case several && reads.ByName:
		shareEffects(backends)
	case !several && len(backends) == 1 && reads.OnlyOne:
		backends[0].weight = 1
	}
	return backends, nil
}

// permittedOf returns the backends without those that the mesh leaves out, and notes these.
func (t *Table) permittedOf(from *route, backends []backendRef, reads mesh.Backends, known *caveats) ([]backendRef, error) {
	var kept []backendRef
	for i := range backends {
		s, err := t.backend(from, &backends[i].ref)
		if err != nil {
			return nil, err
		}
		if reads.LeavesOut && s.absent {
			known.leftOut = append(known.leftOut, s.name+", which "+s.problem)
			continue
		}
		kept = append(kept, backends[i])
		ref := &kept[len(kept)-1].ref
		ref.Namespace = ref.Service(from.Namespace).Namespace
	}
	return kept, nil
}

// shareEffects has the last filter of the backends that name a Service and port apply to all that name them.
func shareEffects(backends []backendRef) {
	for i := range backends {
		if last := backends[i].last; last != nil {
			backends[i].effects = *last
		}
	}
	for i := range backends {
		for j := range backends {
			other := &backends[j]
			if other.filtered && other.ref.Name == backends[i].ref.Name && other.ref.Namespace == backends[i].ref.Namespace && other.ref.Port == backends[i].ref.Port {
				backends[i].effects, backends[i].fails = other.effects, other.fails
			}
		}
	}
}

// mergeEqual adds the backends of matches of other rules that are written alike: of other routes,
// and of the same GRPCRoute. Each counts for as many times as its route has ports. An HTTPRoute with
// two rules whose matches are alike takes no part.
func (t *Table) mergeEqual(pr *portRoutes, e *entry, backends []backendRef, reads mesh.Backends, known *caveats) ([]backendRef, error) {
	if pr.twice(e) {
		return backends, nil
	}
	merged := scaled(backends, pr.ports(e.route))
	found := false
	for i := range pr.entries {
		other := &pr.entries[i]
		if other.written != e.written || other.route == e.route && other.rule == e.rule && other.at == e.at || pr.twice(other) {
			continue
		}
		theirs, err := t.permittedOf(other.route, other.route.rules[other.rule].backends, reads, known)
		if err != nil {
			return nil, err
		}
		for i := range theirs {
			theirs[i].effects, theirs[i].last, theirs[i].filtered = Effects{}, nil, false
		}
		merged, found = append(merged, scaled(theirs, pr.ports(other.route))...), true
	}
	if !found {
		return backends, nil
	}
	return merged, nil
}

// scaled returns the backends with their weights so many times.
func scaled(backends []backendRef, times int64) []backendRef {
	out := slices.Clone(backends)
	for i := range out {
		out[i].weight *= times
	}
	return out
}

// ports returns how many ports the route selects.
func (pr *portRoutes) ports(r *route) int64 {
	n := int64(0)
	for _, b := range pr.bindings[&r.AttachedRoute] {
		if b.State.InEffect() && !b.Joined {
			n++
		}
	}
	return max(n, 1)
}

// twice reports whether another rule of the same HTTPRoute has a match that is written alike.
func (pr *portRoutes) twice(e *entry) bool {
	return e.route.Kind == mesh.HTTPRoute && slices.ContainsFunc(pr.entries, func(other entry) bool {
		return other.route == e.route && other.rule != e.rule && other.written == e.written
	})
}

// redirectPort sets the port of a redirect that has none, on a mesh where all ports of a Service have
// the same routes: the first that the route selects.
func (pr *portRoutes) redirectPort(profile *mesh.Profile, e *entry, redirect *Redirect) {
	if profile == nil || !profile.PortsTogether.Value || redirect.Port != 0 || redirect.Scheme != "" {
		return
	}
	for _, b := range pr.bindings[&e.route.AttachedRoute] {
		if b.State.InEffect() && !b.Joined {
			redirect.Port = b.At.Port
			return
		}
	}
}
