package source

import (
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Use is how a kustomization uses a file.
type Use int

const (
	// namedBy is a file that is no object: a patch, or data.
	namedBy Use = iota
	// ObjectOf is a file of objects.
	ObjectOf
	// kustomizationOf is the file of a kustomization that is built.
	kustomizationOf
)

// EachUse calls the functions with the folders and the files that the kustomization in the file names.
func EachUse(file string, data []byte, below func(folder string), uses func(path string, as Use)) {
	root, err := Kustomization(data)
	if err != nil {
		return
	}
	folder := build.Real(filepath.Dir(file)) // as kustomize does, before paths in it are followed
	build.EachPath(root, func(field, name string) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir() && build.IsBase(field):
			below(path)
		case !info.IsDir() && build.IsBase(field):
			uses(path, ObjectOf)
		case !info.IsDir():
			uses(path, namedBy)
		}
	})
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
