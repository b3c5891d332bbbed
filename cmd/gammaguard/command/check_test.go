package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/gammaguard/gammaguard/check/explain"
	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/validate"
)

const shop = "testdata/shop"

// TestCheckOutputs holds each output format.
func TestCheckOutputs(t *testing.T) {
	for _, format := range []string{"text", "json", "github"} {
		t.Run(format, func(t *testing.T) {
			got := run(t, "", "check", "-f", shop, "-o", format)
			if diff := cmp.Diff(result{code: ExitFindings, stdout: got.stdout}, got, cmp.AllowUnexported(result{})); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
			golden(t, "shop."+format, got.stdout)
		})
	}
}

// TestCheckSARIF holds the SARIF format, and validates it by the schema of SARIF
// 2.1.0. The descriptions of the rules are the catalogue's, whatever these are.
func TestCheckSARIF(t *testing.T) {
	got := run(t, "", "check", "-f", shop, "-o", "sarif")
	if got.code != ExitFindings || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
	log, err := sarif.FromString(got.stdout)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Validate(); err != nil {
		t.Error(err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &fields); err != nil {
		t.Fatal(err)
	}
	driver := fields["runs"].([]any)[0].(map[string]any)["tool"].(map[string]any)["driver"].(map[string]any)
	var described, topics []string
	for _, rule := range driver["rules"].([]any) {
		described = append(described, rule.(map[string]any)["id"].(string))
	}
	for _, topic := range explain.Topics() {
		topics = append(topics, topic.ID)
	}
	if diff := cmp.Diff(topics, described); diff != "" {
		t.Error("described rules (-want +got)\n" + diff)
	}
	delete(driver, "rules")
	delete(driver, "version")
	for _, r := range fields["runs"].([]any)[0].(map[string]any)["results"].([]any) {
		delete(r.(map[string]any), "ruleIndex")
	}
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "shop.sarif", string(text)+"\n")
}

// check runs check and returns its report.
func checkJSON(t *testing.T, stdin string, args ...string) (report.CheckReport, result) {
	t.Helper()
	got := run(t, stdin, append([]string{"check", "-o", "json"}, args...)...)
	var r report.CheckReport
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return r, got
}

// seen is what a test looks at of a finding or change.
type seen struct {
	Route, File string
	Line        int
	ID          string
	Effect      validate.Action
}

func seenIn(r report.CheckReport) []seen {
	var all []seen
	for i := range r.Routes {
		route := &r.Routes[i]
		for _, c := range route.Changes {
			all = append(all, seen{route.String(), route.File, c.Line, c.Mutation, "change"})
		}
		for _, f := range route.Findings {
			all = append(all, seen{route.String(), route.File, f.Line, f.Rule, f.Effect})
		}
	}
	return all
}

// TestCheckKustomize: objects of a built folder have the place that they come from.
func TestCheckKustomize(t *testing.T) {
	r, got := checkJSON(t, "", "-k", "testdata/kustomize/overlay")
	want := []seen{
		{"HTTPRoute shop/dev-cart", "testdata/kustomize/base/cart.yaml", 15, "parent-port-not-found", validate.Deny},
	}
	if diff := cmp.Diff(want, seenIn(r)); diff != "" || got.code != ExitFindings {
		t.Errorf("exit code %d, (-want +got)\n%s", got.code, diff)
	}
}

