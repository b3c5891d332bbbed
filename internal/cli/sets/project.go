package sets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// ProjectFile is the name of the file that says how a repository is checked.
const ProjectFile = ".gammaguard.yaml"

// projectKind is the kind of a Project; its apiVersion is that of reports.
const projectKind = "CheckConfiguration"

// Project says how a repository is checked. Paths in it are relative to its file.
type Project struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Sets are what is deployed together; if there are none, they are discovered.
	Sets []ProjectSet `json:"sets,omitempty"`
	// Context are files, and folders, with objects that exist beside those of each set.
	Context []string `json:"context,omitempty"`
	// Ignore are patterns, as in .gitignore, of what is left aside when sets are
	// discovered.
	Ignore []Ignored `json:"ignore,omitempty"`
	// Configuration is a GuardConfiguration file.
	Configuration string `json:"configuration,omitempty"`
	// FailOn is the minimum severity that fails a check, one of report.FailOn.
	FailOn string `json:"failOn,omitempty"`

	// folder is the file's, from the root, and files are those that it may name.
	folder string
	files  *repository.Files
}

// ProjectSet is one set: files, a kustomization, or a chart.
type ProjectSet struct {
	// Files are files, and folders, which are read recursively.
	Files []string `json:"files,omitempty"`
	// Kustomization is a folder that kustomize builds.
	Kustomization string `json:"kustomization,omitempty"`
	// Chart is the folder of a Helm chart, and Values files override its values, each the
	// ones before it.
	Chart  string   `json:"chart,omitempty"`
	Values []string `json:"values,omitempty"`
}

// FindProject reads the ProjectFile in the folder of the path or the closest one above it,
// as far as the root of the repository. It returns nil if there is none.
func FindProject(path string) (*Project, error) { return FindProjectBelow("", path) }

// FindProjectBelow is FindProject in a repository with that root; empty for the one that the path is in.
func FindProjectBelow(root, path string) (*Project, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(absolute); err != nil || !info.IsDir() {
		absolute = filepath.Dir(absolute)
	}
	files := repository.New(root, absolute)
	if root == "" {
		root = repository.Root(absolute)
	}
	for {
		data, err := files.Read(filepath.Join(absolute, ProjectFile))
		switch parent := filepath.Dir(absolute); {
		case err == nil:
			return loadProject(data, absolute, files)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case absolute == root, parent == absolute:
			return nil, nil
		default:
			absolute = parent
		}
	}
}

// relative returns the path as seen from the working directory, where it can.
func relative(path string) string {
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil {
			return short
		}
	}
	return path
}

