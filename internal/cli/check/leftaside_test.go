package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// TestLeftAside: what is left aside on purpose is named with its pattern, and fails nothing.
func TestLeftAside(t *testing.T) {
	filesIn(t, ".", map[string]string{
		".gammaguard.yaml": projectHeader + "ignore: ['*.tmpl.yaml', none]\n", "a.tmpl.yaml": evil, "b/b.tmpl.yaml": evil, "c.tmpl.yaml": service,
		"d/.gammaguardignore": "/vendor\n*.json\n!b.json\n", "d/vendor/x/.y/a.yaml": evil, "d/a.json": evil, "d/b.json": route("b"), ".gitignore": "d/a.json\n",
	})
	all, says := strictly(t)
	var notices []string
	for _, n := range all.Notices {
		notices = append(notices, n.Path+": "+n.Message)
	}
	want := []string{
		`.gammaguard.yaml: its pattern "*.tmpl.yaml" ignores 2 files that may hold routes: a.tmpl.yaml, b/b.tmpl.yaml`,
		`d/.gammaguardignore: its pattern "*.json" ignores 1 file that may hold routes: d/a.json`,
		`d/.gammaguardignore: its pattern "/vendor" ignores 1 file that may hold routes: d/vendor/x/.y/a.yaml`,
	}
	if got := strings.Join(notices, "\n"); got != strings.Join(want, "\n") || says != "" || all.Summary.Routes != 1 {
		t.Errorf("notices %s\nsays %q: %+v", got, says, all.Summary)
	}
}

// TestLeftAsideUnread: what of it cannot be read, and charts and kustomizations by their files of any ending, are named too.
func TestLeftAsideUnread(t *testing.T) {
	filesIn(t, ".", map[string]string{
		".gammaguardignore": "big.yaml\n/c\n/k\n/n\n", "m/a.yaml": evil, "big.yaml": route("b") + strings.Repeat("#\n", 8<<20),
		"c/Chart.yaml": chartFile, "c/templates/_h.tpl": helper, "c/templates/b.yaml": helped, "n/Chart.yaml": chartFile, "n/templates/s.yaml": service,
		"k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b"),
	})
	all, says := strictly(t)
	var notices []string
	for _, n := range all.Notices {
		notices = append(notices, n.Message)
	}
	want := []string{
		"not checked: 1 chart: n; no template and no values.yaml of it has the name of the Gateway API's group",
		`its pattern "/c" ignores 1 file that may hold routes: c/Chart.yaml`,
		`its pattern "/k" ignores 1 file that may hold routes: k/kustomization.yaml`,
		`its pattern "big.yaml" ignores 1 file that may hold routes: big.yaml`,
	}
	if got := strings.Join(notices, "\n"); got != strings.Join(want, "\n") || says != "" {
		t.Errorf("notices %s\nsays %q", got, says)
	}
}

// TestLeftAsideValues: a chart is not rendered with a values file that a pattern of ours names, which is named; git's patterns name none.
func TestLeftAsideValues(t *testing.T) {
	filesIn(t, ".", map[string]string{
		"c/Chart.yaml": chartFile, "c/templates/b.yaml": "{{ if .Values.broken }}{{ fail \"no\" }}{{ end }}" + route("b"), "c/values-a.yaml": "broken: true\n", "c/ci/b.yaml": "broken: true\n",
		"c/values-c.yaml": "other: true\n", ".gitignore": "values-c.yaml\n", ".gammaguardignore": "values-a.yaml\n/c/ci/\n",
	})
	all, says := strictly(t)
	var notices []string
	for _, n := range all.Notices {
		notices = append(notices, n.Path+": "+n.Message)
	}
	want := []string{
		`.gammaguardignore: its pattern "/c/ci/" ignores 1 file that may hold routes: c/ci/b.yaml`,
		`.gammaguardignore: its pattern "values-a.yaml" ignores 1 file that may hold routes: c/values-a.yaml`,
	}
	if got := strings.Join(notices, "\n"); got != strings.Join(want, "\n") || says != "" || len(all.Sets) != 2 {
		t.Errorf("notices %s\nsays %q: %+v", got, says, all.Sets)
	}
}

