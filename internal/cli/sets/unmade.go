package sets

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// unmade finds the kustomizations and charts that may make routes, and of which no set has them.
type unmade struct {
	disk      *source.Disk
	namespace string
	taken     *source.Taken
	// projected is set if a project names the sets.
	projected bool
	// holds are the files that may hold routes, and the folders that they are in; made are the folders, without links, of
	// files of which routes were made.
	holds, made map[string]bool
	// reported are the folders of files that are reported.
	reported map[string]bool
	// users are the folders of the kustomizations that use one, by its folder. may are those that may make routes.
	users       map[string][]string
	may, looked map[string]bool
	// misnamed are the files of those that kustomize does not find, by their folders.
	misnamed map[string]string
	// files says of a file, by its path without links, whether it may hold routes.
	files   map[string]bool
	remotes *build.Remotes
	// versions says of a chart whether it, or one in it, has a version of the Gateway API.
	versions map[string]bool
	// size is how much was read of charts, in bytes.
	size int
}

// unmade returns the kustomizations and charts that no set has read and that may make routes, and the other charts; but no
// chart for a template that is reported.
func (f *Found) unmade(ctx context.Context, all *source.Taken, reported []report.Skipped, declared map[ignorePattern][]string) (skipped []report.Skipped, charts []string) {
	u := &unmade{
		disk: f.disk, namespace: f.namespace, taken: all, projected: f.projected(), holds: map[string]bool{}, made: map[string]bool{}, reported: map[string]bool{}, users: map[string][]string{},
		may: map[string]bool{}, looked: map[string]bool{}, misnamed: map[string]string{}, files: map[string]bool{}, versions: map[string]bool{}, remotes: build.NewRemotes(f.disk.Read),
	}
	for i := range reported {
		for _, folder := range source.Above(filepath.FromSlash(reported[i].Path)) {
			u.reported[folder] = true
		}
	}
	for i := range f.holders {
		u.holds[f.holders[i].path] = true
		for _, folder := range source.Above(f.holders[i].path) {
			u.holds[folder] = true
		}
	}
	for _, path := range all.Made() {
		for _, folder := range source.Above(path) {
			u.made[folder] = true
		}
	}
	for i := range f.makers {
		if m := &f.makers[i]; m.misnamed {
			u.misnamed[build.Real(m.folder)] = filepath.Base(m.file)
		}
	}
	for i := range f.makers {
		if m := &f.makers[i]; filepath.Base(m.file) != source.ChartFile {
			u.look(ctx, build.Real(m.folder))
		}
	}
	for i := range f.makers {
		m := &f.makers[i]
		if ctx.Err() != nil {
			break
		}
		if all.Excused(f.disk.Resolved(m.file)) {
			continue
		}
		var left *report.Skipped
		var note bool
		if filepath.Base(m.file) == source.ChartFile {
			left, note = u.chart(m)
		} else {
			left = u.kustomization(m)
		}
		switch {
		case note:
			charts = append(charts, filepath.ToSlash(m.folder))
		case left != nil && m.place == leftAside:
			declared[m.by] = append(declared[m.by], m.file)
		case left != nil:
			left.Path = cmp.Or(left.Path, filepath.ToSlash(m.folder))
			skipped = append(skipped, *left)
		}
	}
	return skipped, charts
}

// chart returns why a chart is not checked, if it may make routes, or whether it is to be noted.
func (u *unmade) chart(m *maker) (left *report.Skipped, note bool) {
	names, makes := u.templates(m.folder)
	if u.taken.Rendered(u.disk.Resolved(m.file)) {
		made := slices.ContainsFunc(templateFolders, func(name string) bool {
			return u.made[u.disk.Resolved(filepath.Join(m.folder, name))]
		})
		if !makes || made || u.reported[m.folder] || isLibrary(u.disk, m.file) {
			return nil, false
		}
		return &report.Skipped{Reason: "a chart with templates that may make routes, and of which no set has made one; " + addValues("one", u.projected) + ", or list in " + source.GuardIgnore, Hides: true}, false
	}
	switch {
	case m.place == leftAside && u.holds[m.folder]: // its files are named
		return nil, false
	case u.holds[m.folder], names:
		return &report.Skipped{Reason: "a chart that may make routes" + u.unhad(m, "chart"), Hides: true}, false
	}
	return nil, true
}

// unhad says that no set has one, or that one reads its files as they are, and what to do about one of which no set has anything, and that no
// other one uses.
func (u *unmade) unhad(m *maker, field string) string {
	const none = ", and that no set has"
	if u.taken.Plain(u.disk.Resolved(m.file)) {
		return ", and that files in sets of " + ProjectFile + " read as plain files; name it there as " + field
	}
	if !u.projected || m.place != inSight || len(u.users[build.Real(m.folder)]) > 0 {
		return none
	}
	return none + "; " + addSet + ", or list in " + source.GuardIgnore
}

// isLibrary reports whether the chart is one of which Helm makes no objects.
func isLibrary(disk *source.Disk, file string) bool {
	data, err := disk.Read(file)
	var chart struct{ Type string }
	return err == nil && yaml.Unmarshal(data, &chart) == nil && chart.Type == "library"
}

// templateFolders are the folders of a chart that Helm makes objects of.
var templateFolders = []string{"crds", "templates"}

