package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gammaguard/gammaguard/check/report"
)

// Set is what is deployed together, and so judged together: nothing outside it is
// known, but what the options name for all.
type Set struct {
	Kind report.SetKind
	Path string
	// Values is the file in the chart's folder ci that overrides its values; empty for
	// none.
	Values string

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
// the project, which may be nil, or, if it names none, those that Discover finds. It also
// returns what was left aside.
func FindSets(options *Options, paths []string, project *Project) ([]Set, []report.Skipped, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	if project != nil && len(project.Sets) > 0 {
		return project.SetsBelow(paths), nil, nil
	}
	return Discover(options, paths, project)
}

// RunSets checks each set by itself, and returns one report of all. A set that cannot be
// built is broken, or, where that takes what is not on this disk, such as a remote base,
// left aside. Apart from a report of all that could be read, the error names what
// could not.
func RunSets(ctx context.Context, options *Options, sets []Set, skipped []report.Skipped) (*report.CheckReport, error) {
	all := report.New()
	all.Skipped = skipped
	var errs []error
	for i := range sets {
		set := &sets[i]
		o := *options
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
		if built := (*notBuilt)(nil); errors.As(err, &built) {
			why := strings.Join(strings.Fields(built.Error()), " ") // on one line
			switch {
			case options.Strict || set.named:
				errs = append(errs, built)
			case built.broken:
				all.SeenFile(set.File())
				all.Broken = append(all.Broken, report.Broken{Place: report.Place{File: set.File(), Line: 1}, Message: "cannot be built: " + why})
				continue
			}
			all.Skipped = append(all.Skipped, report.Skipped{Path: described.String(), Reason: "cannot be built, so its routes are not checked: " + why})
			continue
		}
		if r == nil {
			return nil, fmt.Errorf("%s: %w", &described, err)
		}
		errs = append(errs, err)
		described.Routes = len(r.Routes)
		all.Add(r, described)
	}
	all.Count()
	return all, errors.Join(errs...)
}

// notBuilt is why a kustomization or a chart has no manifests.
type notBuilt struct {
	error
	// broken: no more input, such as what is not on this disk, or values, would help.
	broken bool
}

// Unwrap returns why.
func (n *notBuilt) Unwrap() error { return n.error }
