package check

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/check/repository"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/yaml"
)

// discover finds what is deployed together below the paths, each a set: every
// kustomization that no other one uses, every Helm chart, with its default values and
// with each values file in its folder ci, and the manifests of every other folder. It
// passes over hidden folders, node_modules, vendor, and what .gitignore and
// .gammaguardignore name, and what the project ignores, if there is one. It also returns
// what it left aside.
func discover(options *Options, paths []string, project *Project) (sets []Set, skipped []report.Skipped, err error) {
	d := &discovery{readFile: options.read, files: options.files, project: project, ignores: map[string]*ignores{}, seen: map[string]bool{}, used: map[string]bool{}, folders: map[string]*folder{}}
	for _, path := range paths {
		if err := d.walk(path); err != nil {
			return nil, nil, err
		}
	}
	return d.sets(), d.skipped, nil
}

// discovery is one search for sets.
type discovery struct {
	readFile func(path string) ([]byte, error)
	files    *repository.Files
	project  *Project // may be nil
	ignores  map[string]*ignores
	// patterns counts those in ignores.
	patterns int
	// charts are the folders with a Chart.yaml; kustomizations are those with a
	// kustomization, by whether it is a component.
	charts         []string
	kustomizations []kustomization
	folders        map[string]*folder
	// seen are the folders that were looked at: paths may overlap.
	seen map[string]bool
	// used are the files and folders that kustomizations name.
	used    map[string]bool
	skipped []report.Skipped
	// looked counts what was looked at though git ignores it, and linked the bytes that were read by
	// way of links.
	looked, linked int
}

// maxLinked is how much is read by way of links, in bytes: many links to a large file make a
// repository no larger.
const maxLinked = 64 << 20

// errLinked is why a link is not followed.
var errLinked = fmt.Errorf("it is a link, and there are more than %d MiB behind links", maxLinked>>20)

// read reads a file, unless it is a link and enough was read by way of links.
func (d *discovery) read(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return d.readFile(path)
	}
	if d.linked > maxLinked {
		return nil, errLinked
	}
	data, err := d.readFile(path)
	d.linked += len(data)
	return data, err
}

type kustomization struct {
	folder    string
	component bool
}

// folder is a folder of manifests.
type folder struct {
	files []string
	// sizes are those of the files, in bytes.
	sizes map[string]int
	// routes is set if one of them may hold a route.
	routes bool
}

// PassedOver reports whether discover never looks into a folder of that name: a hidden one,
// or one of dependencies.
func PassedOver(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

func (d *discovery) walk(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			d.skip(path, "cannot be read: "+err.Error())
			return nil //nolint:nilerr // the others are judged all the same
		case path != root && d.ignored(path, entry):
			d.lookForHidden(path, entry)
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case entry.IsDir():
			return d.folder(path)
		case path == root || slices.Contains(manifestEndings, filepath.Ext(path)):
			d.file(filepath.Clean(path))
		}
		return nil
	})
}

// ignored reports whether a file or folder is not to be looked at.
func (d *discovery) ignored(path string, entry fs.DirEntry) bool {
	if entry.IsDir() && PassedOver(entry.Name()) {
		return true
	}
	return d.ignoresOf(filepath.Dir(path)).match(path, entry.IsDir())
}

// folder looks at a folder: that of a chart is a set as a whole.
func (d *discovery) folder(path string) error {
	path = filepath.Clean(path)
	if d.seen[path] {
		return filepath.SkipDir
	}
	d.seen[path] = true
	if isChart(path) {
		d.charts = append(d.charts, path)
		return filepath.SkipDir
	}
	file := kustomizationFile(path)
	if file == path {
		return nil
	}
	data, err := d.read(file)
	var root yaml.Node
	if err == nil {
		err = yaml.Unmarshal(data, &root)
	}
	if err != nil { // kustomize says what is wrong
		d.kustomizations = append(d.kustomizations, kustomization{folder: path})
		return nil //nolint:nilerr // where the set is built
	}
	var kind struct {
		Kind string `yaml:"kind"`
	}
	_ = root.Decode(&kind) // it has none, then
	d.kustomizations = append(d.kustomizations, kustomization{path, kind.Kind == "Component"})
	d.uses(path, &root)
	return nil
}