// TestForgottenValues: values beside a chart with routes that no set of the project has are reported, whatever of the chart was named.
func TestForgottenValues(t *testing.T) {
	filesIn(t, ".", map[string]string{
		".gammaguard.yaml": projectHeader + "sets: [{chart: c, values: [c/values-a.yaml]}, {chart: c, values: [c/values-b.yaml]}, {chart: d, values: [d/values-a.yaml]}]\n",
		"c/Chart.yaml":     chartFile, "c/templates/b.yaml": route("b"), "c/values-a.yaml": "a: 1\n", "c/values-b.yaml": "a: 1\n", "c/values-new.yaml": "a: 1\n", "c/ci/test.yaml": "a: 1\n",
		"c/values-old.yaml": "a: 1\n", ".gammaguardignore": "values-old.yaml\n",
		"d/Chart.yaml": chartFile, "d/templates/s.yaml": service, "d/values-a.yaml": "a: 1\n", "d/values-new.yaml": "a: 1\n",
	})
	for _, paths := range [][]string{nil, {"c"}, {"c/values-new.yaml"}, {"c/values-a.yaml"}} {
		all, says := strictly(t, paths...)
		if len(all.Skipped) != 1 || all.Skipped[0].Path != "c/values-new.yaml" || !strings.HasPrefix(all.Skipped[0].Reason, "values of a chart with routes, and no set has them; ") || says == "" {
			t.Errorf("%v: %+v, says %q", paths, all.Skipped, says)
		}
	}
}

// TestUsedByEachOther: kustomizations that use each other are each looked at once.
func TestUsedByEachOther(t *testing.T) {
	const count = 2000
	files := map[string]string{"m/a.yaml": evil}
	for i := range count {
		files[fmt.Sprintf("vendor/k%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../k%d]\n", (i+1)%count)
	}
	filesIn(t, ".", files)
	reads := 0
	options := &check.Options{Strict: true, Config: config.Default(), Options: source.Options{ReadFile: func(path string, read func(string) ([]byte, error)) ([]byte, error) {
		reads++
		return read(path)
	}}}
	found, err := check.FindSets(t.Context(), options, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if skipped, _ := found.Unread(t.Context()); len(skipped) == 0 || reads > 4*count {
		t.Errorf("%d reads: %d are skipped", reads, len(skipped))
	}
}

// TestLinkedValues: a chart's folder ci that is a link out of the repository is not listed.
func TestLinkedValues(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "private.yaml"), []byte("a: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	filesIn(t, ".", map[string]string{"c/Chart.yaml": chartFile, "c/templates/a.yaml": evil})
	if err := os.Symlink(outside, "c/ci"); err != nil {
		t.Fatal(err)
	}
	found, err := check.FindSets(t.Context(), &check.Options{Config: config.Default()}, nil, nil)
	if err != nil || len(found.Sets) != 1 {
		t.Errorf("%v: %+v", err, found.Sets)
	}
}

// TestRequiredValues: a chart that its own values do not make is checked with its others, which a note says, and a strict check
// fails if none of them makes it, or its routes.
func TestRequiredValues(t *testing.T) {
	required := "{{ $_ := required \"host is needed\" .Values.host }}{{ if ne .Values.host \"none\" }}" + route("b") + "\n{{ end }}\n"
	for name, test := range map[string]struct{ host, note, says string }{
		"made":      {"{host: a}\n", "cannot be built with its own values alone, so it is checked with its other values files: ", ""},
		"none made": {"{host: none}\n", "cannot be built with its own values alone, so it is checked with its other values files: ", "c/templates/b.yaml: may hold routes, and no set has made one"},
		"not built": {"{other: a}\n", "", "host is needed"},
		"no others": {"", "", "host is needed; if it needs values, add a file with these to the chart's directory ci"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"c/Chart.yaml": chartFile, "c/templates/b.yaml": required, "c/templates/s.yaml": service}
			if test.host != "" {
				files["c/ci/x.yaml"] = test.host
			}
			filesIn(t, ".", files)
			all, says := strictly(t)
			note := ""
			for _, n := range all.Notices {
				note += n.Path + ": " + n.Message
			}
			if !strings.Contains(says, test.says) || (says == "") != (test.says == "") || (note == "") != (test.note == "") ||
				!strings.Contains(note, test.note) || test.note != "" && !strings.HasPrefix(note, "c/Chart.yaml: ") {
				t.Errorf("note %q, says %q", note, says)
			}
		})
	}
}

// TestBrokenRendering: of a chart that one of its values files breaks, the finding names that file.
func TestBrokenRendering(t *testing.T) {
	filesIn(t, ".", map[string]string{
		"c/Chart.yaml": chartFile, "c/values.yaml": "mesh: {on: true}\n", "c/templates/b.yaml": "{{ if .Values.mesh.on }}" + route("b") + "{{ end }}",
		"c/values-a.yaml": "a: 1\n", "c/values-b.yaml": "mesh:\n",
	})
	all, _ := strictly(t)
	var text strings.Builder
	if err := all.Text(&text, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "(broken-document) (with values-b.yaml)") {
		t.Errorf("broken by values-b.yaml:\n%s", text.String())
	}
}
