package build

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/gammaguard/gammaguard/internal/yaml"
)

// RemoteError is why a kustomization is not built: a file names what is not in the
// repository.
type RemoteError struct {
	File  string
	Line  int
	Field string
	Name  string
}

// Error names the place.
func (r *RemoteError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %q is remote; --allow-remote fetches it", r.File, r.Line, r.Field, r.Name)
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
	return &Remotes{scan{read: read, seen: map[string]bool{}}}
}

// Find is FindRemote. It is not safe for concurrent use.
func (r *Remotes) Find(folder string) *RemoteError {
	r.folder(folder, false)
	found := r.found
	if found != nil { // what was seen was not scanned to its end
		r.found, r.seen = nil, map[string]bool{}
	}
	return found
}

// scan is one search.
type scan struct {
	read func(path string) ([]byte, error)
	// seen are the files that were read.
	seen  map[string]bool
	found *RemoteError
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
			at := folder
			if resolved, err := filepath.EvalSymlinks(folder); err == nil {
				at = resolved // as kustomize does, before paths in it are followed
			}
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
// not remote.
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
			case isRemoteName(node.Value, func(name string) bool { return s.isFile(file, name) }):
				s.found = &RemoteError{file, line + node.Line, field, node.Value}
			default:
				local(field, node.Value)
			}
		})
	}
}

// isFile reports whether there is a file of that name beside the other.
func (s *scan) isFile(beside, name string) bool {
	info, err := os.Stat(filepath.Join(filepath.Dir(beside), filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}
