package source

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Stdin is the name of standard input among the names of files.
const Stdin = "-"

// Options say what may be read, and how it is built.
type Options struct {
	// Namespace is that of objects that name none; empty for default.
	Namespace string
	// AllowRemote has kustomize fetch what is not in the repository. It then runs git, and connects.
	AllowRemote bool
	// BuildTimeout is how long building one kustomization or chart may take; 0 for
	// build.DefaultLimit.
	BuildTimeout time.Duration
	// Root is the root of the repository, which files are not read outside of, but those that the
	// user names; empty for those of the repositories that these are in.
	Root string
	// Stdin is what Stdin stands for.
	Stdin io.Reader
	// ReadFile reads a file, at a path that may be absolute or relative to the
	// working directory, by way of read, or else returns what is to be read in its place; nil for
	// read. It is called where the file may be read, and is safe for concurrent use.
	ReadFile func(path string, read func(path string) ([]byte, error)) ([]byte, error)
}

// Disk is the files that may be read, and what builds of them.
type Disk struct {
	// Files are those that may be read.
	Files   *repository.Files
	options *Options
	builder *build.Builder
}

// Open returns the files of the repositories that the named paths are in. The caller closes it.
func Open(options *Options, named []string) *Disk {
	named = slices.DeleteFunc(slices.Clone(named), func(path string) bool { return path == Stdin })
	return &Disk{repository.New(options.Root, named...), options, build.New(nil, options.AllowRemote, options.BuildTimeout)}
}

// Close ends what builds.
func (d *Disk) Close() { d.builder.Close() }

// Within returns the disk with other files that may be read; all of its own where there are none.
func (d *Disk) Within(files *repository.Files) *Disk {
	if files == nil {
		return d
	}
	return &Disk{files, d.options, d.builder}
}

// Beside returns the disk with other files that may be read, as Within does, to read manifests while an input of this disk is
// built: nothing is built of it.
func (d *Disk) Beside(files *repository.Files) *Disk {
	return &Disk{d.Within(files).Files, d.options, nil}
}

// Read reads a file, if it may be read.
func (d *Disk) Read(path string) ([]byte, error) {
	if d.options.ReadFile == nil {
		return d.Files.Read(path)
	}
	if err := d.Files.Check(path); err != nil {
		return nil, err
	}
	return d.options.ReadFile(path, d.Files.Read)
}

// Resolved returns the path without links, if it may be read, and else as it is.
func (d *Disk) Resolved(path string) string {
	if found, _, err := d.Files.Resolve(path); err == nil {
		return found
	}
	return path
}

// readable are the files that a builder reads for the input of a set. folders are those that it has looked up: it reads
// the kustomization in one of these to build it, and that in any other as data.
type readable struct {
	*Input
	folders map[string]bool
}

// ReadFile reads a file for a builder: what the builder would parse as YAML exceeds no bound.
func (r readable) ReadFile(path string) ([]byte, error) {
	data, err := r.Disk.Read(path)
	if err == nil && r.taken != nil {
		resolved := r.Resolved(path)
		r.taken.file(resolved)
		if r.folders[filepath.Dir(path)] && slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path)) {
			r.taken.build(resolved)
		}
	}
	if err == nil && (IsManifest(path) || slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path))) {
		if err = yaml.Check(data); err != nil {
			err = fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return data, err
}

// Resolve returns a path without links.
func (r readable) Resolve(path string) (resolved string, isFolder bool, err error) {
	resolved, isFolder, err = r.Files.Resolve(path)
	if isFolder && r.folders != nil {
		r.folders[resolved] = true
	}
	return resolved, isFolder, err
}
