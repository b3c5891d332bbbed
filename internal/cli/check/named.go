package check

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// Surround takes over the context of a project, which may be nil.
func (o *Options) Surround(project *sets.Project) {
	o.Context, o.contextWithin, o.project = nil, nil, project
	if project != nil {
		o.Context, o.contextWithin = project.ContextFiles(), project.Within()
	}
}

// Over returns the options with a set as the input.
func (o *Options) Over(set *sets.Set) *Options {
	over := *o
	over.Files, over.aside, over.Kustomizations, over.Charts = set.Files, set.Aside, nil, nil
	over.projected = set.Named && set.Taken != nil
	if set.Kustomization != "" {
		over.Kustomizations = []string{set.Kustomization}
	}
	if set.Chart != nil {
		over.Charts = []source.Chart{*set.Chart}
	}
	return &over
}

// Before returns the options with other paths as the input, read as this input is: where it has kustomizations, folders with one
// are built, and where it has a chart, folders with one are rendered with what they have of its values files.
func (o *Options) Before(paths []string) *Options {
	before := *o
	before.Files, before.Kustomizations, before.Charts, before.values, before.isBase = paths, nil, nil, nil, true
	if len(o.Kustomizations) > 0 {
		before.Files, before.Kustomizations = source.SplitKustomizations(before.Files)
	}
	if len(o.Charts) == 0 {
		return &before
	}
	var charts []source.Chart
	before.Files, charts = source.SplitCharts(before.Files)
	for i := range charts {
		var lacks []string
		for _, file := range o.Charts[0].Values {
			there := beside(charts[i].Path, o.Charts[0].Path, file)
			if _, err := os.Stat(there); err != nil {
				lacks = append(lacks, there)
				continue
			}
			charts[i].Values = append(charts[i].Values, there)
		}
		before.render(&charts[i], charts[i].Path, lacks)
	}
	return &before
}

// beside returns what is seen from the other folder where the file is seen from this one.
func beside(other, folder, file string) string {
	from, err := filepath.Abs(folder)
	to, failed := filepath.Abs(file)
	within, outside := filepath.Rel(from, to)
	if errors.Join(err, failed, outside) != nil {
		return file
	}
	return filepath.Join(other, within)
}

// render has a chart of a version before rendered, unless it has none of its values files: nothing was deployed with them.
func (o *Options) render(chart *source.Chart, path string, lacks []string) {
	switch {
	case len(lacks) == 0:
		o.Charts = append(o.Charts, *chart)
	case len(chart.Values) == 0:
		o.values = append(o.values, report.Notice{Path: path, Message: "compared as new: the base does not have " + firstOf(lacks)})
	default:
		o.Charts = append(o.Charts, *chart)
		o.values = append(o.values, report.Notice{Path: path, Message: "rendered without " + firstOf(lacks) + ", which the base does not have"})
	}
}

// In returns the options with the same input as it is in a revision, as far as it exists there. A chart of which it has no values file is not.
func (o *Options) In(tree *revision.Tree) (*Options, error) {
	in := *o
	in.Root, in.Charts, in.contextWithin = tree.Root(), nil, repository.New(tree.Root(), tree.Root())
	var err error
	if in.Files, err = tree.Existing(o.Files); err != nil {
		return nil, err
	}
	if in.Kustomizations, err = tree.Existing(o.Kustomizations); err != nil {
		return nil, err
	}
	if in.Context, err = tree.Existing(o.Context); err != nil {
		return nil, err
	}
	for i := range o.Charts {
		charts, err := tree.Existing([]string{o.Charts[i].Path})
		if err != nil {
			return nil, err
		}
		if len(charts) == 0 {
			continue
		}
		chart, lacks := source.Chart{Path: charts[0]}, []string(nil)
		for _, file := range o.Charts[i].Values {
			there, err := tree.Existing([]string{file})
			if err != nil {
				return nil, err
			}
			if chart.Values = append(chart.Values, there...); len(there) == 0 {
				lacks = append(lacks, file)
			}
		}
		in.render(&chart, o.Charts[i].Path, lacks)
	}
	return &in, nil
}
