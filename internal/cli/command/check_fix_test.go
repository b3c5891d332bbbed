package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckFix: the files are fixed, nothing else in them changes, and files
// without changes are not written.
func TestCheckFix(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(shop)); err != nil {
		t.Fatal(err)
	}
	fixed, other := filepath.Join(folder, "routes", "cart.yaml"), filepath.Join(folder, "services.yaml")
	if err := os.Chmod(fixed, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.yaml")
	if err := os.Symlink(fixed, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	r, got := checkJSON(t, "", "-f", other, "-f", link, "--fix", "--fail-on", "never")
	if got.code != ExitClean || r.Summary.Changes != 0 || r.Summary.Fixed != 2 {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(fixed)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cart.fixed.yaml", string(text))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	if info, err := os.Stat(fixed); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode has changed: %v", err)
	}
	if after, err := os.Stat(other); err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
		t.Errorf("a file without changes was written: %v", err)
	}
	text2 := run(t, "", "check", "-f", folder, "--fix", "--fail-on", "warn")
	if !strings.Contains(text2.stdout, "broken") || strings.Contains(text2.stdout, "fixed") {
		t.Errorf("a second run fixes again: %s", text2.stdout)
	}
	entries, err := os.ReadDir(filepath.Join(folder, "routes"))
	if err != nil || len(entries) != 3 {
		t.Errorf("temporary files are left: %v %v", entries, err)
	}
}

// TestCheckFixRefused: a file that cannot be fixed is not touched, nor is any other.
func TestCheckFixRefused(t *testing.T) {
	folder := t.TempDir()
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %}\nspec:\n  parentRefs:\n"
	texts := map[string]string{
		"a.yaml": strings.Replace(route, "%", "a", 1) + "  - {kind: Service, name: x}\n",
		"b.yaml": strings.Replace(route, "%", "b", 1) + "  - kind: Service\n    name: x\n    group: >-\n      core\n",
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := run(t, "", "check", "-f", folder, "--fix")
	want := result{ExitUsage, "", "error: " + filepath.Join(folder, "b.yaml") +
		": cannot be fixed: HTTPRoute default/b: spec.parentRefs[0].group: the value is not in a form that --fix can edit: write it on one line\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	for name, want := range texts {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
}
