package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Kustomize builds the folder and returns what comes out, with the place where
// each object comes from. The error may be a *NotBuilt.
func (in *Input) Kustomize(ctx context.Context, folder string) (files []*File, _ error) {
	resources, err := in.resources(ctx, folder)
	if err != nil {
		remote := (*build.RemoteError)(nil)
		failed := (*build.Error)(nil)
		needs := errors.As(err, &remote) && !remote.Inflates() || errors.As(err, &failed) && failed.Remote
		not := &NotBuilt{error: fmt.Errorf("kustomization %s: %w", folder, err), Why: unquoted(err.Error()), Remote: needs}
		switch {
		case remote != nil:
			not.At, not.Why = report.Place{File: remote.File, Line: remote.Line}, remote.Why()
		case !needs && !in.notRun(not, folder):
			not.Broken = true
			in.locate(not, folder)
		}
		return nil, not
	}
	sources, patches := map[string]*File{}, patches(in.patchesOf(folder, map[string]bool{}, affix{}))
	used := Uses(in.Disk.Read, folder)
	objects := in.objectsOf(folder)
	read := func(name string) *File {
		if sources[name] == nil {
			if sources[name], err = in.file(name); err != nil {
				sources[name] = &File{} // not a file on this disk
			}
		}
		return sources[name]
	}
	for _, res := range resources {
		name := build.KustomizationFile(folder)
		if origin := filepath.Join(folder, filepath.FromSlash(res.Origin)); objects[build.Real(origin)] != nil { // an annotation can say anything
			name = origin
		} else if res.Origin == "" && len(objects)*len(resources) <= maxSought { // a patch may have replaced all annotations
			name = cmp.Or(in.origin(folder, res.JSON, objects, read), name)
		}
		f, err := in.parseBuilt(name, res.JSON)
		if err != nil {
			return nil, err
		}
		f.kustomization, f.sets = build.KustomizationFile(folder), patches.sets
		for i := range f.Documents {
			f.Documents[i].Written = counterpart(f.Documents[i].Object, read(name), objects[build.Real(name)])
		}
		files = append(files, f)
	}
	in.takesPatches(used, patches, files)
	for i := range patches {
		if p := &patches[i]; len(p.doubled) > 0 {
			files = append(files, &File{Name: p.file, Broken: p.doubled, kustomization: build.KustomizationFile(folder), sets: patches.sets})
		}
	}
	return files, nil
}

// maxSought is in how many files the origins of resources are looked for, each file for each resource.
const maxSought = 10_000_000

// origin returns the only file that has what the resource was made of, among those that the kustomization in the folder makes objects of; empty if
// there is none, or more than one.
func (in *Input) origin(folder string, resource []byte, files objects, read func(name string) *File) (only string) {
	made, _ := manifest.ReadUndecoded("", resource, in.namespace())
	for path, affixes := range files {
		within, err := filepath.Rel(build.Real(folder), path)
		if err != nil || len(made) != 1 {
			return ""
		}
		name := filepath.Join(folder, within)
		switch {
		case counterpart(made[0], read(name), affixes) == nil:
		case only != "":
			return ""
		default:
			only = name
		}
	}
	return only
}

// resources builds the folder, unless that takes what is not in the repository.
func (in *Input) resources(ctx context.Context, folder string) ([]build.Resource, error) {
	if !in.options.AllowRemote {
		if remote := build.FindRemote(in.Disk.Read, folder); remote != nil {
			return nil, remote
		}
	}
	absolute, err := filepath.Abs(folder) // kustomize takes no such path for a URL
	if err != nil {
		return nil, err
	}
	file, _, err := in.Files.Resolve(build.KustomizationFile(absolute))
	if err != nil {
		return nil, err
	}
	return in.builder.Kustomize(ctx, absolute, file)
}

// affix is what kustomizations put around a name.
type affix struct{ prefix, suffix string }

// maxAffixes is how many ways there may be from a kustomization to the files below it.
const maxAffixes = 10_000

// objects are the files that kustomizations make objects of, without links, each with what is put around its names.
type objects map[string][]affix

// objectsOf returns the files that the kustomization in the folder makes objects of, if a builder has read them.
func (in *Input) objectsOf(folder string) objects {
	all, ways := objects{}, 0
	var walk func(folder string, around affix) affix
	walk = func(folder string, around affix) affix {
		if ways++; ways > maxAffixes {
			return around
		}
		var k types.Kustomization
		data, err := in.Disk.Read(build.KustomizationFile(folder))
		if err == nil {
			data, err = yaml.ToJSON(data)
		}
		if err != nil || json.Unmarshal(data, &k) != nil {
			return around // kustomize says what is wrong
		}
		folder = build.Real(folder) // as kustomize does, before paths in it are followed
		around = affix{around.prefix + k.NamePrefix, k.NameSuffix + around.suffix}
		for _, component := range slices.Backward(k.Components) { // each changes what comes before it
			around = walk(filepath.Join(folder, filepath.FromSlash(component)), around)
		}
		for _, name := range slices.Concat(k.Resources, k.Bases) { //nolint:staticcheck // bases are still read
			path := filepath.Join(folder, filepath.FromSlash(name))
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				walk(path, around)
			} else if path = build.Real(path); err == nil && (in.taken == nil || in.taken.read(in.Resolved(path))) && !slices.Contains(all[path], around) {
				all[path] = append(all[path], around)
				if in.taken != nil {
					in.taken.object(in.Resolved(path), path)
				}
			}
		}
		return around
	}
	if walk(folder, affix{}); ways > maxAffixes {
		return nil
	}
	return all
}