// uses notes the files and folders that a kustomization names, in whatever field.
func (d *discovery) uses(folder string, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.Value != "" && !strings.Contains(node.Value, "\n") {
		path := filepath.Join(folder, filepath.FromSlash(node.Value))
		if path != filepath.Clean(folder) && d.files.Inside(path) {
			if _, err := os.Stat(path); err == nil {
				d.used[path] = true
			}
		}
	}
	for _, child := range node.Content {
		d.uses(folder, child)
	}
}

// file looks at a file that may be a manifest.
func (d *discovery) file(path string) {
	if name := filepath.Base(path); name == ProjectFile || slices.Contains(konfig.RecognizedKustomizationFileNames(), name) {
		return
	}
	at := filepath.Dir(path)
	data, err := d.read(path)
	if err != nil {
		d.hidden(path, "cannot be read: "+err.Error())
		return
	}
	size := size(data)
	data = yaml.UTF8(data)
	if !looksLikeManifest(data) {
		d.skip(path, report.NotManifest)
		return
	}
	if bytes.Contains(data, []byte("{{")) {
		if _, errs := manifest.ReadUndecoded(path, data, ""); len(errs) > 0 {
			d.skip(path, "a template outside a chart; render it first")
			return
		}
	}
	if d.folders[at] == nil {
		d.folders[at] = &folder{sizes: map[string]int{}}
	}
	d.folders[at].sizes[path] = size
	d.folders[at].files = append(d.folders[at].files, path)
	d.folders[at].routes = d.folders[at].routes || holdsRoute(data)
}

// looksLikeManifest reports whether the text has the fields of an object's kind and version,
// in YAML or JSON.
func looksLikeManifest(data []byte) bool {
	return hasField(data, "apiVersion") && hasField(data, "kind")
}

// hasField reports whether the name is followed by a colon somewhere in the text.
func hasField(data []byte, name string) bool {
	for found := true; found; {
		if _, data, found = bytes.Cut(data, []byte(name)); found && bytes.HasPrefix(bytes.TrimLeft(data, "\"' \t"), []byte(":")) {
			return true
		}
	}
	return false
}

// holdsRoute reports whether the text may hold a route.
func holdsRoute(data []byte) bool { return bytes.Contains(data, []byte(mesh.GatewayGroup)) }

// sets returns the sets, by path.
func (d *discovery) sets() []Set {
	var sets []Set
	managed := map[string]bool{} // the folders of kustomizations
	for _, k := range d.kustomizations {
		managed[k.folder] = true
		switch {
		case d.used[k.folder]:
		case k.component:
			d.skip(k.folder, "a kustomize component that no kustomization uses")
		default:
			sets = append(sets, Set{Kind: report.Kustomization, Path: k.folder, kustomization: k.folder})
		}
	}
	for _, chart := range d.charts {
		if d.used[chart] {
			continue // a kustomization inflates it
		}
		sets = append(sets, Set{Kind: report.Chart, Path: chart, chart: &Chart{Path: chart}})
		values, _ := filepath.Glob(filepath.Join(chart, "ci", "*.yaml")) // the pattern is right
		for _, file := range values {
			sets = append(sets, Set{Kind: report.Chart, Path: chart, Values: file, chart: &Chart{Path: chart, Values: []string{file}}})
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

// plain returns the set of a folder's manifests, without those that kustomizations use, and those
// beyond what is read of a set; nil if no route is among them.
func (d *discovery) plain(path string, managed bool) *Set {
	files := slices.DeleteFunc(d.folders[path].files, func(file string) bool { return d.used[file] })
	switch {
	case len(files) == 0 || !d.folders[path].routes:
		return nil
	case managed:
		for _, file := range files {
			d.skip(file, "not used by the kustomization in its folder")
		}
		return nil
	}
	size := 0
	files = slices.DeleteFunc(files, func(file string) bool {
		if size+d.folders[path].sizes[file] > maxInput {
			d.hidden(file, fmt.Sprintf("not checked: the manifests of its folder have more than %d MiB, or %d million values", maxInput>>20, maxValues))
			return true
		}
		size += d.folders[path].sizes[file]
		return false
	})
	return &Set{Kind: report.Folder, Path: path, files: files}
}

func (d *discovery) skip(path, reason string) {
	d.skipped = append(d.skipped, report.Skipped{Path: filepath.ToSlash(path), Reason: reason})
}

// hidden skips what may hold routes: a strict check fails because of it.
func (d *discovery) hidden(path, reason string) {
	d.skipped = append(d.skipped, report.Skipped{Path: filepath.ToSlash(path), Reason: reason, Hides: true})
}
