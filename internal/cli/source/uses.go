package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Use is how a kustomization uses a file.
type Use int

const (
	// namedBy is a file that is no object: a patch, or data.
	namedBy Use = iota
	// configurationOf is a file of the kustomization's field configurations.
	configurationOf
	// ObjectOf is a file of objects.
	ObjectOf
	// kustomizationOf is the file of a kustomization that is built.
	kustomizationOf
)

// EachUse calls the functions with the folders and the files that the kustomization in the file names.
func EachUse(file string, data []byte, below func(folder string), uses func(path string, as Use)) {
	folder := build.Real(filepath.Dir(file))      // as kustomize does, before paths in it are followed
	_ = EachPath(data, func(field, name string) { // what is wrong is said where it is built
		path := filepath.Join(folder, filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir() && build.IsBase(field):
			below(path)
		case !info.IsDir() && build.IsBase(field):
			uses(path, ObjectOf)
		case !info.IsDir() && field == "configurations":
			uses(path, configurationOf)
		case !info.IsDir():
			uses(path, namedBy)
		}
	})
}

// word is what may be a path in a text that is no YAML, and maxWords how many are looked at.
var word = regexp.MustCompile("[^\\s\"'`,:\\[\\]{}]+")

const maxWords = 10_000

// EachPath calls the function with each path that a kustomization names, and its field in lower case. In one that is no YAML, of which the
// error says why, each word may be one of resources.
func EachPath(data []byte, visit func(field, path string)) error {
	root, err := Kustomization(data)
	if err != nil {
		for _, path := range word.FindAll(data, maxWords) {
			visit("resources", string(path))
		}
		return err
	}
	build.EachPath(root, visit)
	return nil
}

// Kustomization returns a kustomization as kustomize reads it: what a merge key gives and another field
// overrides is not in it. One that is not valid is returned as it is written.
func Kustomization(data []byte) (*yaml.Node, error) {
	if text, err := yaml.ToJSON(data); err == nil {
		data = text
	}
	root := &yaml.Node{}
	return root, yaml.Unmarshal(data, root)
}

// KindOf reports whether a kustomization is a component, which is built by those that use it alone, and returns the namespace that it gives its objects;
// empty for none.
func KindOf(kustomization []byte) (component bool, namespace string) {
	var it struct{ Kind, Namespace string }
	if text, err := yaml.ToJSON(kustomization); err == nil {
		_ = json.Unmarshal(text, &it) // as kustomize does, without regard to case
	}
	return it.Kind == "Component", it.Namespace
}

// Uses returns the files that a kustomization uses, and those that the kustomizations below it do.
func Uses(read func(string) ([]byte, error), folder string) map[string]Use {
	used, seen := map[string]Use{}, map[string]bool{}
	var visit func(folder string)
	visit = func(folder string) {
		file := build.KustomizationFile(folder)
		at := build.Real(file)
		if seen[at] || file == folder {
			return
		}
		seen[at] = true
		used[file] = kustomizationOf
		if data, err := read(file); err == nil {
			EachUse(file, data, visit, func(path string, as Use) { used[path] = max(used[path], as) })
		}
	}
	visit(filepath.Clean(folder))
	return used
}
