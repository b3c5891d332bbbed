package sets

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// discover finds what is deployed together and reads files at or below the paths: the sets of the project, or else every
// kustomization that no other one of the repository uses, or that is deployed beside those that do, every Helm chart, with its default values and
// with each values file in its folder ci or beside its values.yaml, and the manifests of every other folder. It
// passes over hidden folders, node_modules, vendor, and what .gitignore and
// .gammaguardignore name, and what the project ignores, if there is one. It also returns
// what it left aside, and the files that the sets must have read.
func discover(ctx context.Context, disk *source.Disk, root, namespace string, paths []string, project *Project) (*Found, error) {
	return newDiscovery(ctx, disk, namespace, project).find(root, paths)
}

func newDiscovery(ctx context.Context, disk *source.Disk, namespace string, project *Project) *discovery {
	return &discovery{
		Found: &Found{disk: disk, namespace: namespace, aside: map[string]string{}, named: map[string]bool{}, patterns: map[[2]string]bool{}, reported: map[string]bool{}, unlooked: map[ignorePattern]bool{}},
		ctx:   ctx, project: project, ignores: map[string]*ignores{},
		seen: map[string]bool{}, held: map[string]bool{}, besides: map[string]bool{}, used: map[string]string{}, broken: map[string]bool{}, folders: map[string]*folder{}, inChart: map[string]chartPart{},
	}
}

// find looks below the paths, in a repository with that root.
func (d *discovery) find(root string, paths []string) (*Found, error) {
	for _, path := range paths {
		d.disregard(closestFile(path))
		if err := d.walk(path); err != nil && (root == "" || !errors.Is(err, fs.ErrNotExist)) { // another version may lack a path
			return nil, err
		}
		if source.IsManifest(path) && !isFolder(path) { // also where only another version has it
			where, _ := d.ignored(path, false)
			folder := filepath.Dir(filepath.Clean(path))
			d.besides[folder] = d.besides[folder] || where == ignoredByGit
		}
	}
	if err := cmp.Or(d.ctx.Err(), d.err); err != nil {
		return nil, err
	}
	if d.project.Names() {
		var err error
		if d.Sets, d.Elsewhere, err = d.project.SetsAt(paths); err != nil {
			return nil, err
		}
		if len(d.Sets) == 0 {
			d.none = d.project.noneAt(paths, d.Elsewhere)
		}
		for i := range d.Sets {
			d.leaveAsideOf(&d.Sets[i], paths)
		}
		d.unusedValues()
		if err := cmp.Or(d.ctx.Err(), d.err); err != nil {
			return nil, err
		}
		d.Skipped = slices.DeleteFunc(d.Skipped, func(s report.Skipped) bool { return !s.Hides })
	} else {
		d.around(root, paths)
		if err := cmp.Or(d.ctx.Err(), d.err); err != nil {
			return nil, err
		}
		d.Sets = d.sets(paths)
		d.apart = d.apartAt(paths)
		d.Skipped = slices.DeleteFunc(d.Skipped, func(s report.Skipped) bool {
			at := absolute(filepath.FromSlash(s.Path))
			return s.Reason == report.NotManifest && (d.named[at] || d.broken[filepath.Dir(at)])
		})
	}
	return d.Found, d.err
}

// discovery is one search for sets.
type discovery struct {
	*Found
	ctx     context.Context //nolint:containedctx // it is one search
	project *Project        // may be nil
	ignores map[string]*ignores
	// patterns counts those in ignores, and compared how often a pattern was compared with a path.
	patterns, compared int
	// charts are the folders with a Chart.yaml that are no parts of others; kustomizations are those with a kustomization.
	charts         []string
	kustomizations []kustomization
	folders        map[string]*folder
	// seen are the files and folders that were looked at, and held those files that are left aside: paths may overlap. besides are the folders of
	// the paths that are manifests, and whether .gitignore names one. inChart says which folders are parts of charts.
	seen, held, besides map[string]bool
	inChart             map[string]chartPart
	// used are the folders of the kustomizations to build that make objects of files, or patches, by the absolute paths of these.
	used map[string]string
	// broken are the folders of kustomizations that cannot be read, and so not what they name, by their absolute paths.
	broken map[string]bool
	// looked counts what was looked at though it is left aside, and lookedAt its bytes; linked counts the bytes that
	// were read by way of links.
	looked, lookedAt, linked int
	// err is why the search ended.
	err error
}

