package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// leftOut returns the name that a set of the version before has in the version after if all its files are still there, and
// the project of that version leaves it out. It is empty for a set that was removed, and for one whose files another set has.
// At returns where a path of the version after is in the one before.
func (f *Found) leftOut(set *sets.Set, at func(string) (string, error)) (name string, err error) {
	if f.Project == nil || len(f.Project.Sets) == 0 {
		return "", nil
	}
	root, err := at(f.Path)
	if err != nil {
		return "", err
	}
	here := func(paths ...string) (moved []string) {
		for _, path := range paths {
			absolute, failed := filepath.Abs(path)
			within, outside := filepath.Rel(root, absolute)
			err = errors.Join(err, failed, outside)
			moved = append(moved, filepath.Join(f.Path, within))
		}
		return moved
	}
	now := *set
	now.Path = here(set.Path)[0]
	files := []string{now.File()}
	switch {
	case set.Chart != nil:
		values := here(set.Chart.Values...)
		files = append(files, values...)
		now.Values = strings.Join(values, ", ")
	case set.Kustomization == "":
		files = here(set.Files...)
		if set.Named {
			now.Path = strings.Join(files, ", ")
		}
	}
	if err != nil {
		return "", err
	}
	for _, file := range files {
		info, err := os.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", err
		case info.IsDir() && now.File() != "": // without a kustomization
			return "", nil
		}
		if f.uses(file) {
			return "", nil
		}
	}
	return nameOf(&now), nil
}

// uses reports whether a kustomization or a folder of the sets has the file, or, of a folder, a part of it.
func (f *Found) uses(file string) bool {
	below := func(path, folder string) bool {
		within, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(within)
	}
	return slices.ContainsFunc(f.Sets, func(set sets.Set) bool {
		if set.Kustomization != "" {
			for path := range source.Uses(set.Within.Read, set.Kustomization) {
				if filepath.Clean(path) == filepath.Clean(file) {
					return true
				}
			}
		}
		return slices.ContainsFunc(set.Files, func(path string) bool { return below(file, path) || below(path, file) })
	})
}
