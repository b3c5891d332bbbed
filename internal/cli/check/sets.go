package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
)

// Set is what is deployed together, and so judged together: nothing outside it is
// known, but what the options name for all.
type Set struct {
	Kind report.SetKind
	Path string
	// Values is the file in the chart's folder ci that overrides its values; empty for
	// none.
	Values string

	// within are the files that may be read for it.
	within *repository.Files
	// taken is what it took of the files of the repository when it was run.
	taken *taken
	// named is set if somebody named it, so that it must be there.
	named bool
	// One of the following is what there is to read.
	files         []string
	kustomization string
	chart         *Chart
}

// File returns the file that makes it a set: the kustomization, or the chart's; empty for a
// folder.
func (s *Set) File() string {
	switch s.Kind {
	case report.Kustomization:
		return kustomizationFile(s.Path)
	case report.Chart:
		return filepath.Join(s.Path, chartFile)
	case report.Folder:
	}
	return ""
}

// FindSets returns the sets below the paths, by default the working directory: those of
// the project, which may be nil, or, if it names none, those that discover finds. It also
// returns what was left aside, and what the sets must have read.
func FindSets(ctx context.Context, options *Options, paths []string, project *Project) (*Found, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	opened := *options
	opened.files = repository.New(options.Root, slices.Concat(paths, options.named())...)
	found, err := discover(ctx, &opened, paths, project)
	if err != nil {
		return nil, err
	}
	for i := range found.Sets {
		found.Sets[i].within, found.Sets[i].taken = opened.files, &taken{}
		found.Sets[i].taken.reset()
	}
	return found, nil
}

// RunSets checks each set by itself, and returns one report of all. A set that cannot be
// built is broken, or, where that takes what is not on this disk, such as a remote base,
// left aside, and so is what may hold routes and no set has read. Apart from a report of all that could be read, the
// error names what could not.
func RunSets(ctx context.Context, options *Options, found *Found) (*report.CheckReport, error) {
	options, done := options.opened()
	defer done()
	all := report.New()
	all.Skipped = found.Skipped
	var errs []error
	sets := found.Sets
	for i := range sets {
		set := &sets[i]
		o := *options
		if o.taken = set.taken; o.taken != nil {
			o.taken.reset()
		}
		o.files = cmp.Or(set.within, options.files)
		o.Files = set.files
		if set.kustomization != "" {
			o.Kustomizations = []string{set.kustomization}
		}
		if set.chart != nil {
			o.Charts = []Chart{*set.chart}
		}
		o.Fix = options.Fix && set.files != nil
		described := report.Set{Kind: set.Kind, Path: filepath.ToSlash(set.Path), Values: filepath.ToSlash(set.Values)}
		if options.Progress != nil {
			options.Progress(i+1, len(sets), described.String())
		}
		r, err := run(ctx, &o)
		if errors.As(err, &tooLarge{}) {
			errs = append(errs, fmt.Errorf("%s: not checked: %w", &described, err))
			set.excuse(&o)
			continue
		}
		if built := (*notBuilt)(nil); errors.As(err, &built) {
			set.excuse(&o)
			why := strings.Join(strings.Fields(built.Error()), " ") // on one line
			switch {
			case options.Strict || set.named:
				errs = append(errs, built)
			case built.broken:
				all.SeenFile(set.File())
				all.AddBroken(report.Broken{Place: report.Place{File: set.File(), Line: 1}, Message: "cannot be built: " + why})
				continue
			}
			reason := "cannot be built, so its routes are not checked: "
			if built.remote {
				reason = "needs what is not in the repository, so its routes are not checked: "
			}
			all.Skipped = append(all.Skipped, report.Skipped{Path: described.String(), Reason: reason + why})
			continue
		}
		if r == nil {
			return nil, fmt.Errorf("%s: %w", &described, err)
		}
		errs = append(errs, err)
		described.Routes = r.CountRoutes()
		all.Add(r, described)
	}
	if found.options != nil {
		if options.Progress != nil && len(sets) > 0 {
			options.Progress(len(sets), len(sets), "what no set has")
		}
		skipped, notices := found.Unread(ctx)
		all.Skipped, all.Notices = append(all.Skipped, grouped(skipped)...), append(all.Notices, notices...)
	}
	all.Count()
	if options.Strict {
		errs = append(all.Hidden(), errs...)
	}
	return all, errors.Join(errs...)
}

// notBuilt is why a kustomization or a chart has no manifests.
type notBuilt struct {
	error
	// broken: no more input, such as what is not on this disk, or values, would help. remote:
	// it needs what is not in the repository.
	broken, remote bool
}

// Unwrap returns why.
func (n *notBuilt) Unwrap() error { return n.error }
