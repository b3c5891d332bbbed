package sets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/cli/strict"
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
	// Ignore are patterns, as in .gitignore, of what is left aside when sets are discovered, and in the directories of Sets.
	Ignore []Ignored `json:"ignore,omitempty"`
	// Configuration is a GuardConfiguration file.
	Configuration string `json:"configuration,omitempty"`
	// FailOn is the minimum severity that fails a check, one of report.FailOn.
	FailOn string `json:"failOn,omitempty"`

	// folder is the file's, from the root, and files are those that it may name.
	folder string
	files  *repository.Files
	// document says where its fields are.
	document *strict.Document
}

// Elsewhere implements strict.Elsewhere.
func (p *Project) Elsewhere(field string) string {
	if config.HasField(field) {
		return "it is a field of the " + config.Kind + " that configuration names"
	}
	return ""
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
		other := filepath.Join(absolute, strings.TrimSuffix(ProjectFile, ".yaml")+".yml")
		switch parent := filepath.Dir(absolute); {
		case err == nil:
			return loadProject(data, absolute, files)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		case exists(other):
			return nil, fmt.Errorf("%s: the name of this file must be %s; rename it", relative(other), ProjectFile)
		case absolute == root, parent == absolute:
			return nil, nil
		default:
			absolute = parent
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// relative returns the path as seen from the working directory, where it can. From the root of the disk, where editors start
// servers, a path stays as it is.
func relative(path string) string {
	if here, err := os.Getwd(); err == nil && here != filepath.Dir(here) {
		if short, err := filepath.Rel(here, path); err == nil {
			return short
		}
	}
	return path
}

func loadProject(data []byte, folder string, files *repository.Files) (*Project, error) {
	p := &Project{folder: folder, files: files}
	p.document = strict.Decode(p.File(), data, report.APIVersion, projectKind, p)
	if p.document.Alone(); p.document.Err() == nil {
		p.validate()
	}
	if err := p.document.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// path returns a path of the file as seen from the working directory.
func (p *Project) path(name string) string {
	path := p.absolute(name)
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

// Dropped returns the paths of what the project before has as context and this one has not, though it is still there.
func (p *Project) Dropped(before *Project) (paths []string) {
	for _, name := range before.Context {
		path := p.path(name)
		if _, err := os.Stat(path); err == nil && !slices.Contains(p.Context, name) {
			paths = append(paths, path)
		}
	}
	return paths
}

// ForAll returns the paths of what bears on all sets: the project's own file, its configuration, and its context.
func (p *Project) ForAll() []string {
	paths := append(p.ContextFiles(), p.File())
	if file := p.ConfigurationFile(); file != "" {
		paths = append(paths, file)
	}
	return paths
}

// Above returns the way from a path up to the folder of the project, if the path bears on all sets: it is, is in, or holds what does. It is empty
// for any other path, and for one that does not exist or holds the project.
func (p *Project) Above(path string) string {
	if p == nil || !exists(path) || Below(p.folder, path) {
		return ""
	}
	for _, name := range p.ForAll() {
		if Below(path, name) || Below(name, path) {
			return strings.Repeat("../", len(segments(path))-len(segments(p.folder)))
		}
	}
	return ""
}

// Names reports whether there is a project that names its sets.
func (p *Project) Names() bool { return p != nil && len(p.Sets) > 0 }

// Within returns the files that the project may name.
func (p *Project) Within() *repository.Files { return p.files }

// SetsAt returns the sets of which a part is at or below one of the paths, those that have it, and those that use files there, and the
// others. It is an error if something that one of the first names does not exist.
func (p *Project) SetsAt(paths []string) (found, others []Set, _ error) {
	for i := range p.Sets {
		set := p.set(&p.Sets[i])
		set.Within = p.files
		if !set.below(paths) {
			if set.Outside = set.uses(paths); !set.Outside {
				others = append(others, *set)
				continue
			}
		}
		found = append(found, *set)
		for field, name := range p.Sets[i].paths(fmt.Sprintf("sets[%d]", i)) {
			p.require(field, name)
		}
	}
	return found, others, p.document.Err()
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
		chart := &source.Chart{Path: source.Folder(p.path(s.Chart)), Values: all(s.Values)}
		return &Set{Kind: report.Chart, Path: chart.Path, Values: strings.Join(chart.Values, ", "), Named: true, Chart: chart}
	case s.Kustomization != "":
		path := source.Folder(p.path(s.Kustomization))
		return &Set{Kind: report.Kustomization, Path: path, Named: true, Kustomization: path}
	}
	files := all(s.Files)
	return &Set{Kind: report.Directory, Path: strings.Join(files, ", "), Named: true, Files: files, Aside: map[string]bool{}}
}

// FieldError is what is wrong with a field of a file that names a set.
type FieldError struct {
	Field string
	err   error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.err.Error() }

// NamedBy returns the set that a field of a file names, by paths that are relative to the file. Where the set is nil,
// that is the folder of the file. It is a *FieldError if it is not exactly one set, or a path leaves the repository with that root.
func NamedBy(root, file, field string, set *ProjectSet) (*Set, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	p := &Project{folder: filepath.Dir(absolute), files: repository.New(root, file)}
	if set == nil {
		set = &ProjectSet{Files: []string{"."}}
	}
	p.validateSet(field, set, func(field, problem string, args ...any) {
		if err == nil {
			err = &FieldError{field, fmt.Errorf(problem, args...)}
		}
	})
	if err != nil {
		return nil, err
	}
	found := p.set(set)
	for at, name := range set.paths(field) {
		if problem := p.missing(at, name, filepath.Base(file)); problem != "" && found.Missing == nil {
			found.Missing = fmt.Errorf("%s: %s", at, problem)
		}
	}
	return found, nil
}

// below reports whether what there is to read is at or below one of the paths, or holds it.
func (s *Set) below(paths []string) bool {
	roots := s.Files
	if s.Files == nil {
		roots = []string{s.Path}
	}
	if s.Chart != nil {
		roots = append(roots, s.Chart.Values...)
	}
	for _, path := range paths {
		above := segments(path)
		for _, root := range roots {
			at := segments(root)
			if n := min(len(at), len(above)); slices.Equal(above[:n], at[:n]) {
				return true
			}
		}
	}
	return false
}

// uses reports whether the set is of a kustomization that uses a file at or below one of the paths.
func (s *Set) uses(paths []string) bool {
	if s.Kustomization == "" {
		return false
	}
	for file := range source.Uses(s.Within.Read, s.Kustomization) {
		if slices.ContainsFunc(paths, func(path string) bool { return Below(resolved(file), resolved(path)) }) {
			return true
		}
	}
	return false
}

// resolved returns the absolute path without links.
func resolved(path string) string { return build.Real(absolute(path)) }

// absolute returns the absolute path, where there is one.
func absolute(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}
