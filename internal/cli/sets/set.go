package sets

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// Set is what is deployed together, and so judged together: nothing outside it is
// known, but what the options name for all.
type Set struct {
	Kind report.SetKind
	Path string
	// Values is the file in the chart's folder ci that overrides its values; empty for
	// none.
	Values string

	// Within are the files that may be read for it; nil for those of the options.
	Within *repository.Files
	// Taken is what it took of the files of the repository when it was run; nil if nobody asks.
	Taken *source.Taken
	// Named is set if somebody named it, so that it must be there.
	Named bool
	// Missing is what NamedBy found not to exist of it; nil for nothing.
	Missing error
	// Outside is set if it was chosen only because it uses files at the paths that were looked at.
	Outside bool
	// Aside are the files and folders below Files that a pattern leaves aside, by their absolute paths.
	Aside map[string]bool
	// Others is set for a chart with its own values that is a set with other values, too.
	Others bool
	// Lent are the files of a directory that kustomizations use, by the folder of the one to build. Unmade are those of them that cannot be
	// built, so that the directory has its files again: what is left of them alone was never meant to be deployed.
	Lent   map[string][]string
	Unmade []string
	// One of the following is what there is to read.
	Files         []string
	Kustomization string
	Chart         *source.Chart
}

// Described is how reports name it.
func (s *Set) Described() report.Set {
	kind := s.Kind
	if s.Named && len(s.Files) == 1 && source.IsManifest(s.Files[0]) {
		kind = report.File
	}
	return report.Set{Kind: kind, Path: filepath.ToSlash(s.Path), Values: filepath.ToSlash(s.Values)}
}

// File returns the file that makes it a set: the kustomization, or the chart's; empty for a
// folder.
func (s *Set) File() string {
	switch s.Kind {
	case report.Kustomization:
		return build.KustomizationFile(s.Path)
	case report.Chart:
		return filepath.Join(s.Path, source.ChartFile)
	case report.Directory:
	}
	return ""
}

// closest returns the path, or the folder closest above it, of which that is true; empty for none.
func closest(path string, is func(absolute string) bool) string {
	absolute, err := filepath.Abs(path)
	for ; err == nil; absolute = filepath.Dir(absolute) {
		if is(absolute) {
			return absolute
		}
		if absolute == filepath.Dir(absolute) {
			break
		}
	}
	return ""
}

// Regroup has the directories of manifests that were found be in the named sets of files, which another version has. What that reads and
// this version lacks is left aside.
func (f *Found) Regroup(named []Set) {
	var kept []Set
	users := NewUsers(named)
	for _, set := range f.Sets {
		set.Files = slices.DeleteFunc(slices.Clone(set.Files), func(file string) bool { return len(users.Of(file)) > 0 })
		if set.Kind != report.Directory || len(set.Files) > 0 {
			kept = append(kept, set)
		}
	}
	for _, set := range named {
		set.Within, set.Taken, set.Aside = f.disk.Files, source.NewTaken(), map[string]bool{}
		for path, by := range f.aside {
			set.Aside[path] = by != gitIgnore && !slices.Contains(set.Files, path)
		}
		for _, file := range set.Files {
			set.Aside[file] = set.Aside[file] || !exists(file)
		}
		if slices.ContainsFunc(set.Files, exists) {
			kept = append(kept, set)
		}
	}
	f.Sets = kept
}

// Regain has the set of a directory have the files again that kustomizations use, of which unmade says so.
func (s *Set) Regain(unmade func(folder string) bool) {
	for _, folder := range slices.Sorted(maps.Keys(s.Lent)) {
		if unmade(folder) {
			s.Files, s.Unmade = slices.Concat(s.Files, s.Lent[folder]), append(s.Unmade, folder)
			slices.Sort(s.Files)
		}
	}
	s.Lent = nil
}

// Find returns the sets below the paths, by default the working directory: those of
// the project, which may be nil, or, if it names none, those that discover finds. It also
// returns what was left aside, and what the sets must have read. Other named paths may be read, too.
func Find(ctx context.Context, options *source.Options, paths, named []string, project *Project) (*Found, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	disk := source.Open(options, slices.Concat(paths, named))
	defer disk.Close() // nothing is built
	found, err := discover(ctx, disk, options.Root, options.Namespace, paths, project)
	if err != nil {
		return nil, err
	}
	for _, all := range [][]Set{found.Sets, found.Elsewhere, found.Bare} {
		for i := range all {
			all[i].Within, all[i].Taken = disk.Files, source.NewTaken()
		}
	}
	return found, nil
}

// Excuse notes that the files of a set that was not built are reported with the set.
func (s *Set) Excuse(disk *source.Disk) {
	if s.Taken == nil {
		return
	}
	if s.Chart != nil {
		s.Taken.Below(disk.Resolved(s.Chart.Path))
	}
	for _, file := range s.Files {
		path := disk.Resolved(file)
		s.Taken.Whole(path)
		s.Taken.Below(path)
	}
	if s.Kustomization != "" {
		used := source.Uses(disk.Read, s.Kustomization)
		for path := range used {
			s.Taken.Whole(disk.Resolved(path))
		}
		if len(used) <= 1 { // it cannot be read, and so not what it uses
			s.Taken.Below(disk.Resolved(s.Kustomization))
		}
	}
}
