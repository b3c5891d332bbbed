package check

import (
	"fmt"
	"os"
	"path/filepath"
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
// each object comes from. The files hold no data: what was built cannot be written
// back.
func (in *input) kustomize(folder string) []*file {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(&originFS{FileSystem: filesys.MakeFsOnDisk(), folder: folder}, folder)
	if err != nil {
		in.fail(fmt.Errorf("kustomize %s: %w", folder, err))
		return nil
	}
	var files []*file
	sources := map[string]*file{}
	for _, res := range built.Resources() {
		origin := originOf(folder, res)
		if err := forgetOrigin(res); err != nil {
			in.fail(fmt.Errorf("kustomize %s: %w", folder, err))
			continue
		}
		text, err := res.MarshalJSON()
		if err != nil {
			in.fail(fmt.Errorf("kustomize %s: %s: %w", folder, res.CurId(), err))
			continue
		}
		f := in.parse(origin, text)
		source, known := sources[origin]
		if !known {
			source = in.source(origin)
			sources[origin] = source
		}
		for i := range f.documents {
			f.documents[i].written = counterpart(f.documents[i].Object, source)
		}
		files = append(files, f)
	}
	return files
}

// source reads the file that resources come from, if it is one on this disk.
func (in *input) source(origin string) *file {
	data, err := os.ReadFile(origin)
	if err != nil {
		return &file{name: origin}
	}
	return in.parse(origin, data)
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

func forgetOrigin(res *resource.Resource) error {
	annotations := res.GetAnnotations()
	delete(annotations, originAnnotation)
	return res.SetAnnotations(annotations)
}

// kustomizationFile returns the kustomization of the folder.
func kustomizationFile(folder string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if path := filepath.Join(folder, name); exists(path) {
			return path
		}
	}
	return folder
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// originFS is the disk, but for the kustomization at the top: there it asks for
// annotations that say where each resource comes from.
type originFS struct {
	filesys.FileSystem
	folder string
}

// ReadFile reads a file.
func (o *originFS) ReadFile(path string) ([]byte, error) {
	data, err := o.FileSystem.ReadFile(path)
	if err != nil || !o.isTop(path) {
		return data, err
	}
	return withOrigins(data), nil
}

func (o *originFS) isTop(path string) bool {
	top, err := filepath.Abs(o.folder)
	if err != nil {
		return false
	}
	if resolved, err := filepath.EvalSymlinks(top); err == nil {
		top = resolved
	}
	return filepath.Dir(path) == top && slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path))
}

// withOrigins adds the option to a kustomization. Where that cannot be read it
// stays as it is, for kustomize to say what is wrong.
func withOrigins(data []byte) []byte {
	var fields map[string]any
	if yaml.UnmarshalStrict(data, &fields) != nil || fields == nil {
		return data
	}
	options, _ := fields["buildMetadata"].([]any)
	fields["buildMetadata"] = append(options, types.OriginAnnotations)
	text, err := yaml.Marshal(fields)
	if err != nil {
		return data
	}
	return text
}
