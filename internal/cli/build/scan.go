package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Named is what a field of a file names.
type Named struct {
	File  string
	Line  int
	Field string
	Name  string
}

// RemoteError is why a kustomization is not built: a file names what is not in the
// repository.
type RemoteError struct{ Named }

// Error names the place.
func (r *RemoteError) Error() string {
	return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Why())
}

// NotInflated is why a kustomization that names a chart is not built, wherever the chart is.
const NotInflated = "helmCharts: gammaguard does not inflate a chart in a kustomization; check what kustomize builds with -f -"

// Inflates reports whether it is the repository of a chart, which is fetched for no builder.
func (r *RemoteError) Inflates() bool { return r.Field == "repo" || r.Field == "chartrepourl" }

// Why is Error without the place.
func (r *RemoteError) Why() string {
	if r.Inflates() {
		return NotInflated
	}
	return fmt.Sprintf("%s: %q is remote; --allow-remote fetches it", r.Field, r.Name)
}

// FindRemote returns the first thing that the kustomization in the folder, or a file that it uses, names
// and that is not in the repository; nil if there is none.
func FindRemote(read func(path string) ([]byte, error), folder string) *RemoteError {
	return NewRemotes(read).Find(folder)
}

// Remotes looks for what is not in the repository, and reads what has nothing of it once.
type Remotes struct{ scan }

// NewRemotes returns one that reads files by the function.
func NewRemotes(read func(path string) ([]byte, error)) *Remotes {
	return &Remotes{scan{read: read, seen: map[string]bool{}, wanted: isRemoteIn}}
}

// Find is FindRemote. It is not safe for concurrent use.
func (r *Remotes) Find(folder string) *RemoteError {
	r.folder(folder, false)
	found := r.found
	if found == nil {
		return nil
	}
	r.found, r.seen = nil, map[string]bool{} // what was seen was not scanned to its end
	return &RemoteError{*found}
}

// FindMissing returns the first name in the kustomization in the folder, or in a file that it uses, that leads to nothing that
// its field takes, and of which the error of the builder speaks; nil if there is none. It also says what is wrong with it.
func FindMissing(read func(path string) ([]byte, error), folder, failed string) (missing *Named, why string) {
	s := scan{read: read, seen: map[string]bool{}}
	s.wanted = func(file, field, name string) bool {
		if path := afterKey(name); path != "" && !IsBase(field) {
			name = path
		}
		within, err := filepath.Abs(filepath.Dir(file))
		if err != nil || isRemoteIn(file, field, name) { // of which the builder says why it could not be fetched
			return false
		}
		within = Real(within)
		path := filepath.Join(within, filepath.FromSlash(name))
		if strings.Contains(failed, name) || strings.Contains(failed, path) {
			why = wrong(field, within, path, failed)
		}
		return why != ""
	}
	s.folder(folder, false)
	return s.found, why
}

// wrong says why the field of a file in the folder does not take what the path leads to, if the error of the builder says so; empty otherwise.
func wrong(field, folder, path, failed string) string {
	says := func(words string) bool { return strings.Contains(failed, words) }
	bare := says("unable to find one of 'kustomization.yaml'")
	info, err := os.Stat(path)
	component := field == "components"
	switch {
	case errors.Is(err, fs.ErrNotExist) && (bare || says("no such file") || says("does not exist")):
		return "does not exist"
	case err != nil:
	case says("security; file '" + path + "' is not in or below '" + folder + "'"):
		return "is a file outside of the kustomization's directory, which kustomize refuses"
	case !IsBase(field):
	case info.IsDir() && bare && KustomizationFile(path) == path:
		return "has no kustomization.yaml"
	case !info.IsDir() && component && says("'"+path+"': file is not directory"):
		return "is a file; components are directories"
	case !component && says("expected kind != 'Component' for path '"+path+"'"):
		return "is a component; list it in components"
	case component && says("expected kind 'Component' for path '"+path+"'"):
		return "is not a component; list it in resources"
	}
	return ""
}

