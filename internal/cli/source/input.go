package source

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// File is one file of the input, read.
type File struct {
	Name      string
	Documents []Document
	Broken    []error // each a *manifest.Error
	// sets, if kustomize made it, finds the patch that gives a field of an object in it its value. kustomization is
	// that which built it.
	sets          func(d *Document, field string, value any, is state) (place report.Place, found bool)
	kustomization string
	// template is that which it was made of, if Helm made it.
	template *template
	// names are the documents by name, once naming was done.
	names  map[string][]Document
	naming sync.Once
	// archived is set if it was made of a template in an archive, so that there is no file of its name.
	archived bool
}

// Document is one object of a file.
type Document struct {
	*manifest.Object
	// Written is what the object was made of, as it stands in the file; nil where
	// that is not found. It is the object itself unless kustomize made it.
	Written *manifest.Object
	// template is that which it was made of, if Helm made it.
	template *template
}

// Line returns the line of the field in the file.
func (d *Document) Line(field string) int {
	switch {
	case d.template != nil:
		return d.template.line(d.Object.Line(field))
	case d.Written == nil:
		return 1
	}
	return d.Written.Line(field)
}

// IsManifest reports whether a file of that name is read in a folder, as by kubectl. A
// file that is named itself is read whatever its name.
func IsManifest(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path))
}

// IsFile reports whether there is a file at the path, or at the end of a link there.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// MaxInput is how much is read of the files of one set, in bytes: a file counts as often as it is named.
const MaxInput = 64 << 20

// Input reads what one set is made of.
type Input struct {
	*Disk
	taken *Taken
	errs  []error
	// unbuilt has one entry for each name that was read.
	unbuilt []Unbuilt
	// used counts the bytes of MaxInput that are read, built those that kustomize or Helm made, and objects
	// those of manifest.MaxObjects.
	used, built, objects atomic.Int64
	// compared counts the comparisons of maxCompared.
	compared atomic.Int64
}

// Input returns what reads a set, and notes what of the repository it took, unless taken is nil.
func (d *Disk) Input(taken *Taken) *Input {
	in := &Input{Disk: d, taken: taken}
	if d.builder != nil {
		d.builder.Use(readable{in, map[string]bool{}})
	}
	return in
}

// Errors are why files could not be read; some may be nil.
func (in *Input) Errors() []error { return in.errs }

func (in *Input) namespace() string { return cmp.Or(in.options.Namespace, "default") }

// TooLargeError is why a set is not checked.
type TooLargeError struct{}

// Error says how much may be read.
func (TooLargeError) Error() string {
	return fmt.Sprintf("its files have more than %d MiB, %d million values, or %d objects", MaxInput>>20, MaxValues, manifest.MaxObjects)
}

// valueSize is what a value in a file counts at least, in bytes: while it is looked at, it takes some ten times that.
const valueSize = 16

// MaxValues is how many values the files of a set may have, in millions.
const MaxValues = MaxInput / valueSize / 1_000_000

// Size returns what a file counts, in bytes.
func Size(data []byte) int { return max(len(data), valueSize*yaml.Nodes(data)) }

// Over returns an error if there is more than may be read.
func (in *Input) Over() error {
	if max(in.used.Load(), in.built.Load()) > MaxInput || in.objects.Load() > manifest.MaxObjects {
		return TooLargeError{}
	}
	return nil
}

// take reads a file that counts.
func (in *Input) take(path string) ([]byte, error) {
	if in.Files.Named(path) {
		return in.Disk.Read(path)
	}
	if err := in.Over(); err != nil {
		return nil, err
	}
	data, err := in.Disk.Read(path)
	if err == nil && in.used.Add(int64(Size(data))) > MaxInput {
		return nil, TooLargeError{}
	}
	return data, err
}

// parseBuilt is parse of what was built, which counts.
func (in *Input) parseBuilt(name string, data []byte) (*File, error) {
	in.built.Add(int64(Size(data)))
	if err := in.Over(); err != nil {
		return nil, err
	}
	return in.parse(name, data), nil
}

// shown is how a path is shown: in the directory pay, ../pay/route.yaml is route.yaml.
func shown(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil || !strings.HasPrefix(path, "..") {
		return path
	}
	return short(path, absolute)
}

// Read is ReadBut with nothing left aside.
func (in *Input) Read(names []string) []*File { return in.ReadBut(names, nil) }

// ReadBut returns the files that the names stand for, but for the files and folders aside, by their absolute paths, each once, in the order of the
// names and inside a folder by name. It reads on all processors, and leaves out what
// cannot be read.
func (in *Input) ReadBut(names []string, aside map[string]bool) []*File {
	var paths []string
	for _, name := range names {
		paths = append(paths, in.walk(name, aside)...)
	}
	files, errs := make([]*File, len(paths)), make([]error, len(paths))
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
	return slices.DeleteFunc(files, func(f *File) bool { return f == nil })
}

// walk returns the files that a name stands for, but for those aside.
func (in *Input) walk(name string, aside map[string]bool) (paths []string) {
	if name == Stdin {
		return []string{name}
	}
	unbuilt := Unbuilt{Name: name}
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case leftAside(aside, path):
			if entry != nil && entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case err != nil:
			in.fail(err)
			return nil
		case entry.IsDir():
			return nil
		case path == name || IsManifest(path):
			paths = append(paths, filepath.Clean(path))
		}
		unbuilt.see(filepath.Clean(path))
		return nil
	})
	in.fail(err)
	in.unbuilt = append(in.unbuilt, unbuilt)
	return paths
}

// leftAside reports whether the path is one of those aside, which are absolute.
func leftAside(aside map[string]bool, path string) bool {
	if len(aside) == 0 {
		return false
	}
	absolute, err := filepath.Abs(path)
	return err == nil && aside[absolute]
}

// Files returns the files that are read of the names, without those aside.
func Files(names []string, aside map[string]bool) (paths []string) {
	in := &Input{}
	for _, name := range names {
		paths = append(paths, in.walk(name, aside)...)
	}
	return paths
}

// file reads one file.
func (in *Input) file(path string) (*File, error) {
	if path == Stdin {
		data, err := io.ReadAll(in.options.Stdin)
		return in.parse(report.Stdin, data), err
	}
	data, err := in.take(path)
	if err != nil {
		return nil, err
	}
	return in.parse(path, data), nil
}

// parse reads the Documents. It is safe for concurrent use.
func (in *Input) parse(name string, data []byte) *File {
	name = shown(name)
	objects, errs := manifest.ReadUndecoded(name, data, in.namespace())
	in.objects.Add(int64(len(objects) + len(errs)))
	f := &File{Name: name, Broken: errs}
	for _, object := range objects {
		f.Documents = append(f.Documents, Document{Object: object, Written: object})
	}
	return f
}

func (in *Input) fail(err error) { in.errs = append(in.errs, err) }

// Built reports whether kustomize or Helm made the file.
func (f *File) Built() bool { return f.sets != nil || f.template != nil }

// Kustomization is the file of the kustomization that built it; empty if none did.
func (f *File) Kustomization() string { return f.kustomization }

// Anew returns what reads the same set again, from the start.
func (in *Input) Anew() *Input { return in.Input(in.taken) }
