package sets

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// sets returns the sets that read files at or below the paths, by path.
func (d *discovery) sets(paths []string) []Set {
	var sets []Set
	managed := map[string]bool{} // the folders of kustomizations
	for i := range d.kustomizations {
		managed[d.kustomizations[i].at] = true
	}
	for _, k := range d.roots() {
		set := Set{Kind: report.Kustomization, Path: k.folder, Kustomization: k.folder, Within: d.disk.Files, Outside: k.outside}
		if !k.outside || set.uses(paths) {
			sets = append(sets, set)
		}
	}
	for _, chart := range d.charts {
		values := d.valuesOf(chart)
		sets = append(sets, Set{Kind: report.Chart, Path: chart, Chart: &source.Chart{Path: chart}, Others: len(values) > 0})
		for _, file := range values {
			sets = append(sets, Set{Kind: report.Chart, Path: chart, Values: file, Chart: &source.Chart{Path: chart, Values: []string{file}}})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.besides)) {
		if !managed[absolute(path)] {
			d.beside(path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.folders)) {
		if managed[absolute(path)] { // a kustomization says what of it is used
			continue
		}
		switch set := d.plain(path); {
		case len(set.Files) > 0 && d.folders[path].routes:
			sets = append(sets, set)
		case len(set.Files)+len(set.Lent) > 0:
			d.Bare = append(d.Bare, set)
		}
	}
	slices.SortStableFunc(sets, func(a, b Set) int { return cmp.Compare(a.Path, b.Path) })
	return sets
}

// maxValues is how many values files a chart is rendered with.
const maxValues = 100

// valuesOf returns the files that override the values of a chart: each in its folder ci, and those beside its values.yaml. Of more
// than maxValues the others are left aside.
func (d *discovery) valuesOf(chart string) []string {
	files := d.ownValues(slices.Concat(valuesBeside(d.disk.Files, chart), valuesIn(d.disk.Files, filepath.Join(chart, "ci"))))
	if len(files) > maxValues {
		d.hidden(chart, fmt.Sprintf("rendered with the first %d of its %d values files; name others in sets of %s", maxValues, len(files), ProjectFile))
		files = files[:maxValues]
	}
	return files
}

// valuesBeside returns the files values-*.yaml and values.*.yaml, or .yml, beside the values.yaml of a chart.
func valuesBeside(files *repository.Files, chart string) []string {
	return slices.DeleteFunc(valuesIn(files, chart), func(path string) bool {
		name := filepath.Base(path)
		return !strings.HasPrefix(name, "values-") && (!strings.HasPrefix(name, "values.") || strings.Count(name, ".") == 1)
	})
}

// valuesIn returns the files in a folder that may be values.
func valuesIn(files *repository.Files, at string) (found []string) {
	folder, isFolder, err := files.Resolve(at)
	if err != nil || !isFolder {
		return nil // there is none
	}
	entries, _ := os.ReadDir(folder) // what can be read
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); (ext == ".yaml" || ext == ".yml") && !entry.IsDir() {
			found = append(found, filepath.Join(at, entry.Name()))
		}
	}
	return found
}

// ownValues returns the values files without those that a pattern of ours leaves aside, and notes these.
func (d *discovery) ownValues(files []string) []string {
	return slices.DeleteFunc(files, func(path string) bool {
		by, own := d.matchOwn(d.ignoresOf(filepath.Dir(path)), path, false)
		if own {
			d.leaveValues(path, by)
		}
		return own
	})
}

// unusedValues finds the values files beside a chart of the named sets that none of all sets uses: those of an environment that was forgotten.
func (d *discovery) unusedValues() {
	used, charts := map[string]bool{}, map[string]bool{}
	for _, set := range slices.Concat(d.Sets, d.Elsewhere) {
		if set.Chart != nil {
			for _, file := range set.Chart.Values {
				used[absolute(file)] = true
			}
		}
	}
	for i := range d.Sets {
		set := &d.Sets[i]
		if set.Chart == nil || charts[set.Path] {
			continue
		}
		charts[set.Path] = true
		files := slices.DeleteFunc(valuesBeside(d.disk.Files, set.Path), func(path string) bool { return used[absolute(path)] })
		for _, path := range d.ownValues(files) {
			d.holders = append(d.holders, holder{path: path, place: inSight, values: true})
		}
	}
}