// chartPart is a part of a chart.
type chartPart int

const (
	noPart chartPart = iota
	// chartRoot is the folder of a chart, or its folder ci: files there are often no manifests.
	chartRoot
	// chartMade is a folder that Helm makes objects of.
	chartMade
)

// maxLinked is how much is read by way of links, in bytes: many links to a large file make a
// repository no larger.
const maxLinked = 64 << 20

// errLinked is why a link is not followed.
var errLinked = fmt.Errorf("it is a link, and there are more than %d MiB behind links", maxLinked>>20)

// read reads a file, unless it is a link and enough was read by way of links.
func (d *discovery) read(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return d.disk.Read(path)
	}
	if d.linked > maxLinked {
		return nil, errLinked
	}
	data, err := d.disk.Read(path)
	d.linked += len(data)
	return data, err
}

type kustomization struct {
	folder string
	// component is set for one that only those that use it build, and namespace is what it gives its objects; empty for none.
	component bool
	namespace string
	// outside is set if it is not below the paths.
	outside bool
	// at is the absolute path of the folder. bases are those of the folders that it uses, and files those of the files that it makes
	// objects of, or patches.
	at           string
	bases, files []string
}

// folder is a folder of manifests.
type folder struct {
	files []string
	// sizes are those of the files, in bytes.
	sizes map[string]int
	// routes is set if one of them may hold a route, or what is probably meant to be one.
	routes bool
}

// PassedOver reports whether discover never looks into a folder of that name: a hidden one,
// or one of dependencies.
func PassedOver(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}

func (d *discovery) walk(root string) error {
	git := false // whoever names a path wants it, also if git ignores it
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err := cmp.Or(d.ctx.Err(), d.err); err != nil {
			return err
		}
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			d.cannot(path, err)
			return nil // the others are judged all the same
		}
		at := path
		if path == root {
			at = absolute(path)
		}
		where, by := d.ignored(at, entry.IsDir())
		git = git || path == root && where == ignoredByGit
		switch {
		case path == root && where != leftAside && entry.IsDir():
			return d.folder(path)
		case path == root && where != leftAside:
			d.file(filepath.Clean(path))
			return nil
		case where != inSight && (where != ignoredByGit || !git):
			d.leaveAside(path, where, by)
			if entry.IsDir() {
				return filepath.SkipDir
			}
		case entry.IsDir():
			return d.folder(path)
		case source.IsManifest(path):
			d.file(filepath.Clean(path))
		}
		return nil
	})
}

// Below reports whether the path is the folder, or is in it.
func Below(path, folder string) bool {
	at, above := segments(path), segments(folder)
	return len(at) >= len(above) && slices.Equal(at[:len(above)], above)
}

// folder looks at a folder.
func (d *discovery) folder(path string) error {
	path = filepath.Clean(path)
	if d.seen[path] {
		return filepath.SkipDir
	}
	d.seen[path] = true
	parent, name := filepath.Dir(path), filepath.Base(path)
	switch {
	case d.inChart[parent] == chartMade, source.IsChart(parent) && slices.Contains([]string{"charts", "crds", "templates"}, name) && d.seen[parent]:
		d.inChart[path] = chartMade
	case source.IsChart(path), source.IsChart(parent) && name == "ci":
		d.inChart[path] = chartRoot
	}
	if source.IsChart(path) {
		d.makers = append(d.makers, maker{folder: path, file: filepath.Join(path, source.ChartFile)})
		if d.inChart[path] == chartRoot {
			d.charts = append(d.charts, path)
		}
	}
	d.kustomization(path)
	return nil
}

