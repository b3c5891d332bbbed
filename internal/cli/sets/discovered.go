package sets

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// sets returns the sets, by path.
func (d *discovery) sets() []Set {
	var sets []Set
	managed := map[string]bool{} // the folders of kustomizations
	for i := range d.kustomizations {
		managed[d.kustomizations[i].folder] = true
	}
	for _, folder := range d.roots() {
		sets = append(sets, Set{Kind: report.Kustomization, Path: folder, Kustomization: folder})
	}
	for _, chart := range d.charts {
		sets = append(sets, Set{Kind: report.Chart, Path: chart, Chart: &source.Chart{Path: chart}})
		var entries []os.DirEntry
		if folder, isFolder, err := d.disk.Files.Resolve(filepath.Join(chart, "ci")); err == nil && isFolder {
			entries, _ = os.ReadDir(folder) // there may be none
		}
		for _, entry := range entries {
			if file := filepath.Join(chart, "ci", entry.Name()); filepath.Ext(file) == ".yaml" {
				sets = append(sets, Set{Kind: report.Chart, Path: chart, Values: file, Chart: &source.Chart{Path: chart, Values: []string{file}}})
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.folders)) {
		if set := d.plain(path, managed[path]); set != nil {
			sets = append(sets, *set)
		}
	}
	slices.SortStableFunc(sets, func(a, b Set) int { return cmp.Compare(a.Path, b.Path) })
	return sets
}

// roots returns the kustomizations to build, so that all are built but components that none uses: those that no
// other one uses, and one of those that use each other.
func (d *discovery) roots() (roots []string) {
	at, based, reached := map[string]*kustomization{}, map[string]bool{}, map[string]bool{}
	for i := range d.kustomizations {
		k := &d.kustomizations[i]
		at[k.folder] = k
		for _, base := range k.bases {
			based[base] = true
		}
	}
	reach := func(folder string) {
		for left := []string{folder}; len(left) > 0; {
			k := at[left[0]]
			if left = left[1:]; k == nil || reached[k.folder] {
				continue
			}
			reached[k.folder] = true
			left = append(left, k.bases...)
			for _, file := range k.files {
				d.used[file] = true
			}
		}
	}
	for _, used := range []bool{false, true} {
		for i := range d.kustomizations {
			if k := &d.kustomizations[i]; !k.component && !reached[k.folder] && (used || !based[k.folder]) {
				roots = append(roots, k.folder)
				reach(k.folder)
			}
		}
	}
	return roots
}

// plain returns the set of a folder's manifests, without those that kustomizations use, and those
// beyond what is read of a set; nil if no route is among them, or a kustomization says what of the folder is used.
func (d *discovery) plain(path string, managed bool) *Set {
	files := slices.DeleteFunc(d.folders[path].files, func(file string) bool { return d.used[file] })
	if len(files) == 0 || !d.folders[path].routes || managed {
		return nil
	}
	size := 0
	files = slices.DeleteFunc(files, func(file string) bool {
		if size+d.folders[path].sizes[file] > source.MaxInput {
			d.hidden(file, fmt.Sprintf("not checked: the manifests of its folder have more than %d MiB, or %d million values", source.MaxInput>>20, source.MaxValues))
			return true
		}
		size += d.folders[path].sizes[file]
		return false
	})
	return &Set{Kind: report.Folder, Path: path, Files: files}
}
