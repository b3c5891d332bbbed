package source

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gammaguard/gammaguard/internal/manifest"
)

// Place is an object in a file: the index of its document, and that in the outermost list, or -1.
type Place struct {
	Document, Item int
	Key            manifest.Key
}

// PlaceOf returns the place of the object.
func PlaceOf(o *manifest.Object) Place {
	_, _, item := o.Source()
	return Place{o.Origin.Document, item, o.Key}
}

// Taken is what a set took of the files of a repository, by their paths without links. It is safe for concurrent use.
type Taken struct {
	mu sync.Mutex
	// files are those that were read. routes are those in a file that the set has by their places, and made those that
	// were made of it, by their keys.
	files map[string]bool
	// rendered are the files of charts that were rendered.
	rendered map[string]bool
	routes   map[string]map[Place]bool
	made     map[string]map[manifest.Key]bool
	// built are the files of the kustomizations that were built, and objects the files that these made objects of, with
	// the paths by which they were named.
	built   map[string]bool
	objects map[string]string
	// whole are the files that are taken with all that they hold, and so is what is below folders, where the set itself is
	// reported as not checked. plain are those that were taken with all that they hold, but not with what they make of others.
	below, whole, plain map[string]bool
}

// NewTaken returns that nothing was taken.
func NewTaken() *Taken {
	t := &Taken{}
	t.Reset()
	return t
}

// Reset forgets all that was taken.
func (t *Taken) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rendered, t.objects = map[string]bool{}, map[string]string{}
	t.files, t.routes, t.made = map[string]bool{}, map[string]map[Place]bool{}, map[string]map[manifest.Key]bool{}
	t.below, t.whole, t.plain, t.built = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
}

// file notes that a file was read.
func (t *Taken) file(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files[path] = true
}

// render notes that a chart with the file was rendered.
func (t *Taken) render(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rendered[path] = true
}

// build notes that a kustomization in the file was built.
func (t *Taken) build(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.built[path] = true
}

// object notes that a kustomization made objects of the file.
func (t *Taken) object(path, named string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects[path] = named
}

// makes notes that a route was made of the file.
func (t *Taken) makes(path string, key manifest.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made[path] == nil {
		t.made[path] = map[manifest.Key]bool{}
	}
	t.made[path][key] = true
}

// route notes that the set has a route of the file.
func (t *Taken) route(path string, at Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.routes[path] == nil {
		t.routes[path] = map[Place]bool{}
	}
	t.routes[path][at] = true
}

// Whole notes that the file is taken with all that it holds.
func (t *Taken) Whole(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.whole[path] = true
}

// asIs notes that the file was read as it is.
func (t *Taken) asIs(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plain[path] = true
}

// Below notes that all files below the folder are taken.
func (t *Taken) Below(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.below[path] = true
}

// Merge adds what another set took.
func (t *Taken) Merge(of *Taken) {
	of.mu.Lock()
	defer of.mu.Unlock()
	maps.Copy(t.files, of.files)
	maps.Copy(t.rendered, of.rendered)
	maps.Copy(t.objects, of.objects)
	maps.Copy(t.whole, of.whole)
	maps.Copy(t.plain, of.plain)
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

// Rendered reports whether a chart with the file was rendered.
func (t *Taken) Rendered(path string) bool { return t.rendered[path] }

// Objects returns the paths of the files that kustomizations made objects of.
func (t *Taken) Objects() []string { return slices.Sorted(maps.Values(t.objects)) }

// read reports whether a builder read the file.
func (t *Taken) read(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.files[path]
}

// Built reports whether the kustomization in the file was built.
func (t *Taken) Built(path string) bool { return t.built[path] }

// Excused reports whether a set is reported as not checked with the file.
func (t *Taken) Excused(path string) bool {
	return t.whole[path] || slices.ContainsFunc(Above(path), func(folder string) bool { return t.below[folder] })
}

// Plain reports whether the file was read as it is: a kustomization or a chart was not built then.
func (t *Taken) Plain(path string) bool { return t.plain[path] }

// Makes reports whether any route was made of the file.
func (t *Taken) Makes(path string) bool { return len(t.made[path]) > 0 }

// Made returns the files of which routes were made.
func (t *Taken) Made() []string { return slices.Collect(maps.Keys(t.made)) }

// Has reports whether the sets have the route that stands at the spot of the file, or one of its
// name that was made of the file. A template of the file may put in a part of its name or namespace.
func (t *Taken) Has(path string, at Place) bool {
	if t.routes[path][at] {
		return true
	}
	key := at.Key
	if !strings.Contains(key.Name+key.Namespace, "{{") {
		return t.made[path][key]
	}
	for made := range t.made[path] {
		if made.Kind == key.Kind && patternOf(key.Name).fills(made.Name) && patternOf(key.Namespace).fills(made.Namespace) {
			return true
		}
	}
	return false
}

// Above returns the folders that the path is in.
func Above(path string) (folders []string) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if folders = append(folders, at); filepath.Dir(at) == at {
			return folders
		}
	}
}
