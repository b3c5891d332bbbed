package check

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Stdin is the name of standard input among Options.Files and Options.Base.
const Stdin = "-"

// Options say what is judged, and by what.
type Options struct {
	// Files are files, folders, which are read recursively, or Stdin.
	Files []string
	// Kustomizations are folders that kustomize builds.
	Kustomizations []string
	// Charts are Helm charts that are rendered.
	Charts []Chart
	// Base are files and folders with what is in the cluster already. They are not
	// judged. A route that is there too is judged as an update of that. What has a
	// uid is taken as it is stored, anything else as the cluster would store it.
	Base []string
	// Namespace is that of objects that name none.
	Namespace string
	// Config is the configuration to judge by.
	Config *config.GuardConfiguration
	// Channel is the release channel of the definitions that routes are subject to; those
	// of the cluster, if there is one, and those in CRDs and in the input take their place.
	Channel definitions.Channel
	// CRDs are files and folders with CustomResourceDefinitions of routes.
	CRDs []string
	// Cluster fills what the input lacks; nil for no cluster.
	Cluster Cluster
	// Complete: what is neither in the input nor in the cluster does not exist. Else
	// it is unknown.
	Complete bool
	// NoServiceImports: the kind ServiceImport is not served. It has a meaning only
	// if Complete is set.
	NoServiceImports bool
	// Serves reports whether the API server serves a kind; nil: without a cluster, that
	// is not known.
	Serves func(group, kind string) bool
	// Strict makes an error of what is unknown.
	Strict bool
	// User is in whose name the routes would be applied, for exemptions.
	User validate.User
	// DryRun judges as on a server-side dry run.
	DryRun bool
	// Fix writes mutations back into the files.
	Fix bool
	// Hold, if it is not nil, is called before files are written, and what it returns once all are.
	Hold func() (release func())
	// Propose has the report say how to write each mutation into its file.
	Propose bool
	// AllowRemote has kustomize fetch what is not in the repository. It then runs git, and connects.
	AllowRemote bool
	// BuildTimeout is how long building one kustomization or chart may take; 0 for
	// build.DefaultLimit.
	BuildTimeout time.Duration
	// Root is the root of the repository, which files are not read outside of, but those that are named
	// above; empty for those of the repositories that these are in.
	Root string
	// Stdin is what Stdin stands for.
	Stdin io.Reader
	// ReadFile reads a file of the input, at a path that may be absolute or relative to the
	// working directory, by way of read, or else returns what is to be read in its place; nil for
	// read. It is called where the file may be read, and is safe for concurrent use.
	ReadFile func(path string, read func(path string) ([]byte, error)) ([]byte, error)
	// Progress, if it is not nil, is called with the number of the set that is being checked, from 1, and
	// the number of sets.
	Progress func(set, of int, name string)

	// earlier are routes that were there before the others.
	earlier map[manifest.Key]bool
	// taken, if it is not nil, records what the set has of the files.
	taken *taken
	// files are those that may be read, and builder builds of them.
	files   *repository.Files
	builder *build.Builder
}

// opened returns the options with the files that may be read and a builder, which the caller closes.
func (o *Options) opened() (*Options, func()) {
	opened := *o
	if opened.files == nil {
		opened.files = repository.New(o.Root, o.named()...)
	}
	if opened.builder != nil {
		return &opened, func() {}
	}
	opened.builder = build.New(nil, o.AllowRemote, o.BuildTimeout)
	return &opened, opened.builder.Close
}

// named returns all paths that the user named.
func (o *Options) named() []string {
	paths := slices.Concat(o.Files, o.Kustomizations, o.Base, o.CRDs)
	for i := range o.Charts {
		paths = append(append(paths, o.Charts[i].Path), o.Charts[i].Values...)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == Stdin })
}

// read reads a file of the input, if it may be read.
func (o *Options) read(path string) ([]byte, error) {
	if o.ReadFile == nil {
		return o.files.Read(path)
	}
	if err := o.files.Check(path); err != nil {
		return nil, err
	}
	return o.ReadFile(path, o.files.Read)
}

// readable are the files that the options have a builder read.
type readable struct{ *Options }

// ReadFile reads a file for a builder: what the builder would parse as YAML exceeds no bound.
func (r readable) ReadFile(path string) ([]byte, error) {
	data, err := r.read(path)
	if err == nil && r.taken != nil {
		r.taken.file(resolved(r.files, path))
	}
	if err == nil && (slices.Contains(manifestEndings, filepath.Ext(path)) || slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path))) {
		if err = yaml.Check(data); err != nil {
			err = fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return data, err
}

// Resolve returns a path without links.
func (r readable) Resolve(path string) (resolved string, isFolder bool, err error) {
	return r.files.Resolve(path)
}

// Cluster is a live cluster. It answers mesh.ErrUnknown where it may not be read.
type Cluster interface {
	mesh.Reader
	// Definition returns the CustomResourceDefinition of that name, in JSON. The error is
	// mesh.ErrNotFound where there is none.
	Definition(ctx context.Context, name string) ([]byte, error)
	// Routes returns all routes of the cluster, or, of a kind that may not be listed in all
	// namespaces, those of the given ones. The error is mesh.ErrUnknown where none may be
	// listed.
	Routes(namespaces ...string) ([]*manifest.Object, error)
}