// kustomization looks for a kustomization in the folder.
func (d *discovery) kustomization(path string) {
	file := build.KustomizationFile(path)
	if file == path {
		return
	}
	k := kustomization{folder: path, at: absolute(path)}
	data, err := d.read(file)
	if err == nil {
		k.component, k.namespace = source.KindOf(data)
		err = source.EachPath(data, func(field, name string) { d.uses(&k, field, name) })
	}
	d.broken[k.at] = err != nil       // kustomize says what is wrong, where the set is built
	if d.inChart[path] != chartMade { // else it is no set of its own
		d.kustomizations = append(d.kustomizations, k)
	}
	d.makers = append(d.makers, maker{folder: path, file: file, component: k.component})
}

// uses notes a path that a kustomization names.
func (d *discovery) uses(k *kustomization, field, name string) {
	path := filepath.Join(k.at, filepath.FromSlash(name))
	if path == k.at || !d.disk.Files.Inside(path) {
		return
	}
	info, err := os.Stat(path)
	d.named[path] = err == nil
	switch {
	case err != nil:
	case info.IsDir() && build.IsBase(field):
		k.bases = append(k.bases, path)
	case !info.IsDir() && (build.IsBase(field) || build.IsPatch(field)):
		k.files = append(k.files, path)
	}
}

// file looks at a file that may be a manifest.
func (d *discovery) file(path string) {
	if d.seen[path] {
		return
	}
	d.seen[path] = true
	name, at := filepath.Base(path), filepath.Dir(path)
	if name == ProjectFile {
		d.disregard(path)
	}
	data, err := d.read(path)
	switch {
	case err != nil && path == build.KustomizationFile(at): // that of a set, which says so
		return
	case err != nil:
		d.cannot(path, err)
		return
	}
	size := source.Size(data)
	data = yaml.UTF8(data)
	if isText(path, data) {
		d.skip(path, report.NotManifest)
		return
	}
	h, may := routesIn(d.namespace, path, data)
	h.template = d.inChart[at] == chartMade
	misnamed := d.inChart[at] == noPart && !may && !h.misspelt && isMisnamed(path, data)
	if misnamed {
		d.makers = append(d.makers, maker{folder: at, file: path, misnamed: true})
	}
	settings := name == ProjectFile || misnamed || slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
	if may {
		d.holders = append(d.holders, h)
	}
	like := looksLikeManifest(data)
	switch {
	case d.inChart[at] == chartMade, settings && (!may || name != ProjectFile):
		return
	case !may && !like && !h.misspelt:
		if d.inChart[at] == noPart {
			d.skip(path, report.NotManifest)
		}
		return
	case len(h.routes) == 0 && bytes.Contains(data, []byte("{{")):
		if _, errs := manifest.ReadUndecoded(path, data, ""); len(errs) > 0 {
			d.template(path, may)
			return
		}
	}
	if d.folders[at] == nil {
		d.folders[at] = &folder{sizes: map[string]int{}}
	}
	d.folders[at].sizes[path] = size
	d.folders[at].files = append(d.folders[at].files, path)
	d.folders[at].routes = d.folders[at].routes || may || h.misspelt
}

// template leaves a template outside a chart aside.
func (d *discovery) template(path string, may bool) {
	const reason = "a template outside a chart; render it first"
	if may {
		d.hidden(path, reason+", or name it in "+source.GuardIgnore)
	} else {
		d.skip(path, reason)
	}
}

func (d *discovery) skip(path, reason string) {
	d.Skipped = append(d.Skipped, report.Skipped{Path: filepath.ToSlash(path), Reason: reason})
}

// cannot skips what cannot be read.
func (d *discovery) cannot(path string, err error) {
	why := "cannot be read: " + err.Error()
	d.unreadable = append(d.unreadable, report.Skipped{Path: absolute(path), Reason: filepath.ToSlash(path) + ": " + why})
	d.hidden(path, why)
}

// hidden skips what may hold routes: a strict check fails because of it.
func (d *discovery) hidden(path, reason string) {
	d.reported[path] = true
	d.Skipped = append(d.Skipped, report.Skipped{Path: filepath.ToSlash(path), Reason: reason, Hides: true})
}
