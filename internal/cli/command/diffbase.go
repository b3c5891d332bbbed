package command

import (
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

// adopt has the base at the path judged by its own project: by its configuration, unless a flag names one, and beside its context. A base
// without a project is judged as the input is.
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
