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
	// objectOf is a file of objects.
	objectOf
	// kustomizationOf is the file of a kustomization that is built.
	kustomizationOf
)

// EachUse calls the functions with the folders and the files that the kustomization in the file names.
func EachUse(file string, data []byte, below func(folder string), uses func(path string, as Use)) {
	var root yaml.Node
	if yaml.Unmarshal(data, &root) != nil {
		return
	}
	build.EachPath(&root, func(field, name string) {
		path := filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir() && build.IsBase(field):
			below(path)
		case !info.IsDir() && build.IsBase(field):
			uses(path, objectOf)
		case !info.IsDir():
			uses(path, namedBy)
		}
	})
}

// Uses returns the files that a kustomization uses, and those that the kustomizations below it do.
func Uses(read func(string) ([]byte, error), folder string) map[string]Use {
	used := map[string]Use{}
	var visit func(folder string)
	visit = func(folder string) {
		file := KustomizationFile(folder)
		if used[file] == kustomizationOf || file == folder {
			return
		}
		used[file] = kustomizationOf
		if data, err := read(file); err == nil {
			EachUse(file, data, visit, func(path string, as Use) { used[path] = max(used[path], as) })
		}
	}
	visit(filepath.Clean(folder))
	return used
}
