package command

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// adopt has the base at the path judged by its own project: by its configuration, unless a flag names one, and beside its context. A base
// without a project is judged as the input is. An error says that the base is broken: who repairs it is not to blame.
func adopt(given configuration, root, path string, base *check.Options) (*sets.Project, error) {
	project, err := sets.FindProjectBelow(root, path)
	if err != nil || project == nil {
		return nil, err
	}
	if err := applyProject(project, &given, base); err != nil {
		return nil, err
	}
	base.Config, err = given.load()
	return project, err
}

// compareFolders compares the sets that are found below the path with those below the base.
func (f *diffFlags) compareFolders(ctx context.Context, project *sets.Project) (*report.Diff, error) {
	base := f.options
	theirs, err := adopt(f.given, "", f.base[0], &base)
	if err != nil {
		return check.NotCompared(err), ctx.Err()
	}
	above := project.Above(f.paths[0])
	if above != theirs.Above(f.base[0]) {
		return nil, fmt.Errorf("one of %s and %s is, or holds, what %s names for all sets; compare the directory of that file with its other version", f.paths[0], f.base[0], sets.ProjectFile)
	}
	same := func(string) string { return above }
	after, err := find(ctx, &f.options, widened(f.paths, same), project)
	if err != nil {
		return nil, err
	}
	before, err := find(ctx, &base, widened(f.base, same), theirs)
	if err != nil {
		return check.NotCompared(err), ctx.Err()
	}
	start, err := filepath.Abs(f.paths[0])
	if err != nil {
		return nil, err
	}
	return check.DiffSets(ctx, before, after, func(path string) (string, error) {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		within, err := filepath.Rel(start, absolute)
		if err != nil {
			return "", err
		}
		return filepath.Abs(filepath.Join(f.base[0], within))
	})
}

// find finds the sets of a version, by its own project, below the paths, of which a base may have none.
func find(ctx context.Context, options *check.Options, paths []string, project *sets.Project) (found *check.Found, err error) {
	found = &check.Found{Options: options, Project: project, Found: &sets.Found{}}
	if len(paths) > 0 {
		found.Path = paths[0]
		found.Found, err = check.FindSets(ctx, options, paths, project)
	} else if project != nil { // they are new
		_, found.Elsewhere, err = project.SetsAt(nil)
	}
	return found, err
}
