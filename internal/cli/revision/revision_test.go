package revision_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/revision"
)

// repository makes a repository with a commit, whose tag is "base", and changes in
// the work tree, and makes its folder "manifests" the working directory.
func repository(t *testing.T) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	put(t, "manifests/a.yaml", "old")
	put(t, "other/b.yaml", "other")
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	git("tag", "base")
	put(t, "manifests/a.yaml", "new")
	put(t, "manifests/c.yaml", "added")
	git("add", ".")
	t.Chdir("manifests")
	return top
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCheckout(t *testing.T) {
	top := repository(t)
	status := func() string {
		out, err := exec.CommandContext(t.Context(), "git", "status", "--porcelain=v2", "--branch").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := status()
	tree, err := revision.Checkout(t.Context(), "base")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.yaml": "old", "../other/b.yaml": "other", filepath.Join(top, "other", "b.yaml"): "other", "c.yaml": "",
	} {
		path, err := tree.Path(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if string(got) != want || (want == "") != os.IsNotExist(err) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := tree.Path("../.."); err == nil || err.Error() != "../.. is outside the repository in "+top {
		t.Error(err)
	}
	if got := status(); got != before {
		t.Errorf("the repository has changed:\n%s\nbefore:\n%s", got, before)
	}
	if err := tree.Remove(); err != nil {
		t.Fatal(err)
	}
	path, err := tree.Path("..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestCheckoutOfWhatIsNotThere(t *testing.T) {
	top := repository(t)
	for _, name := range []string{"none", "--all", ""} {
		if _, err := revision.Checkout(t.Context(), name); err == nil || !strings.HasSuffix(err.Error(), "is not a revision of the repository in "+top+"; fetch it first (actions/checkout: fetch-depth: 0)") {
			t.Errorf("%q: %v", name, err)
		}
		if revision.Exists(t.Context(), name) {
			t.Errorf("%q exists", name)
		}
	}
	t.Chdir(t.TempDir())
	if _, err := revision.Checkout(t.Context(), "base"); err == nil || !strings.HasSuffix(err.Error(), "; run gammaguard in a directory of the repository that has the revision") {
		t.Error(err)
	}
}

// TestPartial: nothing is fetched for a partial clone, and the error says what to do.
func TestPartial(t *testing.T) {
	top := repository(t)
	run := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil { //nolint:gosec // the arguments are those below
			t.Fatalf("%v: %s", err, out)
		}
	}
	run("-C", top, "config", "uploadpack.allowFilter", "true")
	for _, filter := range []string{"blob:none", "tree:0"} {
		clone := filepath.Join(t.TempDir(), "clone")
		run("clone", "--quiet", "--no-checkout", "--filter="+filter, "file://"+top, clone)
		t.Chdir(clone)
		if _, err := revision.Checkout(t.Context(), "base"); err == nil || !strings.HasPrefix(err.Error(), "the clone is partial, and lacks files of the revision: clone without --filter") {
			t.Errorf("%s: %v", filter, err)
		}
	}
}

// TestSubmodules: what is in a submodule is not in the revision, which says so.
func TestSubmodules(t *testing.T) {
	top := repository(t)
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "base").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"update-index", "--add", "--cacheinfo", "160000," + strings.TrimSpace(string(commit)) + ",shared"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "second"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...) //nolint:gosec // the arguments are those above
		cmd.Dir = top
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for name, want := range map[string]string{"base": "", "HEAD": "HEAD has submodules, of which --base-ref reads nothing (shared); to compare what uses them, check the revision out with its submodules, and use --base"} {
		tree, err := revision.Checkout(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := tree.Submodules(); got != want {
			t.Errorf("%s: %q", name, got)
		}
		for path, in := range map[string]bool{"../shared": true, "../shared/a/b.yaml": true, "../shared-too": false, "shared": false, ".": false} {
			if tree.InSubmodule(path) != (in && want != "") {
				t.Errorf("%s: %s", name, path)
			}
		}
		if err := tree.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// TestNamedIn: files of the revision, and its root, are named as git does, by whatever way to them.
func TestNamedIn(t *testing.T) {
	repository(t)
	tree, err := revision.Checkout(t.Context(), "base")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Remove() //nolint:errcheck // it is temporary
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	way, err := filepath.Rel(here, tree.Root())
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{tree.Root(), way} {
		if got := tree.NamedIn("directory " + root + ", " + root + "/a.yaml: broken"); got != "directory base:., base:a.yaml: broken" {
			t.Errorf("%s: %s", root, got)
		}
	}
}

// TestHostileConfiguration: the repository's own configuration has git start nothing.
func TestHostileConfiguration(t *testing.T) {
	top := repository(t)
	marker := filepath.Join(t.TempDir(), "ran")
	run := "touch " + marker + "; cat"
	for key, value := range map[string]string{
		"core.fsmonitor": run, "filter.x.smudge": run, "filter.x.process": run, "filter.x.clean": run, "diff.x.textconv": run, "diff.external": run,
		"core.sshCommand": run, "core.pager": run, "core.askPass": run, "core.gitProxy": run, "core.alternateRefsCommand": run,
		"extensions.partialClone": "origin", "remote.origin.promisor": "true", "remote.origin.url": "ext::sh -c touch% " + marker,
		"remote.origin.vcs": "ext", "protocol.ext.allow": "always", "protocol.allow": "always", "uploadpack.packObjectsHook": run,
	} {
		if out, err := exec.CommandContext(t.Context(), "git", "config", key, value).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	put(t, filepath.Join(top, ".git", "info", "attributes"), "* filter=x diff=x ident\n")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"} {
		path := filepath.Join(top, ".git", "hooks", hook)
		put(t, path, "#!/bin/sh\n"+run+"\n")
		if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a hook is run
			t.Fatal(err)
		}
	}
	tree, err := revision.Checkout(t.Context(), "base")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tree.Remove() }()
	path, err := tree.Path("a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("%q: %v", text, err)
	}
	// An object that is missing is not fetched.
	object, err := exec.CommandContext(t.Context(), "git", "rev-parse", "base:other/b.yaml").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(top, ".git", "objects", string(object[:2]), strings.TrimSpace(string(object[2:])))); err != nil {
		t.Fatal(err)
	}
	if tree, err := revision.Checkout(t.Context(), "base"); err == nil {
		t.Error("an object is missing, and it is not said")
		_ = tree.Remove()
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a command of the repository's configuration ran")
	}
}

