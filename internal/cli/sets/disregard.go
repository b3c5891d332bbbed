package sets

import (
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
)

// closestFile returns the ProjectFile in the folder of the path or the closest one above it, as far as the root of the repository; empty for none.
func closestFile(path string) string {
	folder := closest(path, func(absolute string) bool { return exists(filepath.Join(absolute, ProjectFile)) })
	if folder == "" || !Below(folder, repository.Root(absolute(path))) {
		return ""
	}
	return filepath.Join(folder, ProjectFile)
}

// disregard notes a ProjectFile that is not that of the project: one counts for a search, and it is that of the first path.
func (d *discovery) disregard(path string) {
	if path == "" || d.project != nil && resolved(filepath.Dir(path)) == resolved(d.project.folder) {
		return
	}
	if path = relative(absolute(path)); !slices.Contains(d.disregarded, path) {
		d.disregarded = append(d.disregarded, path)
		d.counts = d.project.counts()
	}
}

// counts says which ProjectFile counts.
func (p *Project) counts() string {
	if p == nil {
		return "none is in the directory of the first PATH, or above it"
	}
	return "the one that counts is " + filepath.ToSlash(p.File()) + ", by the first PATH"
}

// disregardedNotices say which files of projects do not count.
func (f *Found) disregardedNotices() (notices []report.Notice) {
	for _, path := range f.disregarded {
		notices = append(notices, report.Notice{Path: filepath.ToSlash(path), Message: "has no effect here: " + f.counts + "; to use this one, check its directory alone"})
	}
	return notices
}
