package check

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// world is what the rules see: the input first, then its context, of which what the cluster has is as
// it is there, then what was there before, then the cluster.
type world struct {
	files *manifest.Set
	// rejected are the routes of files that the API server rejects, so that what was there before them stays.
	rejected map[manifest.Key]bool
	// base also reports whether what is nowhere does not exist, or is unknown.
	base    *manifest.Set
	context *surroundings // may be nil
	cluster Cluster       // may be nil
}

var _ mesh.Reader = (*world)(nil)

// newWorld returns the world without any input.
func newWorld(options *Options, profile *mesh.Profile) *world {
	complete := options.Complete && options.Cluster == nil
	return &world{
		files: manifest.NewSet(manifest.Options{Mesh: profile}), rejected: map[manifest.Key]bool{},
		base: manifest.NewSet(manifest.Options{
			Mesh: profile, Complete: complete, NoServiceImports: complete && options.NoServiceImports, Serves: options.Serves,
		}),
		cluster: options.Cluster,
	}
}

// Do implements mesh.Reader. Whether there are endpoints is not known of a Service which is
// in the input and not yet in the cluster, nor of one in a manifest that selects Pods: its
// EndpointSlices are made by a controller.
func (w *world) Do(read mesh.Read) mesh.Answer {
	switch read.Kind {
	case mesh.ReadReferenceGrants:
		return w.referenceGrants(read)
	case mesh.ReadRoutes:
		return mesh.Answer{AttachedRoutes: w.attachedRoutes(read)}
	}
	answer := w.ask(read)
	if read.Kind == mesh.ReadEndpoints && answer.Err == nil && !answer.HasEndpoints && w.cluster == nil && w.selects(read.Service) {
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	return answer
}

// before is the world without the input and its context, which count for what is in nothing else: that it was
// there is not known, and neither is that it was not.
func (w *world) before() mesh.Reader {
	without := *w
	without.files, without.context = manifest.NewSet(manifest.Options{}), nil
	return mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		if answer := without.Do(read); answer.Err == nil {
			return answer
		}
		return w.Do(read)
	})
}

// lost yields what the world does not know and the one before it had.
func (w *world) lost(before *world) iter.Seq[mesh.Read] {
	return func(yield func(mesh.Read) bool) {
		has := []*manifest.Set{before.files}
		if before.context != nil {
			has = append(has, before.context.objects)
		}
		for _, set := range has {
			for read := range set.Has() {
				if errors.Is(w.Do(read).Err, mesh.ErrUnknown) && !yield(read) {
					return
				}
			}
		}
	}
}

// ask asks the input, then its context, then what was there before, then the cluster. What the context has and the cluster
// too is as the cluster has it: applying the input changes nothing of it, and the webhook sees no other.
func (w *world) ask(read mesh.Read) mesh.Answer {
	if answer := w.files.Do(read); !errors.Is(answer.Err, mesh.ErrUnknown) {
		return answer
	}
	if beside := w.context.read(read); beside.Err == nil {
		if live := w.live(read); !errors.Is(live.Err, mesh.ErrUnknown) && !errors.Is(live.Err, mesh.ErrNotFound) {
			return live
		}
		return beside
	}
	if before := w.base.Do(read); before.Err == nil || w.cluster == nil {
		return before
	}
	return w.live(read)
}

// live asks the cluster, if there is one.
func (w *world) live(read mesh.Read) mesh.Answer {
	if w.cluster == nil {
		return mesh.Answer{Err: mesh.ErrUnknown}
	}
	if read.Kind == mesh.ReadEndpoints {
		if _, err := mesh.FindService(w.cluster, read.Service); errors.Is(err, mesh.ErrNotFound) {
			return mesh.Answer{Err: mesh.ErrUnknown}
		}
	}
	return w.cluster.Do(read)
}

// selects reports whether the Service is in a manifest, not in what was read from a
// cluster, and selects Pods.
func (w *world) selects(key mesh.ServiceKey) bool {
	name := manifest.Key{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	object := w.files.Get(name)
	if object == nil {
		object = w.context.get(name)
	}
	if object == nil {
		object = w.base.Get(name)
	}
	var service struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
		Spec struct {
			Selector map[string]string `json:"selector"`
		} `json:"spec"`
	}
	return object != nil && json.Unmarshal(object.JSON, &service) == nil &&
		service.Metadata.UID == "" && len(service.Spec.Selector) > 0
}

// referenceGrants answers with those of the cluster too, since the input may add to them.
func (w *world) referenceGrants(read mesh.Read) mesh.Answer {
	answer, beside, before := w.files.Do(read), w.context.read(read), w.base.Do(read)
	if w.cluster != nil {
		before = w.cluster.Do(read)
	}
	if w.cluster != nil && len(before.ReferenceGrants) > 0 { // as ask does
		beside = mesh.Answer{}
	}
	if answer.Err != nil && beside.Err != nil && before.Err != nil {
		return before
	}
	return mesh.Answer{ReferenceGrants: slices.Concat(answer.ReferenceGrants, beside.ReferenceGrants, before.ReferenceGrants)}
}

// attachedRoutes returns those of the input that are not rejected, each in the place of the one
// that was there before, and the others that were there.
func (w *world) attachedRoutes(read mesh.Read) []*mesh.AttachedRoute {
	routes := slices.DeleteFunc(slices.Clone(w.files.Do(read).AttachedRoutes), func(route *mesh.AttachedRoute) bool { return w.rejected[routeKey(route)] })
	for _, route := range w.base.Do(read).AttachedRoutes {
		if !w.replaces(routeKey(route)) {
			routes = append(routes, route)
		}
	}
	return routes
}

// replaces reports whether the input has a route of that name, which the API server does not reject.
func (w *world) replaces(key manifest.Key) bool { return w.files.Get(key) != nil && !w.rejected[key] }

func routeKey(r *mesh.AttachedRoute) manifest.Key {
	return manifest.Key{Group: mesh.GatewayGroup, Kind: string(r.Kind), Namespace: r.Namespace, Name: r.Name}
}
