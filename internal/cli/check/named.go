package check

import (
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// Surround takes over the context of a project, which may be nil.
func (o *Options) Surround(project *sets.Project) {
	o.Context, o.contextWithin = nil, nil
	if project != nil {
		o.Context, o.contextWithin = project.ContextFiles(), project.Within()
	}
}

// Over returns the options with a set as the input.
func (o *Options) Over(set *sets.Set) *Options {
	over := *o
	over.Files, over.aside, over.Kustomizations, over.Charts = set.Files, set.Aside, nil, nil
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

// In returns the options with the same input as it is in a revision, as far as it exists there.
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
		values, err := tree.Existing(o.Charts[i].Values)
		if err != nil {
			return nil, err
		}
		if len(charts) > 0 {
			in.Charts = append(in.Charts, source.Chart{Path: charts[0], Values: values})
		}
	}
	return &in, nil
}
