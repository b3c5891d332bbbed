package check_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

const projectHeader = "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"

// files writes files below a new folder, and makes one of its folders the working directory.
func filesIn(t *testing.T, within string, files map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(folder, within))
}

// TestProjectStaysInside: .gammaguard.yaml names nothing outside the repository.
func TestProjectStaysInside(t *testing.T) {
	for text, want := range map[string]string{
		"sets: [{files: [../other]}]\n":                                 "sets[0].files[0]: ",
		"sets: [{files: [a, a/../../other]}]\n":                         "sets[0].files[1]: ",
		"sets: [{files: [linked]}]\n":                                   "sets[0].files[0]: ",
		"sets: [{kustomization: ..}]\n":                                 "sets[0].kustomization: ",
		"sets: [{files: [a]}, {chart: ../other}]\n":                     "sets[1].chart: ",
		"sets: [{chart: a, values: [linked/guard.yaml]}]\n":             "sets[0].values[0]: ",
		"configuration: ../other/guard.yaml\n":                          "configuration: ",
		"configuration: linked/guard.yaml\n":                            "configuration: ",
		"configuration: a/guard.yaml\n":                                 "",
		"sets: [{chart: a, values: [a/guard.yaml]}, {files: [none]}]\n": "",
	} {
		filesIn(t, "repo", map[string]string{"repo/.gammaguard.yaml": projectHeader + text, "repo/a/guard.yaml": "", "other/guard.yaml": ""})
		if err := os.Symlink(filepath.Join("..", "other"), "linked"); err != nil {
			t.Fatal(err)
		}
		_, err := sets.FindProject(".")
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "is outside the repository")) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

const evil = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: [{kind: Service, name: a}]}}\n"

// TestSearchEndsAtRoot: without .git, .gammaguard.yaml and .gitignore above the working directory, such
// as in a folder that is shared, do not count.
func TestSearchEndsAtRoot(t *testing.T) {
	shared := map[string]string{".gammaguard.yaml": projectHeader + "failOn: never\n", ".gitignore": "*\n", "mine/m/a.yaml": evil}
	filesIn(t, "mine", shared)
	project, err := sets.FindProject("m")
	if project != nil || err != nil {
		t.Errorf("%+v: %v", project, err)
	}
	if found, err := check.FindSets(t.Context(), &check.Options{}, []string{"m"}, nil); err != nil || len(found.Sets) != 1 || len(found.Skipped) != 0 {
		t.Errorf("%+v: %v", found, err)
	}
	if err := os.Chdir(".."); err != nil { //nolint:usetesting // TestSearchEndsAtRoot goes back
		t.Fatal(err)
	}
	if project, err := sets.FindProject(filepath.Join("mine", "m")); project == nil || err != nil {
		t.Errorf("in the working directory itself: %v", err)
	}
}

// TestIgnoredRoutes: routes that .gitignore hides are reported, and fail a strict check; those that are
// left aside on purpose are not.
func TestIgnoredRoutes(t *testing.T) {
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{".gitignore": "m/\n", "m/a.yaml": evil}, "m/a.yaml"},
		{map[string]string{".gitignore": "a.yaml\n", "m/a.yaml": evil}, "m/a.yaml"},
		{map[string]string{".gitignore": "m/\n", ".gammaguardignore": "m/\n", "m/a.yaml": evil}, ""},
		{map[string]string{".gammaguardignore": "m/\n", "m/a.yaml": evil}, ""},
		{map[string]string{".gitignore": "m/\n", "m/a.yaml": "{apiVersion: v1, kind: Service}\n", "m/b.txt": evil}, ""},
		{map[string]string{".gitignore": "node_modules/\n", "node_modules/a.yaml": evil}, "node_modules/a.yaml"},
	} {
		filesIn(t, ".", test.files)
		options := &check.Options{Strict: true, Config: config.Default()}
		found, err := check.FindSets(t.Context(), options, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := check.RunSets(t.Context(), options, found)
		var got []string
		for _, s := range all.Skipped {
			if s.Reason != report.NotManifest {
				got = append(got, s.Path)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%v: %+v", test.files, all.Skipped)
		}
		if (err != nil) != (test.want != "") {
			t.Errorf("%v: strict: %v", test.files, err)
		}
	}
}
