package check

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignoreFiles name files and folders that are not looked at, as git reads them.
var ignoreFiles = []string{".gitignore", ".gammaguardignore"}

// ignores are the patterns that hold in a folder, and those of the folders above it.
type ignores struct {
	patterns []gitignore.Pattern
	matcher  gitignore.Matcher
}

// match reports whether the patterns name the file or folder.
func (i *ignores) match(path string, isDir bool) bool { return i.matcher.Match(segments(path), isDir) }

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
	_, notRoot := os.Stat(filepath.Join(absolute, ".git"))
	if parent := filepath.Dir(absolute); parent != absolute && notRoot != nil {
		found.patterns = append(found.patterns, d.ignoresOf(parent).patterns...)
	}
	for _, name := range ignoreFiles {
		data, err := os.ReadFile(filepath.Join(absolute, name))
		if err != nil {
			continue // there is none
		}
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			if line := lines.Text(); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
				found.patterns = append(found.patterns, gitignore.ParsePattern(line, segments(absolute)))
			}
		}
	}
	if d.project != nil && slices.Equal(segments(d.project.folder), segments(absolute)) {
		for _, line := range d.project.Ignore {
			found.patterns = append(found.patterns, gitignore.ParsePattern(line, segments(absolute)))
		}
	}
	found.matcher = gitignore.NewMatcher(found.patterns)
	d.ignores[absolute] = found
	return found
}

// segments returns the parts of the absolute path.
func segments(path string) []string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
}
