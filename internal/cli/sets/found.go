package sets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// Found is what was found in a repository: the sets, and what they must have read once they were run.
type Found struct {
	Sets []Set
	// Elsewhere are the sets that a project names and that the paths do not choose.
	Elsewhere []Set
	// Bare are the directories of manifests without routes, and those whose files kustomizations use, which are no sets: what moves there is still
	// deployed.
	Bare []Set
	// Skipped is what was left aside, whatever the sets read.
	Skipped []report.Skipped

	// none is why no set is chosen of those that a project names.
	none error
	// disk is where it was found, and namespace that of objects that name none.
	disk      *source.Disk
	namespace string
	// holders are the files that may hold routes, and makers the kustomizations and charts.
	holders []holder
	makers  []maker
	// aside are the files and folders that a pattern leaves aside, by their absolute paths, and the file of the pattern.
	aside map[string]string
	// others are the files that are in place of one that is a path, such as those for another cluster, by their absolute paths.
	others map[string]string
	// named are the files and folders that kustomizations name for anything, by their absolute paths.
	named map[string]bool
	// patterns are those of ours that were read, each with its file's absolute path.
	patterns map[[2]string]bool
	// disregarded are the files of projects that do not count.
	disregarded []string
	// counts says which one does.
	counts string
	// unreadable are the files and folders that cannot be read, by their absolute paths, each with why.
	unreadable []report.Skipped
	// reported are the files among Skipped, and unlooked the patterns that name more than was looked at.
	reported map[string]bool
	unlooked map[ignorePattern]bool
	// apart are the paths that were looked at, if they are in several directories of manifests, none of which has what others have.
	apart []string
}

// holder is a file that may hold routes.
type holder struct {
	path string
	// routes are those that can be read; none if it may hold some that cannot. unread is set if some of it cannot be read,
	// and foreign for a template that does not look like one of a route.
	routes          []source.Place
	unread, foreign bool
	// misspelt is set if it has an object that is probably meant to be a route, or that lacks its kind or apiVersion.
	misspelt bool
	// template is set for a file that Helm makes objects of, and values for one of a chart's values.
	template, values bool
	// place says where it is; by is the pattern by which it is left aside on purpose, if that is why.
	place place
	by    ignorePattern
}

// place is where a file is that may hold routes.
type place int

const (
	inSight place = iota
	passedOver
	ignoredByGit
	leftAside
)

// maker is a kustomization, or a chart.
type maker struct {
	folder, file string
	component    bool
	// misnamed is set for a kustomization that kustomize does not find, since it reads no file of that name.
	misnamed bool
	place    place
	by       ignorePattern
}

// None is an error if a project names sets, and the paths choose none of them.
func (f *Found) None() error {
	if len(f.Sets) > 0 {
		return nil
	}
	return f.none
}

// Choose chooses those of the sets elsewhere of which that is true, too.
func (f *Found) Choose(is func(*Set) bool) {
	var others []Set
	for i := range f.Elsewhere {
		if set := &f.Elsewhere[i]; is(set) {
			f.Sets = append(f.Sets, *set)
		} else {
			others = append(others, *set)
		}
	}
	f.Elsewhere = others
}

// HasPattern reports whether the file has the pattern, and holds for what was looked for.
func (f *Found) HasPattern(file, pattern string) bool {
	absolute, err := filepath.Abs(file)
	return err == nil && f.patterns[[2]string{absolute, pattern}]
}

// IgnoredBy returns the file with the pattern by which the path, or a folder above it, was left aside; empty for none.
func (f *Found) IgnoredBy(path string) string {
	return f.aside[closest(path, func(absolute string) bool { return f.aside[absolute] != "" })]
}

