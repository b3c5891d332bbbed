// Package ci has what other repositories take from this one: the pre-commit hooks, the GitHub
// Action, and the GitLab template. Each is decoded strictly, and run as its system runs it.
package ci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Hook is a pre-commit hook.
type Hook struct {
	ID, Name, Description, Language, Entry string
	AlwaysRun                              bool  `json:"always_run"`
	PassFilenames                          *bool `json:"pass_filenames"`
}

// Action is the GitHub Action.
type Action struct {
	Name, Description string
	Inputs            map[string]struct{ Description, Default string }
	Runs              struct {
		Using string
		Steps []struct {
			Name, Uses, Shell, Run string
			WorkingDirectory       string `json:"working-directory"`
			With, Env              map[string]string
		}
	}
}

// Template is the GitLab template.
type Template map[string]struct {
	Stage, Image string
	Variables    map[string]string
	Script       []string
	Artifacts    struct {
		When    string
		Reports map[string]string
	}
}

// Script is what a system runs in a folder of the user's repository, with variables in addition.
type Script struct {
	Name               string
	Words, Environment []string
	Folder             string
	// Reports are the files that the system collects.
	Reports []string
}

// Decode decodes a file of the repository in root.
func Decode(root, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	return err
}

// bash has it run the lines, as CI systems do.
func bash(lines ...string) []string {
	return []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", strings.Join(lines, "\n")}
}

// Script returns what pre-commit runs: a script is run by its path in the hook's repository, and
// no file's name is added.
func (h *Hook) Script(root string) (*Script, error) {
	if h.Language != "script" || h.PassFilenames == nil || *h.PassFilenames {
		return nil, fmt.Errorf("%+v is not run by its path alone", h)
	}
	words := strings.Fields(h.Entry)
	words[0] = filepath.Join(root, words[0])
	return &Script{Name: "the pre-commit hook " + h.ID, Words: words}, nil
}

var input = regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`)

// Script returns what GitHub runs for these inputs.
func (a *Action) Script(root string, given map[string]string) (*Script, error) {
	var err error
	value := func(text string) string {
		return input.ReplaceAllStringFunc(text, func(expression string) string {
			name := input.FindStringSubmatch(expression)[1]
			known, found := a.Inputs[name]
			if !found || known.Description == "" {
				err = fmt.Errorf("no input %s, or without a description", name)
			}
			if value, set := given[name]; set {
				return value
			}
			return known.Default
		})
	}
	script := &Script{Name: "the Action", Environment: []string{"GITHUB_ACTION_PATH=" + root}}
	for _, step := range a.Runs.Steps {
		switch {
		case step.Run == "":
			continue
		case script.Words != nil:
			return nil, errors.New("it has more than one step that runs")
		}
		script.Words, script.Folder = bash(step.Run), value(step.WorkingDirectory)
		for name, expression := range step.Env {
			script.Environment = append(script.Environment, name+"="+value(expression))
		}
	}
	if sarif := given["sarif"]; sarif != "" {
		script.Reports = []string{sarif}
	}
	return script, err
}

// Script returns what GitLab runs with the branch of what was published, which it fetches into the
// folder.
func (t Template) Script(published, branch, folder string) *Script {
	job := t["gammaguard"]
	script := &Script{Name: "the GitLab job", Words: bash(job.Script...), Environment: []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + published + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/gammaguard/gammaguard",
	}}
	for name, value := range job.Variables {
		script.Environment = append(script.Environment, name+"="+value)
	}
	script.Environment = append(script.Environment, "GAMMAGUARD_REF="+branch, "GAMMAGUARD_FOLDER="+folder)
	for _, file := range job.Artifacts.Reports {
		script.Reports = append(script.Reports, file)
	}
	return script
}

// Publish makes a git repository of the files in the folder as they are now, on the branch.
func Publish(ctx context.Context, git, branch, folder string) error {
	cmd := exec.CommandContext(ctx, "bash", "-ec", "git init --quiet --initial-branch \"$1\"; git add --all; "+
		"git -c user.name=test -c user.email=test@example.com -c commit.gpgsign=false commit --quiet --message published", "bash", branch)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GIT_DIR="+git, "GIT_WORK_TREE="+folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