// FindPlugin returns the first of the generators, transformers, and validators of the kustomization in the file that is configured by an object of the kind;
// nil if there is none.
func FindPlugin(read func(path string) ([]byte, error), file, kind string) (found *Named) {
	data, err := read(file)
	if err != nil {
		return nil
	}
	all, _ := yaml.Documents(data)
	for _, document := range all {
		eachPath(document, func(field string, node *yaml.Node) {
			if found != nil || !plugins[field] {
				return
			}
			text, path, every := []byte(node.Value), filepath.Join(Real(filepath.Dir(file)), filepath.FromSlash(node.Value)), false
			if !isInline(field, node.Value) {
				every = KustomizationFile(path) != path // it may make objects of any kind
				text, _ = read(path)
			}
			if every || hasKind(text, kind) {
				found = &Named{file, node.Line, field, node.Value}
			}
		})
	}
	return found
}

// hasKind reports whether one of the documents is an object of the kind.
func hasKind(data []byte, kind string) bool {
	all, _ := yaml.Documents(data)
	for _, document := range all {
		var object struct{ Kind string }
		if document.Decode(&object) == nil && object.Kind == kind {
			return true
		}
	}
	return false
}

// KustomizationFile returns the kustomization of the folder, or the folder.
func KustomizationFile(folder string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return folder
}

// Real returns the path without links, relative if it was, or as it is if it leads nowhere.
func Real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// scan is one search.
type scan struct {
	read func(path string) ([]byte, error)
	// seen are the files that were read.
	seen  map[string]bool
	found *Named
	// wanted reports whether a name in a field of a file is looked for.
	wanted func(file, field, name string) bool
}

// folder scans a kustomization, and reports whether there is one. As a plugin, the files that it
// names are configurations of generators, transformers and validators.
func (s *scan) folder(folder string, plugin bool) bool {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file := filepath.Join(folder, name)
		if s.again(file, plugin) {
			return true
		}
		if data, err := s.read(file); err == nil {
			at := Real(folder) // as kustomize does, before paths in it are followed
			s.text(file, 0, data, func(field, name string) {
				if bases[field] || plugins[field] {
					s.path(filepath.Join(at, filepath.FromSlash(name)), plugin || plugins[field])
				}
			})
			return true
		}
	}
	return false
}

// again reports whether the file was scanned before.
func (s *scan) again(file string, plugin bool) bool {
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		file = resolved // links that lead back to a folder make any number of paths
	}
	key := fmt.Sprint(file, plugin)
	seen := s.seen[key]
	s.seen[key] = true
	return seen
}

// path scans a folder or, as a plugin, a file.
func (s *scan) path(path string, plugin bool) {
	if s.found != nil || s.folder(path, plugin) || !plugin || s.again(path, plugin) {
		return
	}
	if data, err := s.read(path); err == nil {
		s.text(path, 0, data, func(string, string) {})
	}
}

// text scans the documents of a text, which begins after the line, and passes on the names that are
// not wanted.
func (s *scan) text(file string, line int, data []byte, local func(field, name string)) {
	all, _ := yaml.Documents(data) // where it exceeds a bound, the builder does, too, and it does not connect
	for _, document := range all {
		eachPath(document, func(field string, node *yaml.Node) {
			switch {
			case s.found != nil:
			case isInline(field, node.Value):
				if plugins[field] {
					s.text(file, node.Line-1, []byte(node.Value), func(string, string) {})
				}
			case s.wanted(file, field, node.Value):
				s.found = &Named{file, line + node.Line, field, node.Value}
			default:
				local(field, node.Value)
			}
		})
	}
}

// isRemoteIn reports whether a name in a file is remote.
func isRemoteIn(file, _, name string) bool {
	return isRemoteName(name, func(name string) bool {
		info, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(name)))
		return err == nil && info.Mode().IsRegular()
	})
}