// Unread returns what none of the sets has read and may hold routes, once they were run, and notes on what was
// left aside on purpose.
func (f *Found) Unread(ctx context.Context) (skipped []report.Skipped, notices []report.Notice) {
	if f.disk == nil { // nobody looked
		return nil, nil
	}
	all := source.NewTaken()
	for i := range f.Sets {
		if t := f.Sets[i].Taken; t != nil {
			all.Merge(t)
		}
	}
	f.holders = append(f.holders, f.objects(all)...)
	declared := map[ignorePattern][]string{}
	for by := range f.unlooked {
		declared[by] = nil
	}
	for i := range f.holders {
		h := &f.holders[i]
		switch {
		case f.reported[h.path]:
		case h.values && h.place == inSight:
			if makes(all, f.disk.Resolved(filepath.Dir(h.path))) { // else they have no effect on routes
				skipped = append(skipped, report.Skipped{Path: filepath.ToSlash(h.path), Reason: unusedValues, Hides: true})
			}
		case h.values:
			declared[h.by] = append(declared[h.by], h.path)
		case h.taken(all, f.disk.Resolved(h.path)):
			if h.place == leftAside && !slices.ContainsFunc(f.Sets, func(set Set) bool { return slices.Contains(set.Files, h.path) }) {
				text := "its pattern %q has no effect on %s: a kustomization or a chart that is not ignored uses it; to ignore that one, name its directory"
				notices = append(notices, report.Notice{Path: filepath.ToSlash(h.by.file), Message: fmt.Sprintf(text, h.by.text, filepath.ToSlash(h.path))})
			}
		case h.place == leftAside:
			declared[h.by] = append(declared[h.by], h.path)
		default:
			skipped = append(skipped, report.Skipped{Path: filepath.ToSlash(h.path), Reason: f.reason(h, all), Hides: true})
		}
	}
	left, charts := f.unmade(ctx, all, skipped, declared)
	if len(charts) > 0 {
		notices = append(notices, report.Notice{
			Path: charts[0], Message: "not checked: " + named(charts, "chart", "charts") + "; no template and no values.yaml of it has the name of the Gateway API's group",
		})
	}
	if note := f.Others(); note != nil {
		notices = append(notices, *note)
	}
	notices = append(notices, f.disregardedNotices()...)
	if len(f.apart) > 0 {
		notices = append(notices, report.Notice{
			Path: filepath.ToSlash(f.apart[0]), Message: "each directory is a set of its own; to check these paths together, use -f for each", Explains: true,
		})
	}
	for _, by := range slices.SortedFunc(maps.Keys(declared), ignorePattern.compare) {
		why := ""
		if by.reason != "" {
			why = fmt.Sprintf(" (%q)", by.reason)
		}
		which := named(declared[by], "file that may hold routes", "files that may hold routes")
		if strings.HasPrefix(filepath.Base(by.text), ".") && strings.HasSuffix(by.text, "/") { // a hidden folder, such as one with another checkout
			which, _, _ = strings.Cut(which, ":")
		}
		text := fmt.Sprintf("its pattern %q%s ignores %s", by.text, why, which)
		if f.unlooked[by] {
			text += "; not all files were looked at"
		}
		notices = append(notices, report.Notice{Path: filepath.ToSlash(by.file), Message: text, Ignored: len(declared[by]), Pattern: by.text})
	}
	return append(skipped, left...), notices
}

// objects returns which of the files that kustomizations made objects of may hold routes, where the name of the file is not
// that of a manifest.
func (f *Found) objects(all *source.Taken) (holders []holder) {
	for _, path := range all.Objects() {
		if source.IsManifest(path) {
			continue
		}
		if data, err := f.disk.Read(path); err == nil {
			if h, may := routesIn(f.namespace, path, yaml.UTF8(data)); may {
				holders = append(holders, h)
			}
		}
	}
	return holders
}

// Unreadable returns why the file, or a folder that it is in, cannot be read; empty if it can, or is not there.
func (f *Found) Unreadable(file string) string {
	for i := range f.unreadable {
		if u := &f.unreadable[i]; Below(absolute(file), u.Path) {
			return u.Reason
		}
	}
	return ""
}

// taken reports whether the sets have each route of the file, or, where they cannot be read, one that was made of it.
func (h *holder) taken(t *source.Taken, path string) bool {
	switch {
	case t.Excused(path), t.Plain(path):
		return true
	case len(h.routes) == 0:
		return t.Rendered(path) && (h.foreign || t.Makes(path))
	case h.unread && !t.Rendered(path):
		return false
	}
	return !slices.ContainsFunc(h.routes, func(at source.Place) bool { return !t.Has(path, at) })
}

