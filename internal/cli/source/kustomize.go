package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/cli/build"
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
		needs := errors.As(err, &remote) || errors.As(err, &failed) && failed.Remote
		broken := !needs && !strings.Contains(err.Error(), "--enable-") // of plugins and charts
		return nil, &NotBuilt{fmt.Errorf("kustomize %s: %w", folder, err), broken, needs}
	}
	sources, patches := map[string]*File{}, patches(in.patchesOf(folder, map[string]bool{}))
	used := Uses(in.Disk.Read, folder)
	objects, affixes := in.made(used)
	for _, res := range resources {
		if res.Error != "" {
			in.fail(fmt.Errorf("kustomize %s: %s", folder, res.Error))
			continue
		}
		name := KustomizationFile(folder)
		if origin := filepath.Join(folder, filepath.FromSlash(res.Origin)); objects[Real(origin)] { // an annotation can say anything
			name = origin
		}
		if sources[name] == nil {
			if sources[name], err = in.file(name); err != nil {
				sources[name] = &File{} // not a file on this disk
			}
		}
		f, err := in.parseBuilt(name, res.JSON)
		if err != nil {
			return nil, err
		}
		f.kustomization, f.sets = KustomizationFile(folder), patches.sets
		for i := range f.Documents {
			f.Documents[i].Written = counterpart(f.Documents[i].Object, sources[name], affixes)
		}
		files = append(files, f)
	}
	in.builds(used)
	in.takesPatches(used, patches, files)
	return files, nil
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
	file, _, err := in.Files.Resolve(KustomizationFile(absolute))
	if err != nil {
		return nil, err
	}
	return in.builder.Kustomize(ctx, absolute, file)
}

// made returns the files that the kustomizations among the used files make objects of, without links, and the prefixes
// and suffixes that they give to names.
func (in *Input) made(used map[string]Use) (objects map[string]bool, affixes []string) {
	objects = map[string]bool{}
	for path, as := range used {
		switch as {
		case objectOf:
			objects[Real(path)] = true
		case kustomizationOf:
			var names struct {
				Prefix string `yaml:"namePrefix"`
				Suffix string `yaml:"nameSuffix"`
			}
			if data, err := in.Disk.Read(path); err == nil && yaml.Unmarshal(data, &names) == nil {
				affixes = append(affixes, names.Prefix, names.Suffix)
			}
		case namedBy:
		}
	}
	return objects, slices.DeleteFunc(affixes, func(text string) bool { return text == "" })
}

// renamed reports whether the name is the other one with prefixes and suffixes.
func renamed(name, from string, affixes []string) bool {
	made := func(text string) bool {
		for text != "" {
			i := slices.IndexFunc(affixes, func(affix string) bool { return strings.HasPrefix(text, affix) })
			if i < 0 {
				return false
			}
			text = text[len(affixes[i]):]
		}
		return true
	}
	for at := 0; from != "" && at <= len(name); at++ {
		i := strings.Index(name[at:], from)
		if i < 0 {
			return false
		}
		if at += i; made(name[:at]) && made(name[at+len(from):]) {
			return true
		}
	}
	return false
}

// counterpart returns the object of the source that kustomize made this one of, or
// nil. Its name may have got prefixes and suffixes.
func counterpart(object *manifest.Object, source *File, affixes []string) *manifest.Object {
	var of *manifest.Object
	for _, d := range source.Documents {
		switch {
		case d.Key.Kind != object.Key.Kind, d.Key.Group != object.Key.Group, !renamed(object.Key.Name, d.Key.Name, affixes):
		case of == nil, len(d.Key.Name) > len(of.Key.Name):
			of = d.Object
		case d.Key.Name == of.Key.Name && d.Key.Namespace == object.Key.Namespace:
			of = d.Object
		}
	}
	return of
}

// KustomizationFile returns the kustomization of the folder, or the folder.
func KustomizationFile(folder string) string {
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
		if KustomizationFile(path) == path {
			others = append(others, path)
		} else {
			kustomizations = append(kustomizations, path)
		}
	}
	return others, kustomizations
}

// NotBuilt is why a kustomization or a chart has no manifests.
type NotBuilt struct {
	error
	// Broken: no more input, such as what is not on this disk, or values, would help. Remote:
	// it needs what is not in the repository.
	Broken, Remote bool
}

// Unwrap returns why.
func (n *NotBuilt) Unwrap() error { return n.error }
