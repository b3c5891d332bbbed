package check

import (
	"fmt"

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
// are built, and where it has a chart, folders with one are rendered with the same values.
func (o *Options) Before(paths []string) *Options {
	before := *o
	before.Files, before.Kustomizations, before.Charts = paths, nil, nil
	if len(o.Kustomizations) > 0 {
		before.Files, before.Kustomizations = source.SplitKustomizations(before.Files)
	}
	if len(o.Charts) > 0 {
		before.Files, before.Charts = source.SplitCharts(before.Files, o.Charts[0].Values)
	}
	return &before
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
		switch {
		case len(lacks) == 0:
			in.Charts = append(in.Charts, chart)
		case len(chart.Values) == 0: // nothing was deployed with them
			in.withoutValues = append(in.withoutValues, fmt.Sprintf("%s is compared as new: the base does not have %s", o.Charts[i].Path, firstOf(lacks)))
		default:
			in.Charts = append(in.Charts, chart)
			in.withoutValues = append(in.withoutValues, fmt.Sprintf("%s of the base is rendered without %s, which it does not have", o.Charts[i].Path, firstOf(lacks)))
		}
	}
	return &in, nil
}