func loadProject(data []byte, folder string, files *repository.Files) (*Project, error) {
	p := &Project{folder: folder, files: files}
	text, err := yaml.ToJSONStrict(data)
	if err == nil {
		var strict []error
		strict, err = json.UnmarshalStrict(text, p)
		err = errors.Join(append(strict, err)...)
	}
	if err == nil {
		err = p.validate()
	}
	if err == nil && p.Configuration != "" {
		if text, unread := files.Read(filepath.Join(folder, filepath.FromSlash(p.Configuration))); unread == nil { // else it is found out later
			if err = yaml.Check(text); err != nil {
				err = fmt.Errorf("configuration: %w", err)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.File(), err)
	}
	return p, nil
}

func (p *Project) validate() error {
	if p.APIVersion != report.APIVersion || p.Kind != projectKind {
		return fmt.Errorf("apiVersion and kind must be %s and %s", report.APIVersion, projectKind)
	}
	if p.FailOn != "" && !slices.Contains(report.FailOn, p.FailOn) {
		return fmt.Errorf("failOn: must be one of %s", strings.Join(report.FailOn, ", "))
	}
	for i := range p.Sets {
		if err := p.validateSet(fmt.Sprintf("sets[%d]", i), &p.Sets[i]); err != nil {
			return err
		}
	}
	for i, name := range p.Context {
		if err := p.inside(name); err != nil {
			return fmt.Errorf("context[%d]: %w", i, err)
		}
	}
	for i := range p.Ignore {
		if err := p.Ignore[i].validate(); err != nil {
			return fmt.Errorf("ignore[%d]: %w", i, err)
		}
	}
	if err := p.inside(p.Configuration); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	return nil
}

// validateSet returns what is wrong with the set, which is the value of a field.
func (p *Project) validateSet(field string, set *ProjectSet) error {
	named := 0
	for _, given := range []bool{len(set.Files) > 0, set.Kustomization != "", set.Chart != ""} {
		if given {
			named++
		}
	}
	switch {
	case named != 1:
		return fmt.Errorf("%s: one of files, kustomization, and chart is required", field)
	case len(set.Values) > 0 && set.Chart == "":
		return fmt.Errorf("%s.values: has no effect without chart", field)
	}
	for _, name := range slices.Concat(set.Files, set.Values, []string{set.Kustomization, set.Chart}) {
		if err := p.inside(name); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

// inside returns an error if the path of the file leaves the repository, or is neither a folder nor a
// regular file. What does not exist is found out where it is read.
func (p *Project) inside(name string) error {
	path := filepath.Join(p.folder, filepath.FromSlash(name))
	if !p.files.Inside(path) {
		return &repository.OutsideError{Path: path}
	}
	if _, _, err := p.files.Resolve(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// path returns a path of the file as seen from the working directory.
func (p *Project) path(name string) string {
	path := filepath.Join(p.folder, filepath.FromSlash(name))
	if short := relative(path); short != source.Stdin { // only flags name standard input
		return short
	}
	return path
}

// File returns the path of the project's own file.
func (p *Project) File() string { return p.path(ProjectFile) }

// ConfigurationFile returns the path of the GuardConfiguration; empty for none.
func (p *Project) ConfigurationFile() string {
	if p.Configuration == "" {
		return ""
	}
	return p.path(p.Configuration)
}

// ContextFiles returns the paths of the context.
func (p *Project) ContextFiles() (paths []string) {
	for _, name := range p.Context {
		paths = append(paths, p.path(name))
	}
	return paths
}

// SetsBelow returns the sets of which a part is at or below one of the paths.
func (p *Project) SetsBelow(paths []string) []Set {
	var found []Set
	for i := range p.Sets {
		if set := p.set(&p.Sets[i]); set.below(paths) {
			found = append(found, *set)
		}
	}
	return found
}

func (p *Project) set(s *ProjectSet) *Set {
	all := func(names []string) (paths []string) {
		for _, name := range names {
			paths = append(paths, p.path(name))
		}
		return paths
	}
	switch {
	case s.Chart != "":
		chart := &source.Chart{Path: p.path(s.Chart), Values: all(s.Values)}
		return &Set{Kind: report.Chart, Path: chart.Path, Values: strings.Join(chart.Values, ", "), Named: true, Chart: chart}
	case s.Kustomization != "":
		path := p.path(s.Kustomization)
		return &Set{Kind: report.Kustomization, Path: path, Named: true, Kustomization: path}
	}
	files := all(s.Files)
	return &Set{Kind: report.Folder, Path: strings.Join(files, ", "), Named: true, Files: files}
}

// NamedBy returns the set that a field of a file names, by paths that are relative to the file. Where the set is nil,
// that is the folder of the file. It is an error if a path leaves the repository with that root.
func NamedBy(root, file, field string, set *ProjectSet) (*Set, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	p := &Project{folder: filepath.Dir(absolute), files: repository.New(root, file)}
	if set == nil {
		set = &ProjectSet{Files: []string{"."}}
	}
	if err := p.validateSet(field, set); err != nil {
		return nil, err
	}
	return p.set(set), nil
}

// below reports whether what there is to read is at or below one of the paths.
func (s *Set) below(paths []string) bool {
	roots := s.Files
	if s.Files == nil {
		roots = []string{s.Path}
	}
	for _, path := range paths {
		above := segments(path)
		for _, root := range roots {
			if at := segments(root); len(at) >= len(above) && slices.Equal(above, at[:len(above)]) {
				return true
			}
		}
	}
	return false
}
