package command

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

// TestCheckSeveralOutputs: each format goes to its file, as it does alone to standard
// output.
func TestCheckSeveralOutputs(t *testing.T) {
	folder := t.TempDir()
	args := []string{"check", "-f", shop, "-o", "text"}
	for _, format := range reportFormats {
		args = append(args, "-o", format+"="+filepath.Join(folder, format))
	}
	got := run(t, "", args...)
	if want := run(t, "", "check", "-f", shop); got != want {
		t.Errorf("standard output: %+v, want %+v", got, want)
	}
	for _, format := range reportFormats {
		text, err := os.ReadFile(filepath.Join(folder, format))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(run(t, "", "check", "-f", shop, "-o", format).stdout, string(text)); diff != "" {
			t.Errorf("%s (-alone +among others)\n%s", format, diff)
		}
	}
}

// TestCheckStdinOutputs: what is read from standard input has no file to point at.
func TestCheckStdinOutputs(t *testing.T) {
	for format, unwanted := range map[string]string{"sarif": `"uri"`, "github": "file="} {
		if got := run(t, orphan, "check", "-f", "-", "-o", format).stdout; strings.Contains(got, unwanted) || !strings.Contains(got, "HTTPRoute default/a") && !strings.Contains(got, "namespace default") {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// TestCheckJUnitFailures: a test case fails if the command does.
func TestCheckJUnitFailures(t *testing.T) {
	for failOn, want := range map[string]bool{"deny": false, "warn": true} {
		const service = "---\n{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n"
		got := run(t, orphan+service, "check", "-f", "-", "-o", "junit", "--fail-on", failOn)
		var suites struct {
			Failures int `xml:"failures,attr"`
		}
		if err := xml.Unmarshal([]byte(got.stdout), &suites); err != nil {
			t.Fatal(err)
		}
		if fails := got.code == ExitFindings; fails != want || suites.Failures > 0 != want {
			t.Errorf("--fail-on %s: exit code %d, %d failures", failOn, got.code, suites.Failures)
		}
	}
}

// TestCheckJUnitUnknown: each route of which something is unknown is skipped, also where a finding on another route says what, and fails with --strict.
func TestCheckJUnitUnknown(t *testing.T) {
	const routes = orphan + "---\n{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n"
	const namespace = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/grant: producer}}}\n"
	for input, want := range map[string]int{routes: 2, routes + namespace: 0} {
		for flag, element := range map[string]string{"--complete=false": "<skipped ", "--strict": "<failure "} {
			got := run(t, input, "check", "-f", "-", "-o", "junit", flag)
			if strings.Count(got.stdout, "<testcase ") != 2 || strings.Count(got.stdout, element) != want {
				t.Errorf("%s: want %d: %+v", flag, want, got)
			}
		}
	}
}

