// Package repository reads files that somebody else may have written: regular files of
// bounded size, below the root of the repository that they are in.
package repository

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Files are the files below some roots. It is safe for concurrent use.
type Files struct {
	// roots are without links, and written are the same as they were given.
	roots, written []string
	// named are the paths that the user gave, as they are.
	named map[string]bool

	mu sync.Mutex
	// folders are those that were resolved: the path without links, or empty if that is
	// outside the roots.
	folders map[string]string
}

// New returns the files of the repositories that the paths are in. The paths are those that
// the user named: a file among them need not be a regular one. If there is a root, it is that of
// all paths below it.
func New(root string, paths ...string) *Files {
	f := &Files{named: map[string]bool{}, folders: map[string]string{}}
	for _, path := range paths {
		f.named[filepath.Clean(path)] = true
		f.add(RootOf(root, path))
	}
	return f
}

func (f *Files) add(root string) {
	if resolved, err := filepath.EvalSymlinks(absolute(root)); err == nil && !slices.Contains(f.roots, resolved) {
		f.roots, f.written = append(f.roots, resolved), append(f.written, absolute(root))
	}
}

// Root returns the root of the repository that the path is in: the closest folder above it
// with a .git. Where there is none, it is the working directory, if the path is below that, or else
// the path's own folder.
func Root(path string) string {
	start := absolute(path)
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		start = filepath.Dir(start)
	}
	if root := gitRoot(start); root != "" {
		return root
	}
	if here, err := os.Getwd(); err == nil && filepath.Dir(here) != here && within(here, start) {
		return here
	}
	return start
}

// RootOf returns the root, as an absolute path, if there is one and the path is below it, or else Root.
func RootOf(root, path string) string {
	if root != "" && within(absolute(root), absolute(path)) {
		return absolute(root)
	}
	return Root(path)
}

// gitRoot returns the closest folder with a .git, or an empty path. What belongs to another
// user than the folder itself does not count: anyone can put a .git into a folder that is shared.
func gitRoot(folder string) string {
	start, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	for at := folder; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil && sameOwner(start, info) {
			return at
		}
		if filepath.Dir(at) == at {
			return ""
		}
	}
}

func absolute(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// within reports whether the path is the folder, or below it.
func within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

// Inside reports whether the path, as it is written, is below one of the roots.
func (f *Files) Inside(path string) bool {
	path = absolute(path)
	for _, root := range slices.Concat(f.roots, f.written) {
		if within(root, path) {
			return true
		}
	}
	return false
}

// Resolve returns the path without links. It is an error if that is outside the roots, or
// neither a folder nor a regular file that is small enough.
func (f *Files) Resolve(path string) (resolved string, isFolder bool, err error) {
	path = absolute(path)
	info, err := os.Lstat(path)
	if err != nil {
		return "", false, err
	}
	if info.Mode()&fs.ModeSymlink == 0 && !info.IsDir() {
		folder, err := f.folder(filepath.Dir(path))
		if err != nil {
			return "", false, err
		}
		return filepath.Join(folder, filepath.Base(path)), false, allowed(path, info)
	}
	if resolved, err = f.folder(path); err != nil {
		return "", false, err
	}
	if info, err = os.Lstat(resolved); err != nil {
		return "", false, err
	}
	return resolved, info.IsDir(), allowed(path, info)
}

// folder resolves a path, and remembers it.
func (f *Files) folder(path string) (string, error) {
	f.mu.Lock()
	resolved, known := f.folders[path]
	f.mu.Unlock()
	if !known {
		var err error
		if resolved, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
		if !f.Inside(resolved) {
			resolved = ""
		}
		f.mu.Lock()
		f.folders[path] = resolved
		f.mu.Unlock()
	}
	if resolved == "" {
		return "", &OutsideError{Path: path, Roots: f.roots}
	}
	return resolved, nil
}

// OutsideError is why a file is not read that is outside the repository.
type OutsideError struct {
	Path  string
	Roots []string
}

// Error names the file, and the root.
func (o *OutsideError) Error() string {
	if len(o.Roots) == 0 {
		return relative(o.Path) + " is outside the repository"
	}
	return fmt.Sprintf("%s is outside the repository in %s", relative(o.Path), strings.Join(o.Roots, ", "))
}

// relative returns the path as seen from the working directory, if it is below that. From the root of the disk, a path stays as it is.
func relative(path string) string {
	if here, err := os.Getwd(); err == nil && here != filepath.Dir(here) && within(here, path) {
		if short, err := filepath.Rel(here, path); err == nil {
			return short
		}
	}
	return path
}

// Named reports whether the user named the path, as it is.
func (f *Files) Named(path string) bool { return f.named[filepath.Clean(path)] }

// Check returns why a file must not be read, if it must not. What the user named may be what it is,
// a pipe for example, unless it is a link out of a git repository.
func (f *Files) Check(path string) error {
	if !f.Named(path) {
		_, _, err := f.Resolve(path)
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	link, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if link.Mode()&fs.ModeSymlink == 0 || gitRoot(filepath.Dir(absolute(path))) == "" {
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link to what is not a regular file", path)
	}
	_, err = f.folder(absolute(path))
	return err
}

// Read reads a file of the repository. What is read is what was looked at, also if somebody
// puts a link in its place meanwhile.
func (f *Files) Read(path string) ([]byte, error) {
	if !f.Named(path) {
		return f.read(path)
	}
	if err := f.Check(path); err != nil {
		return nil, err
	}
	looked, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	shared := gitRoot(filepath.Dir(absolute(path))) != ""
	if shared && looked.Mode()&fs.ModeSymlink != 0 {
		return f.read(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && shared && !os.SameFile(looked, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", relative(path))
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(file)
	}
	return data, errors.Join(err, file.Close())
}

// read reads a regular file. It opens the path without links, below a root that it cannot leave.
func (f *Files) read(path string) ([]byte, error) {
	resolved, _, err := f.Resolve(path)
	if err != nil {
		return nil, err
	}
	roots := slices.Concat(f.roots, f.written)
	root := roots[slices.IndexFunc(roots, func(root string) bool { return within(root, resolved) })]
	name, err := filepath.Rel(root, resolved)
	if err != nil {
		return nil, err
	}
	below, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	file, err := below.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err := errors.Join(err, below.Close()); err != nil {
		return nil, err
	}
	return regular(file, path)
}