// roots returns the kustomizations to build, so that all are built but components that none uses: those that no
// other one uses or that are deployed beside those that do, and one of those that use each other.
func (d *discovery) roots() (roots []*kustomization) {
	at, users, reached := map[string]*kustomization{}, map[string][]*kustomization{}, map[string]bool{}
	for i := range d.kustomizations {
		k := &d.kustomizations[i]
		at[k.at] = k
		for _, base := range k.bases {
			users[base] = append(users[base], k)
		}
	}
	reach := func(root *kustomization) {
		for left := []string{root.at}; len(left) > 0; {
			k := at[left[0]]
			if left = left[1:]; k == nil || reached[k.at] {
				continue
			}
			reached[k.at] = true
			left = append(left, k.bases...)
			for _, file := range k.files {
				if Below(file, k.at) { // kustomize refuses any other
					d.used[file] = root.folder
				}
			}
		}
	}
	add := func(k *kustomization) {
		roots = append(roots, k)
		reach(k)
	}
	for i := range d.kustomizations {
		if k := &d.kustomizations[i]; !k.component && k.isDeployed(users[k.at], at) {
			add(k)
		}
	}
	for i := range d.kustomizations {
		if k := &d.kustomizations[i]; !k.component && !reached[k.at] {
			add(k)
		}
	}
	return roots
}

// isDeployed reports whether no other kustomization uses this one, or it is an overlay that is probably deployed beside each of those that do: they give its objects another
// namespace, or they are beside it, as overlays/production-eu is beside overlays/production, and what it is built on is not. At are all, by their
// absolute paths.
func (k *kustomization) isDeployed(users []*kustomization, at map[string]*kustomization) bool {
	isBase := func(base string) bool { return at[base] != nil && !at[base].component && !Below(base, k.at) }
	isBaseApart := func(base string) bool { return isBase(base) && filepath.Dir(base) != filepath.Dir(k.at) }
	for _, user := range users {
		switch elsewhere := k.namespace != "" && user.namespace != "" && user.namespace != k.namespace; {
		case user.component:
			return false
		case elsewhere && slices.ContainsFunc(k.bases, isBase):
		case filepath.Dir(user.at) == filepath.Dir(k.at) && slices.ContainsFunc(k.bases, isBaseApart):
		default:
			return false
		}
	}
	return true
}

// around finds the kustomizations that are in the repositories of the paths, but not below the paths: a path stands for those that use it, too.
func (d *discovery) around(root string, paths []string) {
	all, known := newDiscovery(d.ctx, d.disk, d.namespace, d.project), map[string]bool{}
	for i := range d.kustomizations {
		known[d.kustomizations[i].at] = true
	}
	for _, path := range paths {
		root := repository.RootOf(root, path)
		if absolute(path) == root {
			continue
		}
		found := len(all.kustomizations)
		_ = filepath.WalkDir(root, func(at string, entry fs.DirEntry, err error) error {
			switch {
			case cmp.Or(d.ctx.Err(), all.err) != nil:
				return filepath.SkipAll
			case err != nil, !entry.IsDir():
				return nil //nolint:nilerr // what can be read
			case at != root:
				if where, _ := all.ignored(at, true); where != inSight {
					return filepath.SkipDir
				}
			}
			return all.folder(at)
		})
		for _, k := range all.kustomizations[found:] {
			if known[k.at] {
				continue
			}
			if k.outside = true; !filepath.IsAbs(path) {
				k.folder = relative(k.folder)
			}
			d.kustomizations = append(d.kustomizations, k)
		}
	}
	maps.Copy(d.named, all.named)
	d.err = cmp.Or(d.err, all.err)
}

// plain returns the set of a folder's manifests, without those that kustomizations use, and those
// beyond what is read of a set.
func (d *discovery) plain(path string) Set {
	set := Set{Kind: report.Directory, Path: path, Lent: map[string][]string{}}
	size, at := 0, absolute(path)
	for _, file := range d.folders[path].files {
		user := d.used[filepath.Join(at, filepath.Base(file))]
		switch more := d.folders[path].sizes[file]; {
		case user != "":
			set.Lent[user] = append(set.Lent[user], file)
		case size+more <= source.MaxInput:
			size += more
			set.Files = append(set.Files, file)
		case d.folders[path].routes:
			d.hidden(file, fmt.Sprintf("not checked: the manifests of its directory have more than %d MiB, or %d million values", source.MaxInput>>20, source.MaxValues))
		}
	}
	return set
}

// apartAt returns the paths, if they are in several directories of manifests that no path holds.
func (d *discovery) apartAt(paths []string) []string {
	if len(paths) < 2 {
		return nil
	}
	directories := 0
	for _, set := range slices.Concat(d.Sets, d.Bare) {
		if set.Kind == report.Directory {
			directories++
		}
	}
	if directories < 2 || slices.ContainsFunc(paths, func(path string) bool {
		return slices.ContainsFunc(paths, func(other string) bool { return other != path && Below(path, other) })
	}) {
		return nil
	}
	return paths
}
