package check

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// spot is where an object stands in a file: the index of its document, and that in a list, or -1.
type spot [2]int

func spotOf(o *manifest.Object) spot {
	_, _, item := o.Source()
	return spot{o.Origin.Document, item}
}

// written is a route as it is written in a file.
type written struct {
	at  spot
	key manifest.Key
}

// taken is what a set took of the files of a repository, by their paths without links. It is safe for concurrent use.
type taken struct {
	mu sync.Mutex
	// files are those that were read. routes are those in a file that the set has by their places, and made those that
	// were made of it, by their keys.
	files  map[string]bool
	routes map[string]map[spot]bool
	made   map[string]map[manifest.Key]bool
	// built are the files of the kustomizations that were built.
	built map[string]bool
	// whole are the files that are taken with all that they hold, and so is what is below folders, where the set itself is
	// reported as not checked.
	below, whole map[string]bool
}

func (t *taken) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files, t.routes, t.made = map[string]bool{}, map[string]map[spot]bool{}, map[string]map[manifest.Key]bool{}
	t.below, t.whole, t.built = map[string]bool{}, map[string]bool{}, map[string]bool{}
}

// file notes that a file was read.
func (t *taken) file(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files[path] = true
}

// makes notes that a route was made of the file.
func (t *taken) makes(path string, key manifest.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made[path] == nil {
		t.made[path] = map[manifest.Key]bool{}
	}
	t.made[path][key] = true
}

// route notes that the set has a route of the file.
func (t *taken) route(path string, at spot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.routes[path] == nil {
		t.routes[path] = map[spot]bool{}
	}
	t.routes[path][at] = true
}

// merge adds what another set took.
func (t *taken) merge(of *taken) {
	of.mu.Lock()
	defer of.mu.Unlock()
	maps.Copy(t.files, of.files)
	maps.Copy(t.whole, of.whole)
	maps.Copy(t.below, of.below)
	maps.Copy(t.built, of.built)
	for path, keys := range of.made {
		for key := range keys {
			t.makes(path, key)
		}
	}
	for path, spots := range of.routes {
		for at := range spots {
			t.route(path, at)
		}
	}
}

// excused reports whether a set is reported as not checked with the file.
func (t *taken) excused(path string) bool {
	return t.whole[path] || slices.ContainsFunc(above(path), func(folder string) bool { return t.below[folder] })
}

// took reports whether the sets have each route of the file, or, where they cannot be read, one that was made of it.
func (t *taken) took(h *holder, path string) bool {
	switch {
	case t.excused(path):
		return true
	case len(h.routes) == 0:
		return len(t.made[path]) > 0 || h.foreign && t.files[path]
	}
	return !slices.ContainsFunc(h.routes, func(r written) bool { return !t.routes[path][r.at] && !t.has(path, r.key) })
}

// templated is what a template puts into a text.
var templated = regexp.MustCompile(`\{\{.*?\}\}`)

// has reports whether the route was made of the file. A template of it may put in a part of its name or namespace.
func (t *taken) has(path string, key manifest.Key) bool {
	if !strings.Contains(key.Name+key.Namespace, "{{") {
		return t.made[path][key]
	}
	for made := range t.made[path] {
		if made.Kind == key.Kind && fills(key.Name, made.Name) && fills(key.Namespace, made.Namespace) {
			return true
		}
	}
	return false
}

// fills reports whether the text has the parts of the template, in their order.
func fills(template, text string) bool {
	parts := templated.Split(template, -1)
	text, begins := strings.CutPrefix(text, parts[0])
	if len(parts) == 1 || !begins {
		return begins && text == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[last])
}

// above returns the folders that the path is in.
func above(path string) (folders []string) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if folders = append(folders, at); filepath.Dir(at) == at {
			return folders
		}
	}
}

// resolved returns the path without links, if it may be read.
func resolved(files *repository.Files, path string) string {
	if found, _, err := files.Resolve(path); err == nil {
		return found
	}
	return path
}

// takes notes what the set has of the files of the repository, before it is judged.
func (c *checker) takes() {
	t := c.options.taken
	if t == nil {
		return
	}
	for _, f := range c.files {
		path := resolved(c.options.files, f.name)
		if f.sets == nil || len(f.broken) > 0 { // a document that cannot be read is reported as broken
			t.mu.Lock()
			t.whole[path] = true
			t.mu.Unlock()
		}
		for i := range f.documents {
			if d := &f.documents[i]; d.IsRoute() {
				t.makes(path, d.Key)
				if d.written != nil {
					t.route(path, spotOf(d.written))
				}
			}
		}
	}
}

// builds notes that the kustomization in the folder was built, with those below it.
func (c *checker) builds(folder string) {
	t := c.options.taken
	if t == nil {
		return
	}
	for path, as := range uses(c.options.read, folder) {
		if as == kustomizationOf {
			path = resolved(c.options.files, path)
			t.mu.Lock()
			t.built[path] = true
			t.mu.Unlock()
		}
	}
}

// takesPatches notes which routes in patches of a kustomization are patches of a route that it makes, or has read, by its
// kind and name, whatever the target says: as an object of its own the patch would be another route. One without
// parentRefs would be a route of nothing.
func (c *checker) takesPatches(folder string, all patches, made []*file) {
	t := c.options.taken
	if t == nil {
		return
	}
	sources := sync.OnceValue(func() []*file { return c.sources(folder) })
	for i := range all {
		p := &all[i]
		if p.merge == nil || !p.merge.IsRoute() {
			continue
		}
		_, _, attaches := p.merge.Field("spec.parentRefs")
		if deletes, _, _ := p.merge.Field("$patch"); deletes != "delete" && (!attaches || names(made, p.merge)) || names(sources(), p.merge) {
			t.route(resolved(c.options.files, p.file), spotOf(p.merge))
		}
	}
}

// names reports whether one of the files has an object of that kind and name, as it is or as it was written.
func names(files []*file, object *manifest.Object) bool {
	return slices.ContainsFunc(files, func(f *file) bool {
		return slices.ContainsFunc(f.documents, func(d document) bool {
			same := d.Key.Name == object.Key.Name || d.written != nil && d.written.Key.Name == object.Key.Name
			return same && d.Key.Kind == object.Key.Kind && d.Key.Group == object.Key.Group
		})
	})
}

// sources returns the files that a kustomization makes objects of.
func (c *checker) sources(folder string) (files []*file) {
	for path, as := range uses(c.options.read, folder) {
		if as != objectOf {
			continue
		}
		if f, err := c.input.file(path); err == nil {
			files = append(files, f)
		}
	}
	return files
}

// excuse notes that the files of a set that was not built are reported with the set.
func (s *Set) excuse(options *Options) {
	if s.taken == nil {
		return
	}
	if s.chart != nil {
		s.taken.below[resolved(options.files, s.chart.Path)] = true
	}
	for _, file := range s.files {
		path := resolved(options.files, file)
		s.taken.whole[path], s.taken.below[path] = true, true
	}
	if s.kustomization != "" {
		for path := range uses(options.read, s.kustomization) {
			s.taken.whole[resolved(options.files, path)] = true
		}
	}
}
