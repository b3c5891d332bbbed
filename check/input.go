package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// InputError says which parts of the input could not be read at all. The report
// that comes with it is of the others.
type InputError struct{ Errs []error }

// Error names every part, one a line.
func (e *InputError) Error() string { return errors.Join(e.Errs...).Error() }

// Unwrap returns the errors of the parts.
func (e *InputError) Unwrap() []error { return e.Errs }

// file is one file of the input, read.
type file struct {
	name string
	// data is the content of a file on disk, if it is kept; nil for what cannot be
	// written back.
	data      []byte
	documents []document
	broken    []*manifest.Error
}

// document is one object of a file.
type document struct {
	*manifest.Object
	// written is what the object was made of, as it stands in the file; nil where
	// that is not found. It is the object itself unless kustomize made it.
	written *manifest.Object
}

// line returns the line of the field in the file.
func (d *document) line(field string) int {
	if d.written == nil {
		return 1
	}
	return d.written.Line(field)
}

// manifestEndings are the file names that are read in a folder, as by kubectl. A
// file that is named itself is read whatever its name.
var manifestEndings = []string{".yaml", ".yml", ".json"}

// input reads files.
type input struct {
	namespace string
	stdin     io.Reader
	// keep says whether the files' content is kept.
	keep bool
	errs []error
}

// read returns the files that the names stand for, each once, in the order of the
// names and inside a folder by name.
func (in *input) read(names []string) []*file {
	var files []*file
	seen := map[string]bool{}
	for _, name := range names {
		if name == Stdin {
			data, err := io.ReadAll(in.stdin)
			if err != nil {
				in.fail(fmt.Errorf("standard input: %w", err))
				continue
			}
			files = append(files, in.parse("<stdin>", data))
			continue
		}
		for _, path := range in.walk(name) {
			if path = filepath.Clean(path); !seen[path] {
				seen[path] = true
				files = append(files, &file{name: path})
			}
		}
	}
	return in.load(files)
}

// walk returns the files that a name stands for.
func (in *input) walk(name string) []string {
	info, err := os.Stat(name)
	if err != nil {
		in.fail(err)
		return nil
	}
	if !info.IsDir() {
		return []string{name}
	}
	var paths []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			in.fail(err)
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && slices.Contains(manifestEndings, filepath.Ext(path)):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		in.fail(err)
	}
	return paths
}

// load reads and parses those files that are only named so far, on all processors.
// It leaves out those that cannot be read.
func (in *input) load(files []*file) []*file {
	var (
		group   sync.WaitGroup
		next    = make(chan int)
		loaded  = make([]*file, len(files))
		failure = make([]error, len(files))
	)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				if files[i].documents != nil {
					loaded[i] = files[i]
					continue
				}
				data, err := os.ReadFile(files[i].name)
				if err != nil {
					failure[i] = err
					continue
				}
				loaded[i] = in.parse(files[i].name, data)
				if in.keep {
					loaded[i].data = data
				}
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	group.Wait()
	for _, err := range failure {
		if err != nil {
			in.fail(err)
		}
	}
	return slices.DeleteFunc(loaded, func(f *file) bool { return f == nil })
}

// parse reads the documents. It is safe for concurrent use.
func (in *input) parse(name string, data []byte) *file {
	f := &file{name: name, documents: []document{}}
	objects, errs := manifest.Read(name, data, in.namespace)
	for _, object := range objects {
		f.documents = append(f.documents, document{object, object})
	}
	for _, err := range errs {
		f.broken = append(f.broken, brokenAt(name, err))
	}
	return f
}

// brokenAt returns the error with its place; line 1 where it names none.
func brokenAt(name string, err error) *manifest.Error {
	var at *manifest.Error
	if errors.As(err, &at) {
		return at
	}
	return &manifest.Error{Origin: manifest.Origin{File: name, Line: 1}, Err: err}
}

func (in *input) fail(err error) { in.errs = append(in.errs, err) }
