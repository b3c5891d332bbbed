package ci

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	if err == nil {
		err = Decode(root, name, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// run runs the script in the repository, and returns the exit code and the output.
func run(t *testing.T, repository string, script *Script, more ...string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), script.Words[0], script.Words[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(repository, script.Folder), slices.Concat(os.Environ(), script.Environment, more)
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

// hostileFiles adds files whose names are flags, for who has the shell expand patterns, and those that
// a build reads, or runs, which is started where they are.
func hostileFiles(t *testing.T, folder string) {
	t.Helper()
	const script = "#!/bin/sh\ntouch overwritten\n"
	for name, text := range map[string]string{
		"-ojson=overwritten": "", "--fail-on=never": "",
		"GNUmakefile": "$(shell touch overwritten)\n", "Makefile": "definitions:\n\ttouch overwritten\n",
		"go.mod": "module evil\n\ngo 99.0\n", "go.work": "go 99.0\n", "go.env": "GOFLAGS=-toolexec=./go\n",
		"bash": script, "dirname": script, "git": script, "go": script, "make": script, ".ci/gammaguard": script, "bin/gammaguard": script,
	} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o700)); err != nil { //nolint:gosec // they are programs
			t.Fatal(err)
		}
	}
}

// untouched: no name was taken for a flag, and no file was run.
func untouched(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, "overwritten")); err == nil {
		t.Error("a file was taken for a flag, or run")
	}
}

func TestPreCommitHooks(t *testing.T) {
	var hooks []Hook
	root := decode(t, ".pre-commit-hooks.yaml", &hooks)
	for _, hook := range hooks {
		t.Run(hook.ID, func(t *testing.T) {
			script, err := hook.Script(root)
			if err != nil || hook.Name == "" || hook.Description == "" {
				t.Fatalf("%+v: %v", hook, err)
			}
			if !hook.AlwaysRun {
				t.Error("a commit that only deletes files skips it")
			}
			folder := repository(t)
			hostileFiles(t, folder)
			code, output := run(t, folder, script)
			untouched(t, folder)
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
	var action Action
	root := decode(t, "action.yml", &action)
	folder := repository(t)
	hostileFiles(t, folder)
	for _, given := range []map[string]string{{}, {"args": "cart.yaml --fail-on never", "sarif": "out.sarif"}, {"args": "*"}} {
		script, err := action.Script(root, given)
		if err != nil {
			t.Fatal(err)
		}
		code, output := run(t, folder, script)
		if given["args"] == "*" {
			if code != 2 || !strings.Contains(output, "error: *: ") { // a path like any other
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
	untouched(t, folder)
	if action.Runs.Using != "composite" {
		t.Errorf("%+v", action)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "out.sarif")); err != nil || !json.Valid(text) {
		t.Errorf("SARIF: %v", err)
	}
}

func TestGitLabTemplate(t *testing.T) {
	var template Template
	root := decode(t, ".ci/gitlab.yml", &template)
	job := template["gammaguard"]
	folder, published := repository(t), filepath.Join(t.TempDir(), "published.git")
	if err := Publish(t.Context(), published, "published", root); err != nil {
		t.Fatal(err)
	}
	checkout := filepath.Join(t.TempDir(), "gammaguard")
	script := template.Script(published, "published", checkout)
	script.Environment = append(script.Environment, "HOME="+t.TempDir(), "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	hostileFiles(t, folder)
	if code, output := run(t, folder, script, "GAMMAGUARD_ARGS=*"); code != 2 || !strings.Contains(output, "error: *: ") {
		t.Errorf("a pattern: exit code %d: %s", code, output)
	}
	code, output := run(t, folder, script)
	if code != findings || !strings.Contains(output, "(parent-headless)") {
		t.Errorf("exit code %d: %s", code, output)
	}
	untouched(t, folder)
	commit, err := exec.CommandContext(t.Context(), "git", "-C", checkout, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	// As in a hook, git has named another repository in the environment.
	script.Words = []string{filepath.Join(checkout, ".ci", "gammaguard"), "version"}
	code, output = run(t, folder, script, "GIT_DIR="+folder, "GIT_INDEX_FILE="+filepath.Join(folder, "index"))
	if want := "(commit " + strings.TrimSpace(string(commit)) + ","; code != 0 || !strings.Contains(output, want) || strings.Contains(output, "(devel)") {
		t.Errorf("exit code %d, want %q in: %s", code, want, output)
	}
	for kind, file := range job.Artifacts.Reports {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || !strings.Contains(string(text), "parent-headless") {
			t.Errorf("%s: %v %s", kind, err, text)
		}
	}
	code, version := run(t, root, &Script{Words: []string{"go", "list", "-m", "-f", "{{.GoVersion}}"}})
	if image := "golang:" + strings.Join(strings.Split(strings.TrimSpace(version), ".")[:2], ".") + "."; code != 0 || !strings.HasPrefix(job.Image, image) {
		t.Errorf("image %s, want %s", job.Image, image)
	}
	if len(template) != 1 || len(job.Artifacts.Reports) != 2 || job.Artifacts.When != "always" {
		t.Errorf("%+v", template)
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

// TestReleaseNeedsCommit: a release names the commit that it is made of, so all of it is committed.
func TestReleaseNeedsCommit(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Makefile"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "git", "init", "-q", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	output, err := exec.CommandContext(t.Context(), "env", "-u", "MAKEFLAGS", "make", "-C", folder, "-o", "definitions", "release", "VERSION=v1.2.3").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "not committed:\n?? Makefile\n") {
		t.Errorf("%v: %s", err, output)
	}
	if _, err := os.Stat(filepath.Join(folder, "dist")); err == nil {
		t.Error("it made something")
	}
}

// TestReleaseChecksKey: a key with which nothing can be signed is found before anything is built.
func TestReleaseChecksKey(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"Makefile": string(text), "tools/release/go.mod": "module refuses\n",
		"tools/release/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(os.Args[1], os.Args[len(os.Args)-1])\n\tos.Exit(2)\n}\n",
	} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]string{"mistyped.key": filepath.Join(folder, "mistyped.key"), "awskms:///alias/mistyped": "awskms:///alias/mistyped"} {
		output, err := exec.CommandContext(t.Context(), "env", "-u", "MAKEFLAGS", "make", "-C", folder, "-o", "definitions", "release",
			"VERSION=v1.2.3", "UNCOMMITTED_FOR_TESTS=1", "KEY="+key).CombinedOutput()
		if err == nil || !strings.Contains(string(output), "-check "+want+"\n") || strings.Contains(string(output), "building for") {
			t.Errorf("%s: %v: %s", key, err, output)
		}
	}
}

// TestPushNeedsImage: make push without the name of an image goes to no registry.
func TestPushNeedsImage(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), "env", "-u", "IMAGE", "-u", "MAKEFLAGS", "make", "-C", root, "push").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "error: IMAGE: want a name in your registry, such as ") || strings.Contains(string(output), "go run") {
		t.Errorf("%v: %s", err, output)
	}
}