// templates reports whether the templates or the values of a chart have the name of the Gateway API's group, and whether
// its templates, together, look like those of a route or of a Canary with one. What cannot be read may be.
func (u *unmade) templates(folder string) (names, makes bool) {
	version, kind, canary, unknown := false, false, false, false
	read := func(path string) {
		data, err := u.disk.Read(path)
		u.size += len(data)
		unknown = unknown || err != nil || u.size > maxLookedSize
		data = yaml.UTF8(data)
		names = names || bytes.Contains(data, []byte(mesh.GatewayGroup))
		version, kind = version || hasVersion(data), kind || hasRouteKind(data)
		canary = canary || hasCanary(data)
	}
	for _, name := range templateFolders {
		root, is, err := u.disk.Files.Resolve(filepath.Join(folder, name))
		if err != nil || !is {
			continue // there is none, or the chart is refused
		}
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				unknown = true
			case unknown:
				return filepath.SkipAll
			case entry.Name() == "NOTES.txt", entry.IsDir():
			case entry.Type()&fs.ModeSymlink != 0 && isFolder(path):
				unknown = true
			default:
				read(path)
			}
			return nil
		})
	}
	if kind && !version { // a chart around it may define that
		version = u.versionAround(folder)
	}
	makes = version && kind || canary || unknown
	if values := filepath.Join(folder, "values.yaml"); !names && source.IsFile(values) {
		read(values)
	}
	return names || unknown, makes
}

// versionAround reports whether the templates of a chart around the chart in the folder, or of one in that, have a version
// of the Gateway API: the names of templates are those of all.
func (u *unmade) versionAround(folder string) bool {
	outer := folder
	for filepath.Base(filepath.Dir(outer)) == "charts" && source.IsChart(filepath.Dir(filepath.Dir(outer))) {
		outer = filepath.Dir(filepath.Dir(outer))
	}
	if has, known := u.versions[outer]; known || outer == folder {
		return has
	}
	has := false
	_ = filepath.WalkDir(outer, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || has || u.size > maxLookedSize:
			return filepath.SkipAll // of what cannot be read, the chart itself says so
		case entry.Type().IsRegular():
			data, err := u.disk.Read(path)
			u.size += len(data)
			has = err == nil && hasVersion(yaml.UTF8(data))
		}
		return nil
	})
	u.versions[outer] = has
	return has
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// misnamed is why a kustomization is not built, if it is one.
const misnamed = "a kustomization under a name that kustomize does not read; rename it to kustomization.yaml, or list in " + source.GuardIgnore

// kustomization returns why a kustomization is not checked, if it may make routes.
func (u *unmade) kustomization(m *maker) *report.Skipped {
	switch {
	case m.misnamed:
		return &report.Skipped{Path: filepath.ToSlash(m.file), Reason: misnamed, Hides: u.may[build.Real(m.folder)]}
	case u.taken.Built(u.disk.Resolved(m.file)):
		return nil
	case m.component && m.place == inSight: // what it holds is not used, and among the holders
		return &report.Skipped{Reason: "a kustomize component that no checked kustomization uses"}
	}
	folder := build.Real(m.folder)
	if !u.may[folder] && m.place == inSight { // else it is one of dependencies
		if remote := u.remotes.Find(m.folder); remote != nil {
			u.mark(folder)
			u.mark(build.Real(filepath.Dir(remote.File)))
		}
	}
	if !u.may[folder] {
		return nil
	}
	return &report.Skipped{Reason: "a kustomization that may make or change routes" + u.unhad(m, "kustomization"), Hides: true}
}

// look looks at the kustomization in the folder, a path without links, and those below it, each once.
func (u *unmade) look(ctx context.Context, folder string) {
	for left := []string{folder}; len(left) > 0 && ctx.Err() == nil; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if u.looked[at] {
			continue
		}
		u.looked[at] = true
		file := build.KustomizationFile(at)
		if file == at {
			if file = filepath.Join(at, u.misnamed[at]); file == at {
				continue
			}
		}
		data, err := u.disk.Read(file)
		may := err != nil || u.holds[file] || mayName(yaml.UTF8(data)) || strings.Contains(string(data), "Route")
		replaces := bytes.Contains(bytes.ToLower(data), []byte("replacements"))
		var below []string
		source.EachUse(file, data, func(folder string) { below = append(below, build.Real(folder)) }, func(path string, as source.Use) {
			may = may || u.mayHold(path) || (as != source.ObjectOf || replaces) && u.mayChange(path)
		})
		left = append(left, below...)
		for _, folder := range below {
			u.users[folder] = append(u.users[folder], at)
		}
		if may || slices.ContainsFunc(below, func(folder string) bool { return u.may[folder] }) {
			u.mark(at)
		}
	}
}

// mark notes that the kustomization in the folder may make routes, and so may those that use it.
func (u *unmade) mark(folder string) {
	for left := []string{folder}; len(left) > 0; {
		at := left[len(left)-1]
		if left = left[:len(left)-1]; !u.may[at] {
			u.may[at] = true
			left = append(left, u.users[at]...)
		}
	}
}

// mayChange reports whether what the file says of objects may make one a route.
func (u *unmade) mayChange(path string) bool {
	data, err := u.disk.Read(path)
	data = yaml.UTF8(data)
	return err != nil || mayName(data) || hasRouteKind(data)
}

// mayHold reports whether the file may hold routes, whatever its name.
func (u *unmade) mayHold(path string) bool {
	if u.holds[path] {
		return true
	}
	path = u.disk.Resolved(path)
	may, known := u.files[path]
	if !known {
		data, err := u.disk.Read(path)
		_, may = routesIn(u.namespace, path, yaml.UTF8(data))
		may = may || err != nil
		u.files[path] = may
	}
	return may
}
