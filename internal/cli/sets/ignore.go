package sets

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// gitIgnore names files and folders that are not looked at, and so does source.GuardIgnore, as git reads them.
const gitIgnore = ".gitignore"

// maxCompared is how often 16 bytes of a pattern are compared with 16 bytes of a path, in all: each takes about 0.1 microseconds, and
// three times that at worst.
const maxCompared = 500_000_000

// ignores are the patterns in a folder.
type ignores struct {
	// above are those of the folders above it; nil for none.
	above    *ignores
	patterns []gitignore.Pattern
	// weight is that of all patterns.
	weight int
	// own are those that are not git's: what they name is left aside on purpose. names are their texts.
	own   []gitignore.Pattern
	names []ignorePattern
}

// ignorePattern is a pattern of ours, in its file, and the reason that the file gives for it.
type ignorePattern struct{ file, text, reason string }

func (p ignorePattern) compare(q ignorePattern) int {
	return cmp.Or(cmp.Compare(p.file, q.file), cmp.Compare(p.text, q.text), cmp.Compare(p.reason, q.reason))
}

// match reports whether the patterns that hold in the folder name the file or folder: the last one that
// does decides.
func (d *discovery) match(i *ignores, path string, isDir bool) bool {
	_, excluded := d.decide(i, path, isDir, func(at *ignores) []gitignore.Pattern { return at.patterns })
	return excluded
}

// matchOwn is match with those that are not git's, and returns which it is.
func (d *discovery) matchOwn(i *ignores, path string, isDir bool) (by ignorePattern, excluded bool) {
	return d.decide(i, path, isDir, func(at *ignores) []gitignore.Pattern { return at.own })
}

func (d *discovery) decide(i *ignores, path string, isDir bool, of func(*ignores) []gitignore.Pattern) (by ignorePattern, excluded bool) {
	parts := segments(path)
	for at := i; at != nil; at = at.above {
		patterns := of(at)
		if d.compared += source.Comparisons(at.weight, path); d.compared > maxCompared {
			d.err = fmt.Errorf("%s: comparing it with %s and %s: %w", path, gitIgnore, source.GuardIgnore, source.ErrCompared)
			return by, false
		}
		for n, pattern := range slices.Backward(patterns) {
			if result := pattern.Match(parts, isDir); result != gitignore.NoMatch {
				if n < len(at.names) {
					by = at.names[n]
				}
				return by, result == gitignore.Exclude
			}
		}
	}
	return by, false
}

// ignored returns where a file or folder is that is not to be looked at: in sight, if it is.
func (d *discovery) ignored(path string, isDir bool) (place, ignorePattern) {
	patterns := d.ignoresOf(filepath.Dir(path))
	passed := isDir && PassedOver(filepath.Base(path))
	if !passed && !d.match(patterns, path, isDir) {
		if by, own := d.without(path); isDir && own {
			return leftAside, by
		}
		return inSight, ignorePattern{}
	}
	by, own := d.matchOwn(patterns, path, isDir)
	switch {
	case own:
		return leftAside, by
	case passed:
		return passedOver, by
	}
	return ignoredByGit, by
}

// without reports whether a pattern of ours names the file that makes the folder a kustomization or a chart: without it, the other
// files there are none.
func (d *discovery) without(folder string) (by ignorePattern, own bool) {
	for _, file := range []string{filepath.Join(folder, source.ChartFile), build.KustomizationFile(folder)} {
		if by, own = d.matchOwn(d.ignoresOf(folder), file, false); own && file != folder && source.IsFile(file) {
			return by, true
		}
	}
	return by, false
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
	if parent := filepath.Dir(absolute); parent != absolute && d.disk.Files.Inside(parent) {
		found.above = d.ignoresOf(parent)
	}
	for _, name := range []string{gitIgnore, source.GuardIgnore} {
		data, err := d.disk.Files.Read(filepath.Join(absolute, name))
		if err != nil {
			continue // there is none
		}
		patterns, err := source.Patterns(data)
		d.heed(found, absolute, name, patterns, nil, err)
	}
	if d.project != nil && slices.Equal(segments(d.project.folder), segments(absolute)) {
		patterns, reasons := patternsOf(d.project.Ignore)
		d.heed(found, absolute, ProjectFile, patterns, reasons, nil)
	}
	if found.above != nil && len(found.patterns) == 0 {
		found = found.above
	}
	d.ignores[absolute] = found
	return found
}

