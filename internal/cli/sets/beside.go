package sets

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/rollout"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// beside looks at the manifests of a folder that are deployed with those that are paths: the others, but for those in place of one, as files for
// several clusters are, and what is left aside. What a path declares is in place of what they do.
func (d *discovery) beside(folder string) {
	named := map[manifest.Key][]declared{} // by their routes
	paths := 0
	if at := d.folders[folder]; at != nil {
		paths = len(at.files)
		for _, file := range at.files {
			all := d.declared(file)
			for key, route := range all {
				if route {
					named[key] = append(named[key], all)
				}
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
		if d.declared(path).isOther(named) {
			d.others[absolute(path)] = path
			continue
		}
		skipped := len(d.Skipped)
		d.file(path)
		d.Skipped = slices.Concat(d.Skipped[:skipped], slices.DeleteFunc(d.Skipped[skipped:], func(s report.Skipped) bool { return !s.Hides }))
	}
	if at := d.folders[folder]; at != nil { // of two declarations, the last one counts
		at.files = slices.Concat(at.files[paths:], at.files[:paths])
	}
}

// declared are the routes and the Services of a file, and which are routes.
type declared map[manifest.Key]bool

// declared returns those that can be read.
func (d *discovery) declared(path string) declared {
	data, err := d.read(path)
	if err != nil {
		return nil // it is reported
	}
	all := declared{}
	objects, _ := manifest.ReadUndecoded(path, yaml.UTF8(data), cmp.Or(d.namespace, "default"))
	for _, object := range objects {
		if route := rollout.HoldsRoute(object); route || object.Key.Kind == mesh.ServiceKind && object.Key.Group == "" {
			all[object.Key] = route
		}
	}
	return all
}

// isOther reports whether one of the others has one of the routes, and the most of each are in both.
func (d declared) isOther(others map[manifest.Key][]declared) bool {
	for key, route := range d {
		if route && slices.ContainsFunc(others[key], func(other declared) bool {
			shared := 0
			for key := range d {
				if _, is := other[key]; is {
					shared++
				}
			}
			return 2*shared > max(len(d), len(other))
		}) {
			return true
		}
	}
	return false
}

// IsOther reports whether the file is in place of one that is a path.
func (f *Found) IsOther(path string) bool { return f.others[absolute(path)] != "" }

// AddOther has the file be one.
func (f *Found) AddOther(path string) { f.others[absolute(path)] = path }

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
		Message: "left aside" + more + "; a PATH beside has most of the same routes and Services, as files for several clusters do; to read all, name the directory",
	}
}
