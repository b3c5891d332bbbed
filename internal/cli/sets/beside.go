package sets

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// beside looks at the manifests of a folder that are deployed with those that are paths: the others, but for those in place of one, as files for
// several clusters are, and what is left aside. What a path declares is in place of what they do.
func (d *discovery) beside(folder string) {
	var paths []string
	if at := d.folders[folder]; at != nil {
		paths = at.files
	}
	routes := map[manifest.Key]bool{}
	for i := range d.holders {
		if h := &d.holders[i]; filepath.Dir(h.path) == folder && h.place == inSight {
			for _, at := range h.routes {
				routes[at.Key] = true
			}
		}
	}
	entries, _ := os.ReadDir(folder) // what can be read; another version may have it
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if entry.IsDir() || !source.IsManifest(path) || d.seen[path] || d.used[absolute(path)] {
			continue
		}
		if where, by := d.ignored(path, false); where != inSight && (where != ignoredByGit || !d.besides[folder]) {
			d.setAside(path, where, by)
			continue
		}
		if d.declares(path, routes) {
			d.AddOther(path)
			continue
		}
		skipped := len(d.Skipped)
		d.file(path)
		d.Skipped = slices.Concat(d.Skipped[:skipped], slices.DeleteFunc(d.Skipped[skipped:], func(s report.Skipped) bool { return !s.Hides }))
	}
	if at := d.folders[folder]; at != nil { // of two declarations, the last one counts
		at.files = slices.Concat(at.files[len(paths):], paths)
	}
}

// declares reports whether the file has one of the routes, as far as it can be read.
func (d *discovery) declares(path string, routes map[manifest.Key]bool) bool {
	data, err := d.read(path)
	if err != nil {
		return false // it is reported
	}
	h, _ := routesIn(d.namespace, path, yaml.UTF8(data))
	return slices.ContainsFunc(h.routes, func(at source.Place) bool { return routes[at.Key] })
}

// IsOther reports whether the file is in place of one that is a path.
func (f *Found) IsOther(path string) bool { return f.others[absolute(path)] != "" }

// AddOther has the file be one.
func (f *Found) AddOther(path string) {
	if f.others == nil {
		f.others = map[string]string{}
	}
	f.others[absolute(path)] = path
}

// Others is a note on the files in place of those that are paths; nil if there are none.
func (f *Found) Others() *report.Notice {
	if len(f.others) == 0 {
		return nil
	}
	files := slices.Sorted(maps.Values(f.others))
	more := ""
	if len(files) > 1 {
		more = ", with " + named(files[1:], "other file", "other files")
	}
	return &report.Notice{
		Path:    filepath.ToSlash(files[0]),
		Message: "left aside" + more + "; a PATH beside declares the same route, as files for several clusters do; to read all, name the directory, or name what is deployed together in sets of " + ProjectFile,
	}
}