// TestCheckNotChecked: every form shows what was not checked and may hold routes, at its place, and nothing of files that are
// no manifests.
func TestCheckNotChecked(t *testing.T) {
	folder := written(t, map[string]string{
		"shop/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"shop/templates/a.yaml": "a: {{ fail `](x) ::error::%` }}\n", "shop/ci/a.yaml": "a: b\n", "shop/ci/b.yaml": "a: c\n",
		"dev/kustomization.yaml": "resources: ['https://example.invalid/a//b?ref=v1']\n",
		"a.tmpl.yaml":            "kind: HTTPRoute\napiVersion: gateway.networking.k8s.io/v1\nmetadata: {name: {{ .name }}}\n",
		"b.tmpl.yaml":            "a: {{ .name }}\n", "c.json": "[1]\n",
	})
	const more = "chart shop, and 2 more"
	for format, want := range map[string][]string{
		"github": {
			"::warning file=a.tmpl.yaml,line=1,title=not-checked::not checked: a template outside a chart; ",
			"::warning file=dev/kustomization.yaml,line=1,title=not-checked::kustomization dev: not checked: needs what is not in the repository, ",
			"::warning file=shop/templates/a.yaml,line=1,title=not-checked::" + more + ": not checked: cannot be built, ", "%25\n",
		},
		"gitlab": {`"check_name": "not-checked"`, `"severity": "info"`, `"path": "dev/kustomization.yaml"`, `"path": "shop/templates/a.yaml"`, `"path": "a.tmpl.yaml"`, more},
		"junit":  {`tests="3" failures="0"`, `<testcase name="kustomization dev"`, `<testcase name="` + more, `<testcase name="not checked" classname="a.tmpl.yaml"`, `<skipped message="not checked: cannot be built, `},
	} {
		got := runIn(t, folder, "check", "-o", format)
		for _, part := range want {
			if !strings.Contains(got.stdout, part) || strings.Contains(got.stdout, "b.tmpl.yaml") || strings.Contains(got.stdout, "c.json") || got.code != ExitClean {
				t.Errorf("%s: want %s: %+v", format, part, got)
			}
		}
	}
	got := runIn(t, folder, "check", "--strict")
	if got.code != ExitUsage || got.stderr != "error: a.tmpl.yaml, and 4 more: not accepted; the report above says why\n" {
		t.Errorf("--strict: %+v", got)
	}
	got = runIn(t, folder, "check", "--strict", "-o", "github") // which has no line for each
	if lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n"); len(lines) != 3 || slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "error: ") }) {
		t.Errorf("--strict: %+v", got)
	}
	got = runIn(t, folder, "check", "-o", "sarif")
	log, err := sarif.FromString(got.stdout)
	if err != nil || len(log.Runs[0].Invocations) != 1 || len(log.Runs[0].Results) != 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	var at []string
	for _, n := range log.Runs[0].Invocations[0].ToolExecutionNotifications {
		at = append(at, n.Level+" "+*n.Locations[0].PhysicalLocation.ArtifactLocation.URI)
		if strings.Contains(*n.Message.Text, "](") {
			t.Errorf("a link: %s", *n.Message.Text)
		}
	}
	if diff := cmp.Diff([]string{"warning a.tmpl.yaml", "warning dev/kustomization.yaml", "warning shop/templates/a.yaml"}, at); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestCheckEdits: the edits in a report make of a file what --fix does.
func TestCheckEdits(t *testing.T) {
	const text = "# größer: \U0001f6d2\nspec:\n  parentRefs: [{name: ü, kind: Service}]\n  rules:\n  - backendRefs:\n    - kind: Service # here\n      name: ü\n      group: core\n" +
		"kind: HTTPRoute\nmetadata: {name: a}\napiVersion: gateway.networking.k8s.io/v1\n"
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, _ := checkJSON(t, "", "-f", file)
	lines := strings.SplitAfter(text, "\n")
	changes := r.Routes[0].Changes
	for i := len(changes) - 1; i >= 0; i-- { // from the end, so that lines stay
		e := changes[i].Edit
		if e == nil || e.StartLine != e.EndLine {
			t.Fatalf("edit of %s: %+v", changes[i].Field, e)
		}
		line := []rune(lines[e.StartLine-1])
		lines[e.StartLine-1] = string(line[:e.StartColumn-1]) + e.Text + string(line[e.EndColumn-1:])
	}
	run(t, "", "check", "-f", file, "--fix")
	fixed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(fixed), strings.Join(lines, "")); diff != "" || len(changes) < 2 {
		t.Errorf("%d changes (---fix +edits)\n%s", len(changes), diff)
	}
}

