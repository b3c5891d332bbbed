package check_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

func TestMain(m *testing.M) {
	build.Main()
	os.Exit(m.Run())
}

// enlarged reads files; one that holds a name stands for a text with that name, and with 8 MiB of a comment.
func enlarged(texts map[string]string) func(string, func(string) ([]byte, error)) ([]byte, error) {
	return func(path string, read func(string) ([]byte, error)) ([]byte, error) {
		data, err := read(path)
		if text, large := texts[string(data)]; large {
			return append([]byte(text+" # gateway.networking.k8s.io\n#"), bytes.Repeat([]byte("x"), 8<<20)...), nil
		}
		return data, err
	}
}

// TestInputIsBounded: what is named often counts as often, also as a patch, and the other sets are
// checked. Of a folder, what fits is.
func TestInputIsBounded(t *testing.T) {
	options := &check.Options{Config: config.Default(), Options: source.Options{ReadFile: enlarged(map[string]string{
		"large": "{apiVersion: v1, kind: Service, metadata: {name: a}}", "patch": "- {op: add, path: /metadata/labels, value: {a: b}}",
	})}}
	files := map[string]string{
		".gammaguard.yaml": projectHeader + "sets: [{chart: c, values: [" + strings.Repeat("large.yaml, ", 9) + "]}, {files: [l]}, {kustomization: p}, {files: [m]}]\n",
		"large.yaml":       "large", "m/a.yaml": evil, "c/Chart.yaml": "{apiVersion: v2, name: c, version: 1.0.0}\n",
		"p/kustomization.yaml": "resources: [a.yaml]\npatches: [" + strings.Repeat("{path: patch.yaml, target: {kind: HTTPRoute}}, ", 9) + "]\n",
		"l/a.yaml":             evil, "p/a.yaml": evil, "p/patch.yaml": "patch",
	}
	for i := range 9 {
		files[fmt.Sprintf("l/%d.yaml", i)] = "large"
	}
	filesIn(t, ".", files)
	project, err := sets.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		paths   []string
		project *sets.Project
		errors  []string
		routes  int
		skipped string
	}{
		"named":      {nil, project, []string{"chart c with large.yaml", "directory l: ", "kustomization p: "}, 1, ""},
		"discovered": {[]string{"l", "m"}, nil, nil, 2, "l/7.yaml l/8.yaml"},
	} {
		found, err := check.FindSets(t.Context(), options, test.paths, test.project)
		if err != nil {
			t.Fatal(err)
		}
		all, err := check.RunSets(t.Context(), options, found)
		if all == nil || len(all.Routes) != test.routes || (err == nil) != (test.errors == nil) {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		var left []string
		for _, s := range all.Skipped {
			left = append(left, s.Path)
			if !s.Hides || !strings.Contains(s.Reason, "more than 64 MiB") {
				t.Errorf("%s: %+v", name, s)
			}
		}
		if got := strings.Join(left, " "); got != test.skipped {
			t.Errorf("%s: not checked: %s", name, got)
		}
		for i, want := range test.errors {
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.errors) || !strings.HasPrefix(lines[i], want) || !strings.Contains(lines[i], "its files have more than 64 MiB") {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}

// TestLinksAreBounded: many links to one file, whatever it holds, are not read for ever, and what
// is not read is said.
func TestLinksAreBounded(t *testing.T) {
	read := 0
	large := enlarged(map[string]string{"large": "a: b"})
	options := &check.Options{Config: config.Default(), Options: source.Options{ReadFile: func(path string, from func(string) ([]byte, error)) ([]byte, error) {
		data, err := large(path, from)
		read += len(data)
		return data, err
	}}}
	filesIn(t, ".", map[string]string{"large.txt": "large", "z/a.yaml": evil, ".gitignore": "n\n"})
	for _, folder := range []string{"m", "n", "o"} {
		for i := range 20 {
			path := fmt.Sprintf("%s/%02d/%s", folder, i, map[bool]string{true: "kustomization.yaml", false: "a.yaml"}[folder == "o"])
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.Symlink("../../large.txt", path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := check.FindSets(t.Context(), options, []string{"."}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if most := 100 << 20; read > most {
		t.Errorf("read %d MiB", read>>20)
	}
	hidden := 0
	for _, s := range found.Skipped {
		if s.Hides && strings.Contains(s.Reason, "more than 64 MiB behind links") {
			hidden++
		}
	}
	if hidden != 12+20 || len(found.Sets) != 20+1 {
		t.Errorf("%d hidden, %d sets: %+v", hidden, len(found.Sets), found.Skipped)
	}
}

// TestIgnoresAreBounded: patterns beyond the bounds are not heeded, and that is said.
func TestIgnoresAreBounded(t *testing.T) {
	many := strings.Repeat("x\n", 6_000)
	const own, unheeded = ".gammaguardignore", ": its patterns are not heeded: "
	const tooMany = "there are more than 10000 patterns"
	chart := "{apiVersion: v2, name: c, version: 1.0.0}\n"
	for name, test := range map[string]struct {
		files map[string]string
		sets  int
		want  string
	}{
		"few":        {map[string]string{".gitignore": "m/a.yaml\n", "n/" + own: "*\n!a.yaml\n"}, 1, ""},
		"large":      {map[string]string{own: "m\n#" + strings.Repeat("x", 1<<20)}, 2, own + unheeded + "it is larger than 1 MiB"},
		"many":       {map[string]string{own: "m\n" + many + many}, 2, own + unheeded + tooMany},
		"in all":     {map[string]string{own: many, "m/" + own: "*\n" + many}, 2, "m/" + own + unheeded + tooMany},
		"helmignore": {map[string]string{"m/Chart.yaml": chart, "m/.helmignore": many + many}, 3, ".helmignore: " + tooMany},
	} {
		t.Run(name, func(t *testing.T) {
			test.files["m/a.yaml"], test.files["n/a.yaml"] = evil, evil
			filesIn(t, ".", test.files)
			options := &check.Options{Config: config.Default()}
			found, err := check.FindSets(t.Context(), options, []string{"m", "n"}, nil)
			if err != nil || len(found.Sets) != test.sets {
				t.Fatalf("%+v, %v", found, err)
			}
			all, err := check.RunSets(t.Context(), options, found)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, s := range all.Skipped {
				said = append(said, s.Path+": "+s.Reason)
			}
			for i := range all.Broken {
				said = append(said, all.Broken[i].Message)
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, test.want) || strings.Contains(got, "not heeded") && test.want == "" {
				t.Errorf("said %s", got)
			}
		})
	}
}

// TestOutputIsBounded: a small chart that makes long names, long values, and many findings leads to a report
// of bounded size, and all of them count.
func TestOutputIsBounded(t *testing.T) {
	const routes = `{{ range $i := until COUNT }}---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: "NAME{{ $i }}", namespace: s}, spec: {parentRefs: [{group: "", kind: Service, name: c, port: 1}], x: VALUE}}
{{ end }}`
	for name, test := range map[string]struct {
		routes            int
		name, value, want string
	}{
		"names":  {500, `{{ repeat 10000 "A" }}`, "y", "metadata.name is longer than 1024 bytes"},
		"values": {500, "a", `"{{ repeat 10000 "V" }}"`, "V"},
		"fields": {500, "a", `y, ? {{ repeat 10000 "F" }} : y`, "F"},
		"many":   {3000, `{{ repeat 900 "A" }}`, `{{ repeat 900 "V" }}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			template := strings.NewReplacer("COUNT", strconv.Itoa(test.routes), "NAME", test.name, "VALUE", test.value).Replace(routes)
			filesIn(t, ".", map[string]string{"c/Chart.yaml": "{apiVersion: v2, name: c, version: 1.0.0}\n", "c/templates/a.yaml": template, "c/ci/1.yaml": "a: 1\n", "c/ci/2.yaml": "a: 2\n"})
			options := &check.Options{Config: config.Default()}
			found, err := check.FindSets(t.Context(), options, []string{"."}, nil)
			if err != nil {
				t.Fatal(err)
			}
			all, err := check.RunSets(t.Context(), options, found)
			if err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			s := all.Summary
			if total := 3 * test.routes; s.Routes+s.Broken != total || len(all.Routes)+len(all.Broken)+s.NotListed != total || s.Denials+s.Broken < total {
				t.Errorf("%d routes, %d broken listed: %+v", len(all.Routes), len(all.Broken), s)
			}
			if most := 64 << 20; len(out) > most || !strings.Contains(string(out), test.want) {
				t.Errorf("the report has %d MiB: %.1000s", len(out)>>20, out)
			}
			for i := range all.Routes {
				for _, f := range all.Routes[i].Findings {
					if len(f.Message) > 5000 {
						t.Fatalf("a message of %d bytes", len(f.Message))
					}
				}
			}
		})
	}
}
