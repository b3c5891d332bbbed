package check

import (
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
)

// NamedBy returns the options with the input that a field of a file names, by paths that are relative to the
// file. Where set is nil, that is the folder of the file. It is an error if a path leaves the repository.
func (o *Options) NamedBy(file, field string, set *ProjectSet) (*Options, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	p := &Project{folder: filepath.Dir(absolute), files: repository.New(o.Root, file)}
	if set == nil {
		set = &ProjectSet{Files: []string{"."}}
	}
	if err := p.validateSet(field, set); err != nil {
		return nil, err
	}
	named := *o
	found := p.set(set)
	named.Files, named.Kustomizations, named.Charts = found.files, nil, nil
	if found.kustomization != "" {
		named.Kustomizations = []string{found.kustomization}
	}
	if found.chart != nil {
		named.Charts = []Chart{*found.chart}
	}
	return &named, nil
}

// In returns the options with the same input as it is in a revision, as far as it exists there.
func (o *Options) In(tree *revision.Tree) (*Options, error) {
	in := *o
	in.Root, in.Charts = tree.Root(), nil
	var err error
	if in.Files, err = tree.Existing(o.Files); err != nil {
		return nil, err
	}
	if in.Kustomizations, err = tree.Existing(o.Kustomizations); err != nil {
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
			in.Charts = append(in.Charts, Chart{Path: charts[0], Values: values})
		}
	}
	return &in, nil
}
