package check

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// share is what a set has of a Service, or of a Namespace.
type share struct {
	// routes are those on the Service, or in the Namespace, in the version after; foreign: that itself is not in the set.
	routes  map[manifest.Key]bool
	foreign bool
}

// edits notes which Services and Namespaces of a set are others now, or gone.
func (d *setsDiff) edits(name string, loads [2]*loaded) {
	for read := range loads[0].world.files.Has() {
		if read.Kind != mesh.ReadService && read.Kind != mesh.ReadNamespace {
			continue
		}
		before, after := loads[0].world.files.Do(read), loads[1].world.files.Do(read)
		if after.Err != nil || !reflect.DeepEqual(before.Service, after.Service) || !reflect.DeepEqual(before.Namespace, after.Namespace) {
			d.edited[read] = append(d.edited[read], name)
		}
	}
}

// foreign reports whether routes are on a Service, or in a Namespace, that their set does not have.
func (d *setsDiff) foreign() bool {
	for _, on := range d.shares {
		for _, has := range on {
			if has.foreign && len(has.routes) > 0 {
				return true
			}
		}
	}
	return false
}

// share notes what a set has of each Service that its routes have as a parent, and of their Namespaces.
func (d *setsDiff) share(name string, loads [2]*loaded) {
	for i, l := range loads {
		for key, route := range l.effective() {
			attached := (&mesh.AttachedRoute{Namespace: key.Namespace}).WithParents(route.Spec.ParentRefs, l.engine.Policy().Mesh)
			reads := []mesh.Read{{Kind: mesh.ReadNamespace, Namespace: key.Namespace}}
			for service := range attached.ParentServices() {
				reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: service})
			}
			for _, read := range reads {
				on := d.shares[read.String()]
				if on == nil {
					on = map[string]*share{}
					d.shares[read.String()] = on
				}
				if on[name] == nil {
					lacks := func(l *loaded) bool {
						return l.world.files.Do(read).Err != nil && (read.Kind == mesh.ReadService || l.world.context.read(read).Err != nil)
					}
					on[name] = &share{map[manifest.Key]bool{}, lacks(loads[0]) && lacks(loads[1])}
				}
				if i == 1 {
					on[name].routes[key] = true
				}
			}
		}
	}
}

// noteShared notes the Services and Namespaces that change, or for which something changes, and that routes of other sets are on, too. Sets that have the same routes, or
// that each have the Service, are taken for alternatives.
func (d *setsDiff) noteShared() {
	others := map[string]map[string]bool{}
	note := func(service, other string) {
		if others[service] == nil {
			others[service] = map[string]bool{}
		}
		others[service][other] = true
	}
	for read, names := range d.edited {
		if _, moved := d.moved[read]; moved {
			continue
		}
		for other, has := range d.shares[read.String()] {
			if has.foreign && len(has.routes) > 0 && !slices.Contains(names, other) {
				note(read.String(), other)
			}
		}
	}
	for i := range d.out.Ports {
		service := d.out.Ports[i].Service
		for _, name := range d.out.Ports[i].Sets {
			for other, has := range d.shares[service] {
				is := d.shares[service][name]
				if other == name || is == nil || !is.foreign && !has.foreign {
					continue
				}
				for key := range has.routes {
					if !is.routes[key] {
						note(service, other)
					}
				}
			}
		}
	}
	for name, in := range others {
		text := fmt.Sprintf("%s has routes in %s, too. Each set is compared by itself: if these are deployed to one cluster, compare them together, with -f, -k, and --helm", name, firstOf(slices.Sorted(maps.Keys(in))))
		if strings.HasPrefix(name, mesh.NamespaceKind+" ") {
			text += ", or name its file as context in " + sets.ProjectFile
		}
		d.out.Notes = append(d.out.Notes, text)
	}
}
