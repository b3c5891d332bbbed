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

// Why is Error without the place.
func (r *RemoteError) Why() string {
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

// FindMissing returns the first file or folder that the kustomization in the folder, or a file that it uses, names, that does
// not exist or is a folder without a kustomization, and of which the error of the builder speaks; nil if there is none. It also says which of both.
func FindMissing(read func(path string) ([]byte, error), folder, failed string) (missing *Named, why string) {
	bare := strings.Contains(failed, "unable to find one of 'kustomization.yaml'")
	if !bare && !strings.Contains(failed, "no such file") && !strings.Contains(failed, "does not exist") {
		return nil, ""
	}
	why = "does not exist"
	s := scan{read: read, seen: map[string]bool{}}
	s.wanted = func(file, field, name string) bool {
		if path := afterKey(name); path != "" && !IsBase(field) {
			name = path
		}
		if isRemoteIn(file, field, name) { // of which the builder says why it could not be fetched
			return false
		}
		path := filepath.Join(Real(filepath.Dir(file)), filepath.FromSlash(name))
		info, err := os.Stat(path)
		if bare && err == nil && info.IsDir() && IsBase(field) && strings.Contains(failed, name) && KustomizationFile(path) == path {
			why = "has no kustomization.yaml"
			return true
		}
		return errors.Is(err, fs.ErrNotExist) && strings.Contains(failed, name)
	}
	s.folder(folder, false)
	return s.found, why
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
