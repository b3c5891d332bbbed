// Package ci tests what other repositories take from this one: the pre-commit hooks, the
// GitHub Action, and the GitLab template. Each is decoded strictly, and run as its system
// runs it, in a repository with a route that is denied.
package ci

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/test/bed"
)

const denied = `{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{kind: Service, name: cart}]}}
`

// repository makes a folder with a route that is denied, in a file.
func repository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "cart.yaml"), []byte(denied), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// decode decodes a file of this repository, and returns the repository's root.
func decode(t *testing.T, name string, into any) (root string) {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// bash runs the lines as CI systems do, and returns the exit code and the output.
func bash(t *testing.T, folder string, environment []string, lines ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", strings.Join(lines, "\n"))
	cmd.Dir, cmd.Env = folder, append(os.Environ(), environment...)
	text, err := cmd.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode(), string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(text)
}

const findings = 1 // the exit code

// hostileNames adds files whose names are flags, for who has the shell expand patterns.
func hostileNames(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"-ojson=overwritten", "--fail-on=never"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// noneIsAFlag: no name was taken for a flag.
func noneIsAFlag(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "overwritten")); err == nil {
		t.Error("a file name was taken for a flag")
	}
}

func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID, Name, Description, Language, Entry, Files string
		PassFilenames                                 *bool `json:"pass_filenames"`
	}
	root := decode(t, ".pre-commit-hooks.yaml", &hooks)
	for _, hook := range hooks {
		t.Run(hook.ID, func(t *testing.T) {
			if hook.Name == "" || hook.Description == "" || hook.Language != "script" || hook.PassFilenames == nil || *hook.PassFilenames {
				t.Errorf("%+v", hook)
			}
			files := regexp.MustCompile(hook.Files)
			for name, want := range map[string]bool{"a/b.yaml": true, "c.yml": true, "d.json": true, ".gammaguardignore": true, ".gammaguard.yaml": true, "e.go": false} {
				if files.MatchString(name) != want {
					t.Errorf("it runs for %s: %t", name, !want)
				}
			}
			folder := repository(t)
			// A script is run by its path in the hook's repository, in the user's.
			code, output := bash(t, folder, nil, filepath.Join(root, hook.Entry))
			if code != findings || !strings.Contains(output, "(parent-headless)") {
				t.Errorf("exit code %d: %s", code, output)
			}
			text, err := os.ReadFile(filepath.Join(folder, "cart.yaml"))
			if fixed := string(text) != denied; err != nil || fixed != (hook.ID == "gammaguard-fix") {
				t.Errorf("%v, the file is now: %s", err, text)
			}
		})
	}
	if len(hooks) != 2 {
		t.Errorf("%d hooks", len(hooks))
	}
}

func TestGitHubAction(t *testing.T) {
	var action struct {
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
	root := decode(t, "action.yml", &action)
	input := regexp.MustCompile(`\$\{\{ inputs\.([a-z-]+) \}\}`)
	folder, ran := repository(t), 0
	hostileNames(t, folder)
	for _, given := range []map[string]string{{}, {"args": "cart.yaml --fail-on never", "sarif": "out.sarif"}, {"args": "*"}} {
		value := func(text string) string {
			return input.ReplaceAllStringFunc(text, func(expression string) string {
				name := input.FindStringSubmatch(expression)[1]
				known, found := action.Inputs[name]
				if !found || known.Description == "" {
					t.Errorf("no input %s, or without a description", name)
				}
				if value, set := given[name]; set {
					return value
				}
				return known.Default
			})
		}
		for _, step := range action.Runs.Steps {
			if step.Run == "" {
				continue
			}
			environment := []string{"GITHUB_ACTION_PATH=" + root}
			for name, expression := range step.Env {
				environment = append(environment, name+"="+value(expression))
			}
			ran++
			code, output := bash(t, filepath.Join(folder, value(step.WorkingDirectory)), environment, step.Run)
			if given["args"] == "*" {
				if code != 2 || !strings.Contains(output, "lstat *: ") { // a path like any other
					t.Errorf("a pattern: exit code %d: %s", code, output)
				}
				continue
			}
			if want := "::error file=cart.yaml,line=3,title=parent-headless::"; !strings.Contains(output, want) {
				t.Errorf("%v: exit code %d, want %q in: %s", given, code, want, output)
			}
			if fails := len(given) == 0; fails != (code == findings) {
				t.Errorf("%v: exit code %d", given, code)
			}
		}
	}
	noneIsAFlag(t, folder)
	if action.Runs.Using != "composite" || ran != 3 {
		t.Errorf("%+v", action)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "out.sarif")); err != nil || !json.Valid(text) {
		t.Errorf("SARIF: %v", err)
	}
}

func TestGitLabTemplate(t *testing.T) {
	var template map[string]struct {
		Stage, Image string
		Variables    map[string]string
		Script       []string
		Artifacts    struct {
			When    string
			Reports map[string]string
		}
	}
	root := decode(t, ".ci/gitlab.yml", &template)
	job := template["gammaguard"]
	folder := repository(t)
	environment := append(publish(t, root), "HOME="+t.TempDir(), "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	for name, value := range job.Variables {
		environment = append(environment, name+"="+value)
	}
	environment = append(environment, "GAMMAGUARD_REF=published", "GAMMAGUARD_FOLDER="+filepath.Join(t.TempDir(), "gammaguard"))
	hostileNames(t, folder)
	pattern := append(slices.Clone(environment), "GAMMAGUARD_ARGS=*")
	if code, output := bash(t, folder, pattern, job.Script...); code != 2 || !strings.Contains(output, "lstat *: ") {
		t.Errorf("a pattern: exit code %d: %s", code, output)
	}
	noneIsAFlag(t, folder)
	code, output := bash(t, folder, environment, job.Script...)
	if code != findings || !strings.Contains(output, "(parent-headless)") {
		t.Errorf("exit code %d: %s", code, output)
	}
	for kind, file := range job.Artifacts.Reports {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || !strings.Contains(string(text), "parent-headless") {
			t.Errorf("%s: %v %s", kind, err, text)
		}
	}
	code, version := bash(t, root, nil, `go list -m -f '{{.GoVersion}}'`)
	if image := "golang:" + strings.Join(strings.Split(strings.TrimSpace(version), ".")[:2], ".") + "."; code != 0 || !strings.HasPrefix(job.Image, image) {
		t.Errorf("image %s, want %s", job.Image, image)
	}
	if len(template) != 1 || len(job.Artifacts.Reports) != 2 || job.Artifacts.When != "always" {
		t.Errorf("%+v", template)
	}
}

// publish makes a git repository of the files as they are now, with the branch published,
// and returns the environment in which git takes it for the one that the template names.
func publish(t *testing.T, root string) (environment []string) {
	t.Helper()
	git := filepath.Join(t.TempDir(), "published.git")
	code, output := bash(t, root, []string{"GIT_DIR=" + git, "GIT_WORK_TREE=" + root},
		"git init --quiet --initial-branch published",
		"git add --all",
		"git -c user.name=test -c user.email=test@example.com -c commit.gpgsign=false commit --quiet --message published")
	if code != 0 {
		t.Fatal(output)
	}
	return []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + git + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/gammaguard/gammaguard",
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}
