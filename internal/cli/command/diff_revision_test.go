package command

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDiffBrokenBase: with a base that is broken, nothing is compared, as the change may repair it. It is named as git names it. A change that is broken
// is an error, whatever the base is.
func TestDiffBrokenBase(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.yaml", []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	commit(t)
	if got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "a.yaml"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: a.yaml:1: broken YAML") {
		t.Errorf("both: %+v", got)
	}
	put(t, "a.yaml", orphan)
	got := run(t, "", "diff", "--base-ref", "HEAD", "-f", "a.yaml")
	if got.code != ExitClean || !strings.HasPrefix(got.stdout, "note: the input is not compared: the base cannot be read: HEAD:a.yaml:1: broken YAML") || !strings.Contains(got.stdout, "1 set not compared\n") {
		t.Errorf("%+v", got)
	}
}

// TestDiffBaseIsRevision: a revision in the place of a path is named with the flag that takes it.
func TestDiffBaseIsRevision(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.yaml", orphan)
	if got := run(t, "", "diff", "--base", "HEAD"); got.code != ExitUsage || strings.Contains(got.stderr, "--base-ref") {
		t.Errorf("no repository: %+v", got)
	}
	commit(t)
	for _, args := range [][]string{{"diff", "--base", "HEAD"}, {"diff", "--base", "HEAD", "-f", "a.yaml"}} {
		if got := run(t, "", args...); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: HEAD is a git revision: use --base-ref HEAD\n") {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := run(t, "", "check", "--base", "HEAD"); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: HEAD is a git revision: for new findings, use gammaguard diff --base-ref HEAD\n") {
		t.Errorf("check: %+v", got)
	}
	put(t, "HEAD/a.yaml", orphan)
	if got := run(t, "", "diff", "--base", "HEAD", "-f", "a.yaml"); got.code != ExitClean {
		t.Errorf("a directory of that name: %+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", "none"); got.code != ExitUsage || !strings.HasSuffix(got.stderr, "; fetch it first (actions/checkout: fetch-depth: 0)\n") {
		t.Errorf("not fetched: %+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", ""); got.code != ExitUsage || !strings.HasPrefix(got.stderr, "error: --base-ref is empty: ") {
		t.Errorf("of git merge-base in a shallow clone: %+v", got)
	}
}

// TestDiffOfBranchBehind: a base with newer commits is noted, with what to compare with instead, where that matters.
func TestDiffOfBranchBehind(t *testing.T) {
	deployed(t)
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	put(t, "plain/web.yaml", strings.Replace(string(web), "web-v1", "web-v2", 1))
	commit(t)
	git := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	git("branch", "newer")
	git("reset", "-q", "--hard", "HEAD~1")
	const note = `note: newer has commits that HEAD lacks, and what they change is shown in reverse; to leave it out, use --base-ref "$(git merge-base newer HEAD)"` + "\n"
	for _, args := range []string{"", " -f plain"} {
		if got := run(t, "", strings.Fields("diff --base-ref newer"+args)...); got.code != ExitFindings || strings.Count(got.stdout, note) != 1 {
			t.Errorf("behind%s: %+v", args, got)
		}
		put(t, "plain/web.yaml", strings.Replace(string(web), "web-v1", "web-v3", 1))
		if got := run(t, "", strings.Fields("diff --base-ref HEAD"+args)...); got.code != ExitFindings || strings.Contains(got.stdout, "HEAD lacks") {
			t.Errorf("not behind%s: %+v", args, got)
		}
		put(t, "plain/web.yaml", string(web))
	}
	if got := run(t, "", "diff", "--base-ref", "newer...HEAD"); got.code != ExitUsage || !strings.Contains(got.stderr, `"newer...HEAD" is not one revision; for the changes of a branch alone, use "$(git merge-base newer HEAD)"`) {
		t.Errorf("a range: %+v", got)
	}
}

// TestDiffShallow: a shallow clone says that the base is ahead where it has what both were made of, that it does not know it where it has not, and
// nothing of a commit that names the base as its parent.
func TestDiffShallow(t *testing.T) {
	deployed(t)
	origin, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	web := contents(t, "plain/web.yaml")
	git("checkout", "-q", "-b", "newer")
	put(t, "plain/web.yaml", strings.Replace(web, "web-v1", "web-v2", 1))
	git("commit", "-qam", "newer")
	git("checkout", "-q", "-b", "pull", "HEAD~1")
	put(t, "other.txt", "a")
	git("add", ".")
	git("commit", "-qm", "pull")
	git("checkout", "-q", "-b", "merged")
	git("merge", "-q", "-m", "merge", "newer")
	const ahead, unknown = "has commits that HEAD lacks, and what they change", "this clone ends before it is known whether origin/newer has commits"
	for _, test := range []struct{ branch, depth, want string }{
		{"pull", "5", ahead}, {"pull", "1", unknown}, {"merged", "1", ""}, {"merged", "5", ""},
	} {
		t.Chdir(t.TempDir())
		git("clone", "-q", "--depth", test.depth, "--branch", test.branch, "file://"+origin, ".")
		git("fetch", "-q", "--depth", test.depth, "origin", "newer:refs/remotes/origin/newer")
		put(t, "plain/web.yaml", strings.Replace(web, "web-v1", "web-v3", 1))
		got := run(t, "", "diff", "--base-ref", "origin/newer", "-f", "plain")
		if got.code != ExitFindings || strings.Contains(got.stdout, ahead) != (test.want == ahead) || strings.Contains(got.stdout, unknown) != (test.want == unknown) {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

// TestDiffOfSubmodules: what is in a submodule is in no revision, and so neither new nor gone.
func TestDiffOfSubmodules(t *testing.T) {
	deployed(t)
	commitOf := strings.TrimSpace(gitOut(t, "rev-parse", "HEAD"))
	gitOut(t, "update-index", "--add", "--cacheinfo", "160000,"+commitOf+",deploy")
	gitOut(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "second")
	put(t, "deploy/api/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "api"))
	put(t, "deploy/kustomization.yaml", "resources: [../prod]\n")
	for _, input := range []string{"", " deploy", " -f deploy/api", " -k deploy"} {
		got := run(t, "", strings.Fields("diff --base-ref HEAD"+input)...)
		if got.code != ExitClean || strings.Contains(got.stdout, "(new ") || !strings.Contains(got.stdout, "HEAD has submodules, of which --base-ref reads nothing (deploy); ") || !strings.Contains(got.stdout, "no change in what was compared; ") {
			t.Errorf("%s: %+v", input, got)
		}
	}
	put(t, "plain/web.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web-v1", "web-v2"))
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || !strings.Contains(got.stdout, "web-v1:80 100 %  →  web-v2:80 100 %") || strings.Contains(got.stdout, "(new ") {
		t.Errorf("the rest: %+v", got)
	}
}

// TestDiffOfSparseCheckout: what a sparse checkout leaves out reads as removed, as a note says.
func TestDiffOfSparseCheckout(t *testing.T) {
	deployed(t)
	const note = "note: the checkout is sparse, and what it leaves out reads as removed: name PATHs that it has\n"
	gitOut(t, "sparse-checkout", "set", "prod", "base")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitFindings || strings.Count(got.stdout, note) != 1 {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD", "prod"); got.code != ExitClean || strings.Contains(got.stdout, note) {
		t.Errorf("%+v", got)
	}
}

func gitOut(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