const orphan = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a}
spec: {parentRefs: [{group: "", kind: Service, name: cart}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: b}
spec: {parentRefs: [{group: "", kind: Service, name: cart}]}
`

// TestCheckUnknown: what no file holds is unknown, once for a namespace's grants;
// an error if the check is strict; and known not to be there if the files are
// complete.
func TestCheckUnknown(t *testing.T) {
	const file = "<stdin>"
	for _, test := range []struct {
		name string
		args []string
		code int
		want []seen
	}{{
		name: "unknown",
		want: []seen{
			{"HTTPRoute shop/a", file, 4, "grant-missing", report.EffectUnknown},
			{"HTTPRoute shop/a", file, 4, "parent-not-found", report.EffectUnknown},
			{"GRPCRoute shop/b", file, 9, "parent-not-found", report.EffectUnknown},
		},
	}, {
		name: "strict",
		args: []string{"--strict"},
		code: ExitFindings,
		want: []seen{
			{"HTTPRoute shop/a", file, 4, "grant-missing", validate.Deny},
			{"HTTPRoute shop/a", file, 4, "parent-not-found", validate.Deny},
			{"GRPCRoute shop/b", file, 9, "parent-not-found", validate.Deny},
		},
	}, {
		name: "complete",
		args: []string{"--complete"},
		code: ExitFindings,
		want: []seen{
			{"HTTPRoute shop/a", file, 4, "grant-missing", validate.Deny},
			{"GRPCRoute shop/b", file, 9, "grant-missing", validate.Deny},
		},
	}} {
		t.Run(test.name, func(t *testing.T) {
			r, got := checkJSON(t, orphan, append([]string{"-f", "-", "-n", "shop"}, test.args...)...)
			if diff := cmp.Diff(test.want, seenIn(r)); diff != "" || got.code != test.code {
				t.Errorf("exit code %d, (-want +got)\n%s", got.code, diff)
			}
		})
	}
}

// TestCheckWithoutNamespaces: where grants are not known, routes still conflict.
func TestCheckWithoutNamespaces(t *testing.T) {
	r, got := checkJSON(t, orphan+"---\n{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n", "-f", "-")
	want := []seen{
		{"HTTPRoute default/a", "<stdin>", 4, "route-conflict", validate.Warn},
		{"HTTPRoute default/a", "<stdin>", 4, "grant-missing", report.EffectUnknown},
		{"GRPCRoute default/b", "<stdin>", 9, "route-conflict", validate.Warn},
		{"GRPCRoute default/b", "<stdin>", 9, "no-catch-all", validate.Warn},
	}
	if diff := cmp.Diff(want, seenIn(r)); diff != "" || got.code != ExitClean {
		t.Errorf("exit code %d, (-want +got)\n%s", got.code, diff)
	}
	if got := r.Routes[0].Status.Parents[0].Conditions[0].Reason; got != "Conflicted" {
		t.Errorf("status: want reason Conflicted, got %s", got)
	}
}

// TestCheckBase: a fault that was there before only warns, as on an update.
func TestCheckBase(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.yaml")
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/grant: all}}}\n---\n"
	if err := os.WriteFile(base, []byte(namespace+orphan), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(orphan, "name: cart}]}", "name: cart}], hostnames: [x.example.com]}", 1)
	changed = strings.ReplaceAll(changed, "name: b}", "name: c}")
	r, got := checkJSON(t, changed, "-f", "-", "--base", base, "--complete")
	want := []seen{
		{"HTTPRoute default/a", "<stdin>", 4, "hostnames-ignored", validate.Warn},
		{"HTTPRoute default/a", "<stdin>", 4, "parent-not-found", validate.Warn},
		{"GRPCRoute default/c", "<stdin>", 9, "parent-not-found", validate.Deny},
	}
	if diff := cmp.Diff(want, seenIn(r)); diff != "" || got.code != ExitFindings {
		t.Errorf("exit code %d, (-want +got)\n%s", got.code, diff)
	}
}

// TestCheckExitCodes holds what fails a check.
func TestCheckExitCodes(t *testing.T) {
	const clean = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {type: NodePort, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{PARENT}]}}
`
	audited := strings.Replace(clean, "{PARENT}", `{group: "", kind: Service, name: cart}`, 1)
	mutated := strings.Replace(clean, "{PARENT}", `{kind: Service, name: cart}`, 1)
	denied := strings.Replace(clean, "{PARENT}", `{group: "", kind: Service, name: cart, port: 81}`, 1)
	for _, test := range []struct {
		name, stdin string
		args        []string
		want        int
	}{
		{"audit passes", audited, nil, ExitClean},
		{"audit fails if told so", audited, []string{"--fail-on", "audit"}, ExitFindings},
		{"audit is no warning", audited, []string{"--fail-on", "warn"}, ExitClean},
		{"a change passes", mutated, nil, ExitClean},
		{"a change warns", mutated, []string{"--fail-on", "warn"}, ExitFindings},
		{"a denial fails", denied, nil, ExitFindings},
		{"nothing fails", denied, []string{"--fail-on", "never"}, ExitClean},
		{"a broken document fails", "a: [", nil, ExitFindings},
		{"nothing to judge", "", nil, ExitClean},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, test.stdin, append([]string{"check", "-f", "-"}, test.args...)...); got.code != test.want {
				t.Errorf("want exit code %d, got %+v", test.want, got)
			}
		})
	}
}

