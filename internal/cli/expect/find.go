package expect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// FileName is the name of a file of tests, and how the names of others end: cart.gammaguard-test.yaml.
const FileName = "gammaguard-test.yaml"

// isTests reports whether a file of that name is looked for in folders.
func isTests(name string) bool { return name == FileName || strings.HasSuffix(name, "."+FileName) }

// Find reads the files of tests that the names stand for: files, patterns of files as in a shell, and folders, where
// files are found by their names. It passes over the folders that gammaguard check passes over.
func Find(names []string) ([]*File, error) {
	var paths []string
	for _, name := range names {
		found, err := matching(name)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			if path = filepath.Clean(path); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no file named %s or *.%s in %s; to write one from today's routes, use --init", FileName, FileName, strings.Join(names, ", "))
	}
	readable := repository.New("", names...)
	var files []*File
	var errs []error
	tests := 0
	for _, path := range paths {
		text, err := readable.Read(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f, err := Decode(path, text)
		errs = append(errs, err)
		files = append(files, f)
		if tests += len(f.Tests); tests > maxTests {
			return nil, fmt.Errorf("%s: there are more than %d tests", path, maxTests)
		}
	}
	return files, errors.Join(errs...)
}

// matching returns the files that a name stands for.
func matching(name string) (paths []string, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.IsDir():
		return []string{name}, nil
	case err != nil:
		if paths, globErr := filepath.Glob(name); globErr == nil && len(paths) > 0 {
			return slices.DeleteFunc(paths, func(path string) bool {
				info, err := os.Stat(path)
				return err == nil && info.IsDir()
			}), nil
		}
		return nil, err
	}
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && sets.PassedOver(entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir() && isTests(entry.Name()):
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
