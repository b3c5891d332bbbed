package check

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// file is one file of the input, read.
type file struct {
	name      string
	documents []document
	broken    []error // each a *manifest.Error
	// sets, if it was built, finds where a field of an object in it is given its value: in
	// a patch, or a file of values. kustomization is that which built it, if one did.
	sets          func(object *manifest.Object, field string, value any) (place report.Place, found bool)
	kustomization string
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

// maxInput is how much is read of the files of one set, in bytes: a file counts as often as it is named.
const maxInput = 64 << 20

// input reads files.
type input struct {
	namespace string
	stdin     io.Reader
	readFile  func(path string) ([]byte, error)
	// isNamed reports whether the user named the file: it does not count.
	isNamed func(path string) bool
	errs    []error
	// used counts the bytes of maxInput that are read, built those that kustomize or Helm made, and objects
	// those of manifest.MaxObjects.
	used, built, objects atomic.Int64
}

// tooLarge is why a set is not checked.
type tooLarge struct{}

func (tooLarge) Error() string {
	return fmt.Sprintf("its files have more than %d MiB, %d million values, or %d objects", maxInput>>20, maxValues, manifest.MaxObjects)
}

// valueSize is what a value in a file counts at least, in bytes: while it is looked at, it takes some ten times that.
const valueSize = 16

// maxValues is how many values the files of a set may have, in millions.
const maxValues = maxInput / valueSize / 1_000_000

// size returns what a file counts.
func size(data []byte) int { return max(len(data), valueSize*yaml.Nodes(data)) }

// over returns an error if there is more than may be read.
func (in *input) over() error {
	if max(in.used.Load(), in.built.Load()) > maxInput || in.objects.Load() > manifest.MaxObjects {
		return tooLarge{}
	}
	return nil
}

// take reads a file that counts.
func (in *input) take(path string) ([]byte, error) {
	if in.isNamed(path) {
		return in.readFile(path)
	}
	if err := in.over(); err != nil {
		return nil, err
	}
	data, err := in.readFile(path)
	if err == nil && in.used.Add(int64(size(data))) > maxInput {
		return nil, tooLarge{}
	}
	return data, err
}

// parseBuilt is parse of what was built, which counts.
func (in *input) parseBuilt(name string, data []byte) (*file, error) {
	in.built.Add(int64(size(data)))
	if err := in.over(); err != nil {
		return nil, err
	}
	return in.parse(name, data), nil
}

// read returns the files that the names stand for, each once, in the order of the
// names and inside a folder by name. It reads on all processors, and leaves out what
// cannot be read.
func (in *input) read(names []string) []*file {
	var paths []string
	for _, name := range names {
		paths = append(paths, in.walk(name)...)
	}
	files, errs := make([]*file, len(paths)), make([]error, len(paths))
	seen := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		if seen[path] {
			continue
		}
		seen[path] = true
		group.Go(func() error {
			files[i], errs[i] = in.file(path)
			return nil
		})
	}
	_ = group.Wait() // the errors stay in order
	in.errs = append(in.errs, errs...)
	return slices.DeleteFunc(files, func(f *file) bool { return f == nil })
}

// walk returns the files that a name stands for.
func (in *input) walk(name string) (paths []string) {
	if name == Stdin {
		return []string{name}
	}
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			in.fail(err)
		case !entry.IsDir() && (path == name || slices.Contains(manifestEndings, filepath.Ext(path))):
			paths = append(paths, filepath.Clean(path))
		}
		return nil
	})
	in.fail(err)
	return paths
}

// file reads one file.
func (in *input) file(path string) (*file, error) {
	if path == Stdin {
		data, err := io.ReadAll(in.stdin)
		return in.parse(report.Stdin, data), err
	}
	data, err := in.take(path)
	if err != nil {
		return nil, err
	}
	return in.parse(path, data), nil
}

// parse reads the documents. It is safe for concurrent use.
func (in *input) parse(name string, data []byte) *file {
	objects, errs := manifest.ReadUndecoded(name, data, in.namespace)
	in.objects.Add(int64(len(objects) + len(errs)))
	f := &file{name: name, broken: errs}
	for _, object := range objects {
		f.documents = append(f.documents, document{object, object})
	}
	return f
}

func (in *input) fail(err error) { in.errs = append(in.errs, err) }
