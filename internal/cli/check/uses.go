package check

import (
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// use is how a kustomization uses a file.
type use int

const (
	// namedBy is a file that is no object: a patch, or data.
	namedBy use = iota
	// objectOf is a file of objects.
	objectOf
	// kustomizationOf is the file of a kustomization that is built.
	kustomizationOf
)

// eachUse calls the functions with the folders and the files that the kustomization in the file names.
func eachUse(file string, data []byte, below func(folder string), uses func(path string, as use)) {
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

// uses returns the files that a kustomization uses, and those that the kustomizations below it do.
func uses(read func(string) ([]byte, error), folder string) map[string]use {
	used := map[string]use{}
	var visit func(folder string)
	visit = func(folder string) {
		file := kustomizationFile(folder)
		if used[file] == kustomizationOf || file == folder {
			return
		}
		used[file] = kustomizationOf
		if data, err := read(file); err == nil {
			eachUse(file, data, visit, func(path string, as use) { used[path] = max(used[path], as) })
		}
	}
	visit(filepath.Clean(folder))
	return used
}
