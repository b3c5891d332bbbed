package command

import (
	"os"
	"strings"
	"testing"
)

// TestPathOfBroken: a PATH stands for a kustomization that is no YAML, too, as far as its words name it, also by way of a base. diff compares nothing that
// it used.
func TestPathOfBroken(t *testing.T) {
	deployed(t)
	web := contents(t, "plain/web.yaml")
	const whole = "resources:\n- ../b\n- own.yaml\n"
	put(t, "k/b/kustomization.yaml", "resources:\n- web.yaml\n")
	put(t, "k/b/web.yaml", web)
	put(t, "k/qa/own.yaml", strings.ReplaceAll(web, "web", "own"))
	put(t, "k/qa/kustomization.yaml", whole)
	commit(t)
	for _, text := range []string{whole + "<<<<<<< HEAD\n", "resources:\n- ../b\n\t- own.yaml\n", "resources: [../b, own.yaml"} {
		put(t, "k/qa/kustomization.yaml", text)
		for _, path := range []string{"k/b", "k/b/web.yaml", "k/b/kustomization.yaml", "k/qa", "k/qa/own.yaml", "k/qa/kustomization.yaml"} {
			if got := run(t, "", "check", "--strict", path); got.code != ExitFindings || strings.Count(got.stdout, "(broken-document)") != 1 || strings.Contains(got.stdout, "not checked") {
				t.Errorf("%q: check %s: %+v", text, path, got)
			}
		}
		if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || !strings.Contains(got.stdout, "no change in what was compared; ") || !strings.Contains(got.stdout, "1 set not compared") {
			t.Errorf("%q: diff: %+v", text, got)
		}
	}
	put(t, "k/qa/kustomization.yaml", strings.Replace(whole, "../b", "../c", 1))
	const note = "note: kustomization k/b is not compared: the base has it too, but only kustomization HEAD:k/qa uses it, which is not compared\n"
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || !strings.HasPrefix(got.stdout, note) || !strings.Contains(got.stdout, "no change in what was compared; ") {
		t.Errorf("a base that is not there: %+v", got)
	}
	commit(t)
	put(t, "k/qa/kustomization.yaml", whole)
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.Contains(got.stdout, "note: kustomization k/b is not compared: it is still there, but only kustomization k/qa uses it, which is not compared\n") {
		t.Errorf("a base that was not there: %+v", got)
	}
	commit(t)
	if err := os.Rename("k/b", "k/c"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || !strings.Contains(got.stdout, "note: moved from kustomization HEAD:k/qa to kustomization k/c: HTTPRoute shop/web. ") {
		t.Errorf("a base that is elsewhere: %+v", got)
	}
}

// TestDiffOfBroken: of what cannot be read, a set has one note, and what only one set used has another one, also where the base is a directory.
func TestDiffOfBroken(t *testing.T) {
	deployed(t)
	put(t, ".gammaguard.yaml", projectHeader+"sets: [{files: [plain]}]\n")
	put(t, "plain/more.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "more"))
	commit(t)
	put(t, "plain/more.yaml", "kind: \"x\n")
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitUsage || !strings.Contains(got.stdout, "; 1 set not compared\n") || strings.Contains(got.stdout, "note: ") {
		t.Errorf("a file that is broken: %+v", got)
	}
	commit(t)
	put(t, "plain/more.yaml", strings.ReplaceAll(contents(t, "plain/web.yaml"), "web", "more"))
	if got := run(t, "", "diff", "--base-ref", "HEAD"); got.code != ExitClean || !strings.Contains(got.stdout, "; 1 set not compared\n") || strings.Count(got.stdout, "note: ") != 1 {
		t.Errorf("a file that was broken: %+v", got)
	}
	if err := os.Remove(".gammaguard.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"old", "new"} {
		put(t, version+"/b/web.yaml", contents(t, "plain/web.yaml"))
		put(t, version+"/b/kustomization.yaml", "resources: [web.yaml]\n")
		put(t, version+"/qa/kustomization.yaml", "resources: [../b]\n")
		put(t, version+"/live/kustomization.yaml", "resources: [../b]\n")
	}
	put(t, "new/qa/kustomization.yaml", "resources: [../c]\n")
	put(t, "new/live/kustomization.yaml", "resources: [../d]\n")
	const note = "note: kustomization new/b is not compared: the base has it too, but only kustomization old/live, kustomization old/qa use it, which are not compared\n"
	if got := run(t, "", "diff", "--base", "old", "new"); got.code != ExitUsage || !strings.HasPrefix(got.stdout, note+"no change in what was compared; ") {
		t.Errorf("directories: %+v", got)
	}
}
