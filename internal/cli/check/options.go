package check

import (
	"context"
	"slices"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// Options say what is judged, and by what.
type Options struct {
	// Options say what may be read.
	source.Options
	// Files are files, folders, which are read recursively, or source.Stdin.
	Files []string
	// aside are files and folders below Files that are not read.
	aside map[string]bool
	// projected is set if Files are those of a set that a project names.
	projected bool
	// Kustomizations are folders that kustomize builds.
	Kustomizations []string
	// Charts are Helm charts that are rendered.
	Charts []source.Chart
	// without are the dependencies of charts that are left out.
	without []string
	// isBase: it is what --base names.
	isBase bool
	// values say which values files of its charts a version before does not have.
	values []report.Notice
	// Base are files and folders with what is in the cluster already. They are not
	// judged. A route that is there too is judged as an update of that. What has a
	// uid is taken as it is stored, anything else as the cluster would store it.
	Base []string
	// Context are files and folders of the repository with objects that exist beside those of the input. They count after the input
	// and the cluster, and before Base. They are not judged, and routes in them do not count.
	Context []string
	// project is what names the context; nil if nothing does.
	project *sets.Project
	// contextWithin are the files that may be read for it, wherever the input is.
	contextWithin *repository.Files
	// context is what was read of them, for several sets.
	context *surroundings
	// Config is the configuration to judge by.
	Config *config.GuardConfiguration
	// Channel is the release channel of the definitions that routes are subject to, unless CRDs have others. If it is empty,
	// those of the input count, or of Base, or of the cluster, or else of the standard channel.
	Channel definitions.Channel
	// CRDs are files and folders with CustomResourceDefinitions of routes.
	CRDs []string
	// Cluster fills what the input lacks; nil for no cluster.
	Cluster Cluster
	// Namespaces are those in which routes of the cluster count, besides those that the input names, for users who may not
	// list all; the empty name is all in which they may.
	Namespaces []string
	// Complete: what is neither in the input nor in the cluster does not exist. Else
	// it is unknown.
	Complete bool
	// Alone: the command reads neither a base nor a cluster besides the input, so that no error proposes them.
	Alone bool
	// Unflagged: no flag of the command sets a namespace, so that no finding proposes it.
	Unflagged bool
	// Anywhere: a Service that is asked for without a namespace may be the only one of its name in another one than that of -n.
	Anywhere bool
	// Earlier: the input is that of a revision, to which nobody can add anything.
	Earlier bool
	// NoServiceImports: the kind ServiceImport is not served. It has a meaning only
	// if Complete is set.
	NoServiceImports bool
	// Serves reports whether the API server serves a kind; nil: without a cluster, that
	// is not known.
	Serves func(group, kind string) bool
	// RolloutWeights takes the weights that Rollouts set as they are written; else those are taken that are set while
	// no new version is rolled out.
	RolloutWeights bool
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
	// Progress, if it is not nil, is called with the number of the set that is being checked, from 1, and
	// the number of sets.
	Progress func(set, of int, name string)
}

// named returns all paths that the user named.
func (o *Options) named() []string {
	paths := slices.Concat(o.Files, o.Kustomizations, o.Base, o.CRDs)
	for i := range o.Charts {
		paths = append(append(paths, o.Charts[i].Path), o.Charts[i].Values...)
	}
	if len(o.Base) > 0 {
		for _, chart := range o.Before(o.Base).Charts {
			paths = append(paths, chart.Values...)
		}
	}
	return paths
}

// Cluster is a live cluster. It answers mesh.ErrUnknown where it may not be read.
type Cluster interface {
	mesh.Reader
	// Definition returns the CustomResourceDefinition of that name, in JSON. The error is
	// mesh.ErrNotFound where there is none.
	Definition(ctx context.Context, name string) ([]byte, error)
	// Object returns the object as it is stored, in JSON. The error is mesh.ErrNotFound where there is none.
	Object(ctx context.Context, key manifest.Key) ([]byte, error)
	// Routes returns all routes of the cluster, or, of a kind that may not be listed in all
	// namespaces, those of the given ones, of which the empty name is all that can be seen. The error is mesh.ErrUnknown where none may be
	// listed.
	Routes(namespaces ...string) ([]*manifest.Object, error)
	// Unlisted returns the kinds of which the routes in the namespace could not be listed.
	Unlisted(namespace string) []mesh.RouteKind
}
