package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/gammaguard/gammaguard/yaml"
)

// gitIgnore and guardIgnore name files and folders that are not looked at, as git reads them.
const (
	gitIgnore   = ".gitignore"
	guardIgnore = ".gammaguardignore"
)

// What is heeded: bytes in each file of patterns, and patterns in all, or in one .helmignore.
const (
	maxIgnoreFile = 1 << 20
	maxPatterns   = 10_000
)

// ignores are the patterns in a folder.
type ignores struct {
	// above are those of the folders above it; nil for none.
	above    *ignores
	patterns []gitignore.Pattern
	// own are those that are not git's: what they name is left aside on purpose.
	own []gitignore.Pattern
}

// match reports whether the patterns that hold in the folder name the file or folder: the last one that
// does decides.
func (i *ignores) match(path string, isDir bool) bool {
	return i.decide(path, isDir, func(at *ignores) []gitignore.Pattern { return at.patterns })
}

// matchOwn is match with those that are not git's.
func (i *ignores) matchOwn(path string, isDir bool) bool {
	return i.decide(path, isDir, func(at *ignores) []gitignore.Pattern { return at.own })
}

func (i *ignores) decide(path string, isDir bool, of func(*ignores) []gitignore.Pattern) bool {
	parts := segments(path)
	for at := i; at != nil; at = at.above {
		for _, pattern := range slices.Backward(of(at)) {
			if result := pattern.Match(parts, isDir); result != gitignore.NoMatch {
				return result == gitignore.Exclude
			}
		}
	}
	return false
}

// patternsIn returns the patterns in an ignore file.
func patternsIn(data []byte) (patterns []string, err error) {
	if len(data) > maxIgnoreFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxIgnoreFile>>20)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if line := lines.Text(); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}
	return patterns, tooMany(len(patterns))
}

func tooMany(patterns int) error {
	if patterns > maxPatterns {
		return fmt.Errorf("there are more than %d patterns", maxPatterns)
	}
	return nil
}

// ignoresOf returns the patterns that hold in the folder: its own after those of the
// folders above, as far as the root of the repository.
func (d *discovery) ignoresOf(folder string) *ignores {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		absolute = folder
	}
	if known := d.ignores[absolute]; known != nil {
		return known
	}
	found := &ignores{}
	if parent := filepath.Dir(absolute); parent != absolute && d.files.Inside(parent) {
		found.above = d.ignoresOf(parent)
	}
	for _, name := range []string{gitIgnore, guardIgnore} {
		data, err := d.files.Read(filepath.Join(absolute, name))
		if err != nil {
			continue // there is none
		}
		patterns, err := patternsIn(data)
		d.heed(found, absolute, name, patterns, err)
	}
	if d.project != nil && slices.Equal(segments(d.project.folder), segments(absolute)) {
		d.heed(found, absolute, ProjectFile, d.project.Ignore, nil)
	}
	if found.above != nil && len(found.patterns) == 0 {
		found = found.above
	}
	d.ignores[absolute] = found
	return found
}

// heed adds the patterns of a file in the folder, unless there are too many.
func (d *discovery) heed(found *ignores, folder, name string, patterns []string, err error) {
	if err == nil {
		err = tooMany(d.patterns + len(patterns))
	}
	if err != nil {
		d.hidden(relative(filepath.Join(folder, name)), "its patterns are not heeded: "+err.Error())
		return
	}
	d.patterns += len(patterns)
	for _, line := range patterns {
		pattern := gitignore.ParsePattern(line, segments(folder))
		found.patterns = append(found.patterns, pattern)
		if name != gitIgnore {
			found.own = append(found.own, pattern)
		}
	}
}

// maxHidden bounds how many files and folders that git ignores are looked at.
const maxHidden = 20_000

// lookForHidden reports routes in manifests that git's patterns alone name: git may track them all the
// same, and then they are part of what is deployed.
func (d *discovery) lookForHidden(path string, entry fs.DirEntry) {
	ignores := d.ignoresOf(filepath.Dir(path))
	if entry.IsDir() && PassedOver(entry.Name()) || ignores.matchOwn(path, entry.IsDir()) {
		return
	}
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if d.looked++; d.looked > maxHidden {
			if d.looked == maxHidden+1 {
				d.hidden(path, "ignored by .gitignore, as so many files are that they were not all looked at")
			}
			return filepath.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // the others are looked at all the same
		}
		if entry.IsDir() {
			if PassedOver(entry.Name()) || ignores.matchOwn(path, true) {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(manifestEndings, filepath.Ext(path)) || ignores.matchOwn(path, false) {
			return nil
		}
		data, err := d.read(path)
		switch {
		case errors.Is(err, errLinked):
			d.hidden(path, "cannot be read: "+err.Error())
		case err == nil && looksLikeManifest(yaml.UTF8(data)) && holdsRoute(yaml.UTF8(data)):
			d.hidden(path, "ignored by .gitignore, and it holds routes; check it with -f, or name it in "+guardIgnore)
		}
		return nil
	})
}

// segments returns the parts of the absolute path.
func segments(path string) []string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
}