// TestNamesAreBounded: a small tree that holds itself many times stands for names without end.
func TestNamesAreBounded(t *testing.T) {
	for name, test := range map[string]struct {
		// file and folder are how long the names are, in bytes; the tree has as many levels, of ten
		// folders each.
		file, folder, levels int
		want                 string
	}{
		"a long name":      {8_000, 1, 0, "a file whose path is longer than 4096 bytes"},
		"a very long name": {1 << 20, 1, 6, "a file whose path is longer than 4096 bytes"},
		"a long path":      {10, 900, 5, "a file whose path is longer than 4096 bytes"},
		"long names":       {4_000, 1, 5, "256 MiB of names"},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t)
			git := func(input string, args ...string) string {
				cmd := exec.CommandContext(t.Context(), "git", args...)
				cmd.Stdin = strings.NewReader(input)
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(args, err)
				}
				return strings.TrimSpace(string(out))
			}
			tree := git("100644 blob "+git("", "hash-object", "-w", "--stdin")+"\t"+strings.Repeat("f", test.file)+"\n", "mktree")
			for range test.levels {
				var level strings.Builder
				for i := range 10 {
					fmt.Fprintf(&level, "040000 tree %s\t%d%s\n", tree, i, strings.Repeat("d", test.folder-1))
				}
				tree = git(level.String(), "mktree")
			}
			if _, err := revision.Checkout(t.Context(), tree); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Checkout() = %v, want %s", err, test.want)
			}
		})
	}
}

// TestForeign: a checkout of another user, as jobs in containers have, is named with what makes git read it.
func TestForeign(t *testing.T) {
	top := repository(t)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	t.Setenv("HOME", t.TempDir()) // whose configuration names no directory
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	_, err := revision.Checkout(t.Context(), "base")
	want := "the checkout belongs to another user; run git config --global --add safe.directory " + top
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