// addValues is what to do about what the templates of a chart do not make.
func addValues(them string, projected bool) string {
	if projected {
		return "add the chart with values that make " + them + " to sets in " + ProjectFile
	}
	return "add a file with the values that make " + them + " to the directory ci of the chart"
}

// unusedValues is why a values file is not rendered.
const unusedValues = "values of a chart with routes, and no set has them; add the chart with them to sets in " + ProjectFile + ", or list in " + source.GuardIgnore

// makes reports whether the sets have made routes of files in the folder.
func makes(t *source.Taken, folder string) bool {
	return slices.ContainsFunc(t.Made(), func(path string) bool { return Below(path, folder) })
}

// addSet is what to do about what a project does not name.
const addSet = "add it to sets in " + ProjectFile

// projected reports whether a project names the sets.
func (f *Found) projected() bool {
	return slices.ContainsFunc(slices.Concat(f.Sets, f.Elsewhere), func(set Set) bool { return set.Named })
}

// reason is why a file is not checked, and what to do about it.
func (f *Found) reason(h *holder, all *source.Taken) string {
	remedy := "check with -f, or list in " + source.GuardIgnore
	folder := filepath.Dir(h.path)
	beside := build.KustomizationFile(folder)
	switch managed := beside != folder && beside != h.path; {
	case h.template:
		remedy = addValues("it", f.projected()) + ", or list in " + source.GuardIgnore
	case h.place != inSight:
	case f.named[absolute(h.path)] && slices.ContainsFunc(f.makers, func(m maker) bool {
		return m.component && Below(h.path, m.folder) && !all.Built(f.disk.Resolved(m.file))
	}):
		remedy = "use its component in a kustomization, or list in " + source.GuardIgnore // alone, it is no route
	case managed && !f.named[absolute(h.path)] && (all.Built(f.disk.Resolved(beside)) || !f.projected()):
		remedy = "add it to resources or patches in " + filepath.Base(beside) + ", " + remedy
	case !managed && f.projected():
		remedy = addSet + ", " + remedy
	}
	switch {
	case h.place == ignoredByGit:
		return "ignored by .gitignore, and may hold routes; " + remedy
	case h.place == passedOver:
		return "in a hidden directory, node_modules, or vendor, and may hold routes; " + remedy
	case len(h.routes) == 0:
		return "may hold routes, and no set has made one; " + remedy
	}
	return "holds routes that no set has; " + remedy
}

// maxNamed is how many files one line names.
const maxNamed = 5

// named reads "2 files: a, b", and names the first few.
func named(paths []string, one, many string) string {
	text := report.Count(len(paths), one, many)
	if len(paths) == 0 {
		return text
	}
	text += ": " + filepath.ToSlash(strings.Join(paths[:min(len(paths), maxNamed)], ", "))
	if more := len(paths) - maxNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// maxGroups is how many entries there are for what may hold routes.
const maxGroups = 1000

// Group makes one entry of those in one folder with the same reason.
func Group(skipped []report.Skipped) (all []report.Skipped) {
	type group struct{ folder, reason string }
	in := func(s *report.Skipped) group { return group{filepath.ToSlash(filepath.Dir(s.Path)), s.Reason} }
	files := map[group][]string{}
	for _, s := range skipped {
		at := in(&s)
		if files[at] = append(files[at], s.Path); len(files[at]) == 1 {
			all = append(all, s)
		}
	}
	for i := range all {
		if at := in(&all[i]); len(files[at]) > 1 {
			many := "files"
			if !source.IsFile(filepath.FromSlash(all[i].Path)) { // kustomizations and charts
				many = "directories"
			}
			all[i].Path, all[i].Reason = at.folder, named(files[at], "", many)+": "+at.reason
		}
	}
	slices.SortStableFunc(all, func(a, b report.Skipped) int { return cmp.Compare(a.Path, b.Path) })
	if more := len(all) - maxGroups; more > 0 {
		all = append(all[:maxGroups], report.Skipped{Path: all[maxGroups].Path, Reason: fmt.Sprintf("may hold routes, as %d more such files or directories", more-1), Hides: true})
	}
	return all
}
