package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// kustomize builds the folder and returns what comes out, with the place where
// each object comes from.
func (in *input) kustomize(folder string) (files []*file, _ error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(in.withOrigins(folder), folder)
	if err != nil {
		needs := strings.Contains(err.Error(), "--enable-") || in.needsMore(folder, map[string]bool{})
		return nil, &notBuilt{fmt.Errorf("kustomize %s: %w", folder, err), !needs}
	}
	sources, patches := map[string]*file{}, patches(in.patchesOf(folder))
	for _, res := range built.Resources() {
		name := originOf(folder, res)
		text, err := withoutOrigin(res)
		if err != nil {
			in.fail(fmt.Errorf("kustomize %s: %s: %w", folder, res.CurId(), err))
			continue
		}
		if sources[name] == nil {
			if sources[name], err = in.file(name); err != nil {
				sources[name] = &file{} // not a file on this disk
			}
		}
		f := in.parse(name, text)
		f.kustomization, f.sets = kustomizationFile(folder), patches.sets
		for i := range f.documents {
			f.documents[i].written = counterpart(f.documents[i].Object, sources[name])
		}
		files = append(files, f)
	}
	return files, nil
}

// remote is what names of remote resources look like.
var remote = regexp.MustCompile(`://|^git@|^github\.com[/:]|[?&]ref=`)

// needsMore reports whether the kustomization in the folder, or one that it uses, names what
// is not on this disk.
func (in *input) needsMore(folder string, seen map[string]bool) bool {
	data, err := in.readFile(kustomizationFile(folder))
	var k struct{ Resources, Bases, Components []string }
	if err != nil || yaml.Unmarshal(data, &k) != nil || seen[folder] {
		return false
	}
	seen[folder] = true
	return slices.ContainsFunc(slices.Concat(k.Resources, k.Bases, k.Components), func(name string) bool {
		return remote.MatchString(name) || in.needsMore(filepath.Join(folder, filepath.FromSlash(name)), seen)
	})
}

// counterpart returns the object of the source that kustomize made this one of, or
// nil. Its name may have got a prefix and a suffix.
func counterpart(object *manifest.Object, source *file) *manifest.Object {
	var of *manifest.Object
	for _, d := range source.documents {
		switch {
		case d.Key.Kind != object.Key.Kind, d.Key.Group != object.Key.Group, !strings.Contains(object.Key.Name, d.Key.Name):
		case of == nil, len(d.Key.Name) > len(of.Key.Name):
			of = d.Object
		}
	}
	return of
}

const originAnnotation = "config.kubernetes.io/origin"

// originOf returns the file that the resource comes from, as seen from the working
// directory; the kustomization itself for what a generator made or what is not on
// this disk.
func originOf(folder string, res *resource.Resource) string {
	var origin resource.Origin
	text := res.GetAnnotations()[originAnnotation]
	if yaml.Unmarshal([]byte(text), &origin) == nil && origin.Path != "" && origin.Repo == "" {
		return filepath.Join(folder, filepath.FromSlash(origin.Path))
	}
	return kustomizationFile(folder)
}

// withoutOrigin returns the resource as JSON, as it would be applied.
func withoutOrigin(res *resource.Resource) ([]byte, error) {
	annotations := res.GetAnnotations()
	delete(annotations, originAnnotation)
	if err := res.SetAnnotations(annotations); err != nil {
		return nil, err
	}
	return res.MarshalJSON()
}

// kustomizationFile returns the kustomization of the folder, or the folder.
func kustomizationFile(folder string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return folder
}

// SplitKustomizations tells the folders that hold a kustomization from other paths.
func SplitKustomizations(paths []string) (others, kustomizations []string) {
	for _, path := range paths {
		if kustomizationFile(path) == path {
			others = append(others, path)
		} else {
			kustomizations = append(kustomizations, path)
		}
	}
	return others, kustomizations
}

// originFS is the disk, but for one kustomization: there it asks for annotations
// that say where each resource comes from.
type originFS struct {
	filesys.FileSystem
	readFile      func(path string) ([]byte, error)
	kustomization string
}

func (in *input) withOrigins(folder string) originFS {
	top, err := filepath.Abs(folder)
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		top = folder // for kustomize to say what is wrong
	}
	return originFS{filesys.MakeFsOnDisk(), in.readFile, kustomizationFile(top)}
}

// ReadFile reads a file. A kustomization that cannot be read stays as it is, for
// kustomize to say what is wrong.
func (o originFS) ReadFile(path string) ([]byte, error) {
	data, err := o.readFile(path)
	var fields map[string]any
	if err != nil || path != o.kustomization || yaml.UnmarshalStrict(data, &fields) != nil || fields == nil {
		return data, err
	}
	options, _ := fields["buildMetadata"].([]any)
	fields["buildMetadata"] = append(options, types.OriginAnnotations)
	return yaml.Marshal(fields)
}
