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
// several clusters are, and what is left aside. A path without routes that declares nothing of theirs is common to all of them. What a path
// declares is in place of what they do.
func (d *discovery) beside(folder string) {
	var paths, beside []string
	if at := d.folders[folder]; at != nil {
		paths = at.files
	}
	declares, theirs := map[string]map[manifest.Key]bool{}, map[manifest.Key]bool{}
	entries, _ := os.ReadDir(folder) // what can be read; another version may have it
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if entry.IsDir() || !source.IsManifest(path) || d.seen[path] || d.used[absolute(path)] != "" {
			continue
		}
		if where, by := d.ignored(path, false); where != inSight && (where != ignoredByGit || !d.besides[folder]) {
			d.setAside(path, where, by)
			continue
		}
		beside, declares[path] = append(beside, path), d.declared(path)
		for key := range declares[path] {
			theirs[key] = true
		}
	}
	routes, common := map[manifest.Key]bool{}, false
	for _, path := range paths {
		alone := true
		for key, route := range d.declared(path) {
			routes[key], alone = routes[key] || route, alone && !route && !theirs[key]
		}
		common = common || alone
	}
	for _, path := range beside {
		if !common && slices.ContainsFunc(slices.Collect(maps.Keys(declares[path])), func(key manifest.Key) bool { return routes[key] }) {
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

// declared returns the routes and Services in the file, as far as it can be read, and which are routes.
func (d *discovery) declared(path string) map[manifest.Key]bool {
	data, err := d.read(path)
	if err != nil {
		return nil // it is reported
	}
	keys := map[manifest.Key]bool{}
	objects, _ := manifest.ReadUndecoded(path, yaml.UTF8(data), cmp.Or(d.namespace, "default"))
	for _, object := range objects {
		if route := rollout.HoldsRoute(object); route || object.Key.Kind == mesh.ServiceKind {
			keys[object.Key] = route
		}
	}
	return keys
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