// TestCheckSourceEdits: SARIF has the edits that --fix makes in the sources of kustomizations and in the plain files of
// charts, also if only one set shows that; none of what a patch sets, a template makes, or standard input has.
func TestCheckSourceEdits(t *testing.T) {
	route := func(name, ref string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + name + "}\nspec: {parentRefs: [" + ref + "]}\n"
	}
	const ref = "{name: cart, kind: Service}"
	t.Chdir(written(t, map[string]string{
		"base/kustomization.yaml":   "resources: [a.yaml, b.yaml]\n",
		"base/a.yaml":               route("a", ref),
		"base/b.yaml":               route("b", ref),
		"prod/kustomization.yaml":   "resources: [../base, c.yaml]\nnamespace: prod\nnamePrefix: prod-\npatches: [{path: patch.yaml}]\n",
		"prod/c.yaml":               "# \U0001f6d2\n" + route("c", ref),
		"prod/patch.yaml":           route("b", "{name: cart, kind: Service, port: 80}"),
		"more/kustomization.yaml":   "resources: [f.yaml]\n",
		"more/f.yaml":               route("f", ref),
		"dev/kustomization.yaml":    "resources: [../more]\npatches: [{target: {kind: HTTPRoute}, patch: '[{\"op\": \"add\", \"path\": \"/spec/parentRefs/0/namespace\", \"value\": \"default\"}]'}]\n",
		"test/kustomization.yaml":   "resources: [../more]\n",
		"chart/Chart.yaml":          "{apiVersion: v2, name: c, version: 1.0.0}\n",
		"chart/values.yaml":         "kind: Service\n",
		"chart/templates/d.yaml":    route("d", ref),
		"chart/templates/made.yaml": route("e", "{name: cart, kind: {{ .Values.kind }}}"),
	}))
	fixes := func(stdin string, args ...string) (found []string) {
		got := run(t, stdin, append([]string{"check", "-o", "sarif"}, args...)...)
		log, err := sarif.FromString(got.stdout)
		if err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		for _, result := range log.Runs[0].Results {
			if *result.RuleID != "parent-group" {
				continue
			}
			text := "nowhere"
			for _, at := range result.Locations {
				if at.PhysicalLocation != nil {
					text = fmt.Sprintf("%s:%d", *at.PhysicalLocation.ArtifactLocation.URI, *at.PhysicalLocation.Region.StartLine)
				}
			}
			for _, fix := range result.Fixes {
				change := fix.ArtifactChanges[0]
				region, with := change.Replacements[0].DeletedRegion, *change.Replacements[0].InsertedContent.Text
				text += fmt.Sprintf(" %s:%d:%d-%d:%d %s", *change.ArtifactLocation.URI, *region.StartLine, *region.StartColumn, *region.EndLine, *region.EndColumn, with)
			}
			found = append(found, text)
		}
		return found
	}
	const edit = `4:47-4:47 , group: ""`
	want := []string{
		"base/a.yaml:4 base/a.yaml:" + edit, "chart/templates/d.yaml:4 chart/templates/d.yaml:" + edit, "chart/templates/made.yaml:4",
		"more/f.yaml:4 more/f.yaml:" + edit,
		"prod/c.yaml:5 prod/c.yaml:" + strings.ReplaceAll(edit, "4:47", "5:47"), "prod/patch.yaml:4",
	}
	if diff := cmp.Diff(want, fixes("")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nowhere"}, fixes(route("a", ref), "-f", "-")); diff != "" {
		t.Errorf("standard input (-want +got)\n%s", diff)
	}
}

// TestDiffSeveralOutputs: diff writes each format to its file as check does.
func TestDiffSeveralOutputs(t *testing.T) {
	folder := t.TempDir()
	deployed(t)
	put(t, "after.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
	args := []string{"diff", "--base", "plain", "-f", "after.yaml", "-o", "text"}
	for _, format := range diffFormats {
		args = append(args, "-o", format+"="+filepath.Join(folder, format))
	}
	if got, want := run(t, "", args...), run(t, "", args[:5]...); got != want || got.stderr != "" {
		t.Errorf("standard output: %+v, want %+v", got, want)
	}
	for _, format := range diffFormats {
		text, err := os.ReadFile(filepath.Join(folder, format))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(run(t, "", append(args[:5:5], "-o", format)...).stdout, string(text)); diff != "" {
			t.Errorf("%s (-alone +among others)\n%s", format, diff)
		}
	}
}