// TestWrongUse: what is wrong, and the exit code 2.
func TestWrongUse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "error: which command?\n"},
		{[]string{"chek"}, "error: unknown command \"chek\" for \"gammaguard\"\n\nDid you mean this?\n\tcheck\n\n"},
		{[]string{"check"}, "error: nothing to check: name files or folders by -f or -k\nsee 'gammaguard check --help'\n"},
		{[]string{"check", "--complte"}, "error: unknown flag: --complte\nsee 'gammaguard check --help'\n"},
		{[]string{"check", "-f", "-", "-"}, "error: standard input can be read only once\nsee 'gammaguard check --help'\n"},
		{[]string{"check", "-f", shop, "-o", "xml"}, "error: invalid argument \"xml\" for \"-o, --output\" flag: want one of text, json, sarif, github\nsee 'gammaguard check --help'\n"},
		{[]string{"check", "-f", shop, "--fail-on", "off"}, "error: invalid argument \"off\" for \"--fail-on\" flag: want one of never, deny, warn, audit\nsee 'gammaguard check --help'\n"},
		{[]string{"check", "-f", shop, "--context", "x"}, "error: --context has no effect without --cluster\nsee 'gammaguard check --help'\n"},
		{
			[]string{"check", "-f", shop, "--cluster", "--complete"},
			"error: --cluster and --complete exclude each other: the files cannot be everything and the cluster more\nsee 'gammaguard check --help'\n",
		},
		{
			[]string{"check", "-f", "-", "--fix"},
			"error: --fix writes into files: it works neither on standard input nor on what kustomize builds; fix the files that it builds from\nsee 'gammaguard check --help'\n",
		},
		{[]string{"check", "-f", "testdata/none"}, "error: lstat testdata/none: no such file or directory\n"},
		{[]string{"check", "-f", shop, "--config", "testdata/none"}, "error: configuration: open testdata/none: no such file or directory\n"},
		{[]string{"explain", "parent-heedless"}, "error: unknown ID \"parent-heedless\": is parent-headless meant? 'explain' without an ID lists all\n"},
		{[]string{"conflicts", "-o", "xml"}, "error: invalid argument \"xml\" for \"-o, --output\" flag: want one of wide, json, yaml\nsee 'gammaguard conflicts --help'\n"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			got := run(t, "", test.args...)
			if diff := cmp.Diff(test.want, got.stderr); diff != "" || got.code != ExitUsage {
				t.Errorf("exit code %d, stderr (-want +got)\n%s", got.code, diff)
			}
		})
	}
}

// TestCheckUnreadable: one unreadable path fails the check with 2, but what can be
// read is reported.
func TestCheckUnreadable(t *testing.T) {
	r, got := checkJSON(t, orphan, "-f", "testdata/none,-", "-n", "shop")
	if len(r.Routes) != 2 || got.code != ExitUsage || !strings.Contains(got.stderr, "testdata/none") {
		t.Errorf("%d routes, %+v", len(r.Routes), got)
	}
	if got := run(t, "", "check", "-k", "testdata/shop"); got.code != ExitUsage || !strings.Contains(got.stderr, "kustomize testdata/shop: ") {
		t.Errorf("%+v", got)
	}
}

// TestCheckExemption: --as is in whose name the routes would be applied.
func TestCheckExemption(t *testing.T) {
	config := filepath.Join(t.TempDir(), "guard.yaml")
	const text = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nexemptions: {groups: [breakglass]}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, got := checkJSON(t, orphan, "-f", "-", "--complete", "--config", config, "--as", "me", "--as-group", "breakglass")
	for _, f := range seenIn(r) {
		if f.Effect != validate.Audit && f.ID != "no-catch-all" {
			t.Errorf("want an audit entry, got %+v", f)
		}
	}
	if got.code != ExitClean || r.Summary.Audits == 0 {
		t.Errorf("%+v", got)
	}
}

// TestCheckFix: the files are mended, nothing else in them changes, and files
// without changes are not written.
func TestCheckFix(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(shop)); err != nil {
		t.Fatal(err)
	}
	mended, other := filepath.Join(folder, "routes", "cart.yaml"), filepath.Join(folder, "services.yaml")
	if err := os.Chmod(mended, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.yaml")
	if err := os.Symlink(mended, link); err != nil {
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
	text, err := os.ReadFile(mended)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "cart.fixed.yaml", string(text))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
	if info, err := os.Stat(mended); err != nil || info.Mode().Perm() != 0o640 {
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
		": cannot be fixed: HTTPRoute default/b: spec.parentRefs[0].group: its value is written in a way that is not edited here: write it on one line\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	for name, want := range texts {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
}

// TestCheckEndpoints: a manifest does not say which endpoints a controller makes; a
// dump of a cluster does.
func TestCheckEndpoints(t *testing.T) {
	const files = `
{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, UID}, spec: {selector: {app: cart}, ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}
`
	for uid, want := range map[string][]seen{
		"labels: {}": nil,
		"uid: a-b-c": {{"HTTPRoute default/cart", "<stdin>", 9, "backend-no-endpoints", validate.Warn}},
	} {
		r, _ := checkJSON(t, strings.Replace(files, "UID", uid, 1), "-f", "-", "--complete")
		if diff := cmp.Diff(want, seenIn(r)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", uid, diff)
		}
	}
}