// counterpart returns the object of the source that kustomize made this one of by one of the affixes, or nil: where there
// are several, none is known.
func counterpart(object *manifest.Object, source *File, affixes []affix) *manifest.Object {
	var of *manifest.Object
	for _, a := range affixes {
		name, begins := strings.CutPrefix(object.Key.Name, a.prefix)
		name, ends := strings.CutSuffix(name, a.suffix)
		if !begins || !ends {
			continue
		}
		for _, d := range source.named(name) {
			switch {
			case d.Key.Kind != object.Key.Kind, d.Key.Group != object.Key.Group:
			case of == nil, of.Key.Name == name && d.Key.Namespace == object.Key.Namespace:
				of = d.Object
			case of.Key.Name != name:
				return nil
			}
		}
	}
	if of == nil && object.Key.Group == "" && object.Key.Kind == "Namespace" {
		return source.onlyNamespace()
	}
	return of
}

// onlyNamespace returns the Namespace of the file, or nil where it has several or none: the namespace field of a kustomization renames it.
func (f *File) onlyNamespace() *manifest.Object {
	var only *manifest.Object
	for _, d := range f.Documents {
		switch {
		case d.Key.Group != "" || d.Key.Kind != "Namespace":
		case only != nil:
			return nil
		default:
			only = d.Object
		}
	}
	return only
}

// named returns the documents of that name.
func (f *File) named(name string) []Document {
	f.naming.Do(func() {
		f.names = map[string][]Document{}
		for _, d := range f.Documents {
			f.names[d.Key.Name] = append(f.names[d.Key.Name], d)
		}
	})
	return f.names[name]
}

// Folder returns the folder of a file that makes it a kustomization or a chart, and any other path as it is.
func Folder(path string) string {
	folder := filepath.Dir(path)
	if file := build.KustomizationFile(folder); filepath.Base(path) == ChartFile || file != folder && file == filepath.Clean(path) {
		return folder
	}
	return path
}

// GuardIgnore is the name of the files with patterns of what is not deployed.
const GuardIgnore = ".gammaguardignore"

// Whole returns the paths, each once, with the folder of the kustomization or of the outermost chart in the place of a file that
// makes it one, or is in the chart, and of a folder that is a part of the chart: a part of one is not deployed by itself. A GuardIgnore stands for what it
// bears on, its folder.
func Whole(paths []string) (whole []string) {
	for _, path := range paths {
		if filepath.Base(path) == GuardIgnore {
			path = filepath.Dir(path)
		}
		if path = outermost(Folder(path)); !slices.Contains(whole, path) {
			whole = append(whole, path)
		}
	}
	return whole
}

// chartParts are the folders of a chart that Helm makes objects of, and that with values files.
var chartParts = []string{"charts", "ci", "crds", "templates"}

// outermost returns the folder of the outermost chart that the path is a part of, as far as the root of the repository, or the path. A folder
// with a kustomization is none.
func outermost(path string) string {
	info, err := os.Stat(path)
	absolute, absErr := filepath.Abs(path)
	if err != nil || absErr != nil || info.IsDir() && build.KustomizationFile(path) != path {
		return path
	}
	chart := ""
	for folder := absolute; folder != filepath.Dir(folder); {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			break
		}
		part := filepath.Base(folder)
		folder = filepath.Dir(folder)
		if IsChart(folder) && (!info.IsDir() || slices.Contains(chartParts, part)) {
			chart = folder
		}
	}
	if chart == "" {
		return path
	}
	return short(path, chart)
}

// short returns the absolute path in the form of the other one: as seen from the working directory, unless that is absolute.
func short(like, absolute string) string {
	if here, err := os.Getwd(); err == nil && !filepath.IsAbs(like) {
		if within, err := filepath.Rel(here, absolute); err == nil {
			return within
		}
	}
	return absolute
}

// SplitKustomizations tells the folders that hold a kustomization, also as their file, from other paths.
func SplitKustomizations(paths []string) (others, kustomizations []string) {
	for _, path := range paths {
		clean := filepath.Clean(path)
		switch folder := filepath.Dir(clean); {
		case build.KustomizationFile(clean) != clean:
			kustomizations = append(kustomizations, path)
		case folder != clean && build.KustomizationFile(folder) == clean: // else "." without one
			kustomizations = append(kustomizations, folder)
		default:
			others = append(others, path)
		}
	}
	return others, kustomizations
}
