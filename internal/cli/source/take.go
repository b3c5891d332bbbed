package source

import (
	"cmp"
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/internal/cli/rollout"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// Take notes what the set has of the files of the repository, before it is judged.
func (in *Input) Take(files []*File) {
	t := in.taken
	if t == nil {
		return
	}
	for _, f := range files {
		if f.archived {
			continue
		}
		path := in.Resolved(f.Name)
		if !f.Built() || len(f.Broken) > 0 { // a document that cannot be read is reported as broken
			t.asIs(path)
		}
		if len(f.Broken) > 0 {
			t.makes(path, manifest.Key{}) // who knows what
		}
		for i := range f.Documents {
			if d := &f.Documents[i]; rollout.HoldsRoute(d.Object) || d.Written != nil && rollout.HoldsRoute(d.Written) {
				t.makes(path, d.Key)
				if d.Written != nil {
					t.route(path, PlaceOf(d.Written))
				}
			}
		}
	}
}

// takesPatches notes which routes in patches of a kustomization show in a route that it makes, of the same kind and name,
// whatever the target says: as an object of its own the patch would be another route. One without parentRefs would be a
// route of nothing, and one that deletes a route that the kustomization has read is none.
func (in *Input) takesPatches(used map[string]Use, all patches, made []*File) {
	t := in.taken
	if t == nil {
		return
	}
	sources := sync.OnceValue(func() []*File { return in.sources(used) })
	for i := range all {
		p := &all[i]
		if p.merge == nil || p.inline || !rollout.HoldsRoute(p.merge) {
			continue
		}
		_, _, attaches := p.merge.Field("spec.parentRefs")
		attaches = attaches || !p.merge.IsRoute()
		deletes, _, _ := p.merge.Field("$patch")
		if deletes == "delete" && deletable(sources(), p.merge) || deletes != "delete" && (!attaches || has(made, p.merge, p.later)) {
			at := PlaceOf(p.merge)
			at.Key.Namespace = cmp.Or(at.Key.Namespace, in.namespace())
			t.route(in.Resolved(p.file), at)
		}
	}
}

// has reports whether one of the files has a route of the kind, version and name of the patch, in its namespace if it has
// one, with all fields of its spec, all its labels and annotations, and no other findings silenced than in the patch. The affix is what is put around
// its names later.
func has(files []*File, patch *manifest.Object, later affix) bool {
	return slices.ContainsFunc(files, func(f *File) bool {
		return slices.ContainsFunc(f.Documents, func(d Document) bool {
			return names([]*File{{Documents: []Document{d}}}, patch) && d.Version == patch.Version && silences(d.Object) == silences(patch) &&
				(patch.Key.Namespace == "" || patch.Key.Namespace == d.Key.Namespace) &&
				shows(d.Object, patch, "spec", later) && shows(d.Object, patch, "metadata.labels", affix{}) && shows(d.Object, patch, "metadata.annotations", affix{})
		})
	})
}

// shows reports whether the object has what the patch has below the path.
func shows(object, patch *manifest.Object, path string, later affix) bool {
	wanted, _, _ := patch.Field(path)
	made, _, _ := object.Field(path)
	return wanted == nil || later.includes(made, wanted)
}

// includes reports whether the value is the same as the wanted one, but for more fields, and what is put around names.
func (a affix) includes(value, wanted any) bool {
	fields, isMap := wanted.(map[string]any)
	if !isMap {
		return a.same(wanted, value, "")
	}
	has, _ := value.(map[string]any)
	for name, of := range fields {
		if got, found := has[name]; !found || !a.includes(got, of) {
			return false
		}
	}
	return true
}

// silences returns the annotation that silences findings of the object.
func silences(o *manifest.Object) any {
	value, _, _ := o.Field("metadata.annotations[" + mesh.IgnoreAnnotation + "]")
	return value
}

// names reports whether one of the files has an object of that kind and name, as it is or as it was written.
func names(files []*File, object *manifest.Object) bool {
	return slices.ContainsFunc(files, func(f *File) bool {
		return slices.ContainsFunc(f.Documents, func(d Document) bool {
			same := d.Key.Name == object.Key.Name || d.Written != nil && d.Written.Key.Name == object.Key.Name
			return same && d.Key.Kind == object.Key.Kind && d.Key.Group == object.Key.Group
		})
	})
}

// deletable reports whether one of the files has the object, in the namespace of the patch.
func deletable(files []*File, patch *manifest.Object) bool {
	return slices.ContainsFunc(files, func(f *File) bool {
		return slices.ContainsFunc(f.Documents, func(d Document) bool {
			key := d.Key
			if patch.Key.Namespace == "" {
				key.Namespace = ""
			}
			return key == patch.Key
		})
	})
}

// sources returns those of the used files that kustomizations make objects of.
func (in *Input) sources(used map[string]Use) (files []*File) {
	for path, as := range used {
		if as != ObjectOf {
			continue
		}
		if f, err := in.file(path); err == nil {
			files = append(files, f)
		}
	}
	return files
}
