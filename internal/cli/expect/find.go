package expect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// FileName is the name of a file of tests, and how the names of others end: cart.gammaguard-test.yaml.
const FileName = "gammaguard-test.yaml"

// isTests reports whether a file of that name is looked for in folders: FileName, or what ends in it, also with the other ending of YAML.
func isTests(name string) bool {
	if stem, other := strings.CutSuffix(name, ".yml"); other {
		name = stem + ".yaml"
	}
	return name == FileName || strings.HasSuffix(name, "."+FileName)
}

// ofKind finds the kind of a file of tests.
var ofKind = regexp.MustCompile(`(?m)^kind: *` + Kind + `\b`)

// Find reads the files of tests that the names stand for: files, patterns of files as in a shell, and folders, where
// files are found by their names. It passes over the folders that gammaguard check passes over. The notes are about files of the kind
// in these folders that have other names.
func Find(names []string) (files []*File, notes []string, _ error) {
	var paths, others []string
	for _, name := range names {
		found, besides, err := matching(name)
		if err != nil {
			return nil, nil, err
		}
		for _, path := range found {
			if path = filepath.Clean(path); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		others = append(others, besides...)
	}
	readable := repository.New("", names...)
	for _, path := range others {
		if text, err := readable.Read(path); err == nil && ofKind.Match(yaml.UTF8(text)) && !slices.Contains(paths, filepath.Clean(path)) {
			notes = append(notes, fmt.Sprintf("%s is of kind %s, and is not run: its name must be %s, or end in .%s (or .yml)", filepath.ToSlash(path), Kind, FileName, FileName))
		}
	}
	if len(paths) == 0 && len(notes) > 0 {
		return nil, nil, errors.New(notes[0])
	}
	if len(paths) == 0 {
		return nil, nil, fmt.Errorf("no file named %s or *.%s (or .yml) in %s; to write one from today's routes, use --init", FileName, FileName, strings.Join(names, ", "))
	}
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
			return nil, nil, fmt.Errorf("%s: there are more than %d tests", path, maxTests)
		}
	}
	return files, notes, errors.Join(errs...)
}

// matching returns the files that a name stands for, and the other files of YAML in its folders.
func matching(name string) (paths, others []string, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.IsDir():
		return []string{name}, nil, nil
	case err != nil:
		if paths, globErr := filepath.Glob(name); globErr == nil && len(paths) > 0 {
			return slices.DeleteFunc(paths, func(path string) bool {
				info, err := os.Stat(path)
				return err == nil && info.IsDir()
			}), nil, nil
		}
		return nil, nil, err
	}
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && sets.PassedOver(entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir() && isTests(entry.Name()):
			paths = append(paths, path)
		case !entry.IsDir() && source.IsManifest(path):
			others = append(others, path)
		}
		return nil
	})
	return paths, others, err
}
