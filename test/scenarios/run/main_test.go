package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnusable(t *testing.T) {
	for name, args := range map[string][]string{
		"no folder":        nil,
		"two folders":      {"a", "b"},
		"not there":        {filepath.Join(t.TempDir(), "none")},
		"without scenario": {t.TempDir()},
	} {
		var out strings.Builder
		if err := run(t.Context(), args, &out); err == nil || errors.Is(err, errFailed) || out.Len() > 0 {
			t.Errorf("%s: error %v, output %q", name, err, &out)
		}
	}
}

// TestBroken plays a folder of which nothing can be read.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a", "b", "c.txtar")
	if err := os.WriteFile(file, []byte("title\n-- want.yaml --\nstatos: []\nresults: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{dir}, &out); !errors.Is(err, errFailed) {
		t.Errorf("error %v, want %v", err, errFailed)
	}
	want := "FAIL a/b/c\n" +
		"  " + file + ":3: want.yaml: field statos not found in type runner.wantFile\n" +
		"  " + file + ":4: want.yaml: field results not found in type runner.wantFile\n" +
		"0 passed, 1 failed\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestReport(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out}
	r.add("a/passes")
	r.add("a/fails", "core: a.txtar:3: x", "apiserver: a.txtar:7: HTTPRoute shop/cart\n  verdict: want deny, got admit")
	const want = `pass a/passes
FAIL a/fails
  core: a.txtar:3: x
  apiserver: a.txtar:7: HTTPRoute shop/cart
    verdict: want deny, got admit
`
	if diff := cmp.Diff(want, out.String()); diff != "" || r.passed != 1 || r.failed != 1 {
		t.Errorf("%d passed, %d failed\n%s", r.passed, r.failed, diff)
	}
}
