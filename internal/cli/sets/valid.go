package sets

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// failing reports what is wrong with a field.
type failing func(field, problem string, args ...any)

func (p *Project) validate() {
	fail := p.document.Fail
	if p.FailOn != "" && !slices.Contains(report.FailOn, p.FailOn) {
		fail("failOn", "must be one of %s", strings.Join(report.FailOn, ", "))
	}
	for i := range p.Sets {
		p.validateSet(fmt.Sprintf("sets[%d]", i), &p.Sets[i], fail)
	}
	for i, name := range p.Context {
		p.inside(fmt.Sprintf("context[%d]", i), name, fail)
	}
	for i := range p.Ignore {
		p.Ignore[i].validate(fmt.Sprintf("ignore[%d]", i), fail)
	}
	if p.Configuration == "" {
		return
	}
	p.inside("configuration", p.Configuration, fail)
	if text, err := p.files.Read(p.absolute(p.Configuration)); err == nil { // else it is found out later
		if err := yaml.Check(text); err != nil {
			fail("configuration", "%v", err)
		}
	}
}

// validateSet reports what is wrong with the set, which is the value of a field.
func (p *Project) validateSet(field string, set *ProjectSet, fail failing) {
	named := 0
	for _, given := range []bool{len(set.Files) > 0, set.Kustomization != "", set.Chart != ""} {
		if given {
			named++
		}
	}
	switch {
	case named != 1:
		fail(field, "exactly one of files, kustomization, and chart is required")
	case len(set.Values) > 0 && set.Chart == "":
		fail(field+".values", "has no effect without chart")
	}
	for path, name := range set.paths(field) {
		p.inside(path, name, fail)
	}
}

// paths yields the paths that the set names, by their fields.
func (s *ProjectSet) paths(field string) iter.Seq2[string, string] {
	return func(yield func(field, path string) bool) {
		all := [][2]string{{field + ".kustomization", s.Kustomization}, {field + ".chart", s.Chart}}
		for i, name := range s.Files {
			all = append(all, [2]string{fmt.Sprintf("%s.files[%d]", field, i), name})
		}
		for i, name := range s.Values {
			all = append(all, [2]string{fmt.Sprintf("%s.values[%d]", field, i), name})
		}
		for _, path := range all {
			if path[1] != "" && !yield(path[0], path[1]) {
				return
			}
		}
	}
}

// inside reports that a path leaves the repository, or is neither a folder nor a regular file. What does not
// exist is found out where it is read.
func (p *Project) inside(field, name string, fail failing) {
	path := p.absolute(name)
	if filepath.IsAbs(filepath.FromSlash(name)) {
		fail(field, "%s must be relative to the directory of this file", name)
	} else if !p.files.Inside(path) {
		fail(field, "%v", &repository.OutsideError{Path: path})
	} else if _, _, err := p.files.Resolve(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fail(field, "%v", err)
	}
}

// RequireContext returns an error if a file of the context does not exist.
func (p *Project) RequireContext() error {
	for i, name := range p.Context {
		p.require(fmt.Sprintf("context[%d]", i), name)
	}
	return p.document.Err()
}

// RequireConfiguration returns an error if the file of the configuration does not exist.
func (p *Project) RequireConfiguration() error {
	if p.Configuration != "" {
		p.require("configuration", p.Configuration)
	}
	return p.document.Err()
}

// require reports that a path does not exist, or is not what the field names.
func (p *Project) require(field, name string) {
	if problem := p.missing(field, name, ProjectFile); problem != "" {
		p.document.Fail(field, "%s", problem)
	}
}

// missing says that a path in the file does not exist, or has no chart or no kustomization where its field names one; empty if nothing is missing.
func (p *Project) missing(field, name, file string) string {
	path := p.absolute(name)
	_, _, err := p.files.Resolve(path)
	folder := source.Folder(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s does not exist; paths are relative to the directory of %s", name, file)
	case strings.HasSuffix(field, ".chart") && !source.IsChart(folder):
		return fmt.Sprintf("%s has no %s; name the directory of a chart", name, source.ChartFile)
	case strings.HasSuffix(field, ".kustomization") && build.KustomizationFile(folder) == folder:
		return fmt.Sprintf("%s has no kustomization.yaml; name the directory of a kustomization", name)
	}
	return ""
}

// absolute returns a path of the file from the root.
func (p *Project) absolute(name string) string {
	return filepath.Join(p.folder, filepath.FromSlash(name))
}