// heed adds the patterns of a file in the folder, unless there are too many; reasons are those for them, if the file gives any.
func (d *discovery) heed(found *ignores, folder, name string, patterns, reasons []string, err error) {
	if err == nil {
		err = source.TooMany(d.patterns + len(patterns))
	}
	if err != nil {
		d.hidden(relative(filepath.Join(folder, name)), "its patterns are not heeded: "+err.Error())
		return
	}
	d.patterns += len(patterns)
	for i, line := range patterns {
		pattern := gitignore.ParsePattern(line, segments(folder))
		found.patterns, found.weight = append(found.patterns, pattern), found.weight+source.Weight(line)
		if name != gitIgnore {
			found.own = append(found.own, pattern)
			d.Found.patterns[[2]string{filepath.Join(folder, name), line}] = true
			named := ignorePattern{file: relative(filepath.Join(folder, name)), text: line}
			if i < len(reasons) {
				named.reason = reasons[i]
			}
			found.names = append(found.names, named)
		}
	}
}

// What is looked at of what is left aside: so many files and folders, and bytes.
const (
	maxLooked     = 200_000
	maxLookedSize = 1 << 30
)

// lookForHidden looks for files that may hold routes in what is left aside: git may track what it ignores, and
// a file of dependencies may be applied, all the same.
func (d *discovery) lookForHidden(root string, where place, by ignorePattern) {
	at := where
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err := cmp.Or(d.ctx.Err(), d.err); err != nil {
			return filepath.SkipAll
		}
		if d.looked++; d.looked > maxLooked || d.lookedAt > maxLookedSize {
			d.notLooked(path, at, by)
			return filepath.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // the others are looked at all the same
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir // git tracks nothing in it
		}
		here, name := at, by
		if own, is := d.matchOwn(d.ignoresOf(filepath.Dir(path)), path, entry.IsDir()); where != leftAside && is {
			here, name = leftAside, own
		}
		switch {
		case entry.IsDir() && path != root && here != at:
			d.lookForHidden(path, here, name)
			return filepath.SkipDir
		case entry.IsDir():
			for _, file := range []string{filepath.Join(path, source.ChartFile), build.KustomizationFile(path)} {
				if info, err := os.Stat(file); err == nil && !info.IsDir() {
					d.makers = append(d.makers, maker{folder: path, file: file, place: here, by: name})
				}
			}
		case source.IsManifest(path):
			d.holder(path, here, name)
		}
		return nil
	})
}

// holder notes a file that is left aside, if it may hold routes.
func (d *discovery) holder(path string, where place, by ignorePattern) {
	path = filepath.Clean(path)
	if d.seen[path] || d.held[path] { // by way of another path
		return
	}
	d.held[path] = true
	data, err := d.read(path)
	d.lookedAt += len(data)
	if err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case where == leftAside:
			d.holders = append(d.holders, holder{path: path, place: where, by: by})
		default:
			d.hidden(path, "cannot be read: "+err.Error()+"; if it is not deployed, name it in "+source.GuardIgnore)
		}
		return
	}
	if h, may := routesIn(d.namespace, path, yaml.UTF8(data)); may {
		h.place, h.by = where, by
		d.holders = append(d.holders, h)
	}
}

// notLooked notes that not all was looked at.
func (d *discovery) notLooked(path string, where place, by ignorePattern) {
	switch {
	case where == leftAside:
		d.unlooked[by] = true
	case !d.reported[""]:
		d.reported[""] = true
		d.hidden(path, "ignored by .gitignore, or in a hidden directory, node_modules, or vendor, as so many files are that they were not all looked at; name what is not deployed in "+source.GuardIgnore)
	}
}

// segments returns the parts of the absolute path.
func segments(path string) []string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
}
