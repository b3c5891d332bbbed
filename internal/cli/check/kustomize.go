package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// kustomize builds the folder and returns what comes out, with the place where
// each object comes from.
func (c *checker) kustomize(ctx context.Context, folder string) (files []*file, _ error) {
	resources, err := c.resources(ctx, folder)
	if err != nil {
		remote := (*build.RemoteError)(nil)
		failed := (*build.Error)(nil)
		needs := errors.As(err, &remote) || errors.As(err, &failed) && failed.Remote
		broken := !needs && !strings.Contains(err.Error(), "--enable-") // of plugins and charts
		return nil, &notBuilt{fmt.Errorf("kustomize %s: %w", folder, err), broken, needs}
	}
	in := &c.input
	sources, patches := map[string]*file{}, patches(in.patchesOf(folder, map[string]bool{}))
	for _, res := range resources {
		if res.Error != "" {
			in.fail(fmt.Errorf("kustomize %s: %s", folder, res.Error))
			continue
		}
		name := kustomizationFile(folder)
		if res.Origin != "" {
			name = filepath.Join(folder, filepath.FromSlash(res.Origin))
		}
		if sources[name] == nil {
			if sources[name], err = in.file(name); err != nil {
				sources[name] = &file{} // not a file on this disk
			}
		}
		f, err := in.parseBuilt(name, res.JSON)
		if err != nil {
			return nil, err
		}
		f.kustomization, f.sets = kustomizationFile(folder), patches.sets
		for i := range f.documents {
			f.documents[i].written = counterpart(f.documents[i].Object, sources[name])
			c.noteName(f.kustomization, &f.documents[i])
		}
		files = append(files, f)
	}
	c.builds(folder)
	c.takesPatches(folder, patches, files)
	return files, nil
}

// resources builds the folder, unless that takes what is not in the repository.
func (c *checker) resources(ctx context.Context, folder string) ([]build.Resource, error) {
	if !c.options.AllowRemote {
		if remote := build.FindRemote(c.options.read, folder); remote != nil {
			return nil, remote
		}
	}
	absolute, err := filepath.Abs(folder) // kustomize takes no such path for a URL
	if err != nil {
		return nil, err
	}
	file, _, err := c.options.files.Resolve(kustomizationFile(absolute))
	if err != nil {
		return nil, err
	}
	return c.options.builder.Kustomize(ctx, absolute, file)
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
		case d.Key.Name == of.Key.Name && d.Key.Namespace == object.Key.Namespace:
			of = d.Object
		}
	}
	return of
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
