package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/validate"
)

const shop = "testdata/shop"

// TestCheckOutputs holds each output format.
func TestCheckOutputs(t *testing.T) {
	for _, format := range []string{"text", "json", "github", "gitlab", "junit"} {
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
// 2.1.0. The descriptions of the rules are the catalog's, whatever these are.
func TestCheckSARIF(t *testing.T) {
	got := run(t, "", "check", "-f", shop, "-o", "sarif")
	if got.code != ExitFindings || got.stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(new(sarif.Report)); err != nil {
		t.Fatal(err)
	}
	log, err := sarif.FromString(got.stdout)
	if err != nil {
		t.Fatal(err)
	}
	defaults := sarif.NewRun() // what the library would write empty where the log has nothing
	for _, run := range log.Runs {
		run.Language, run.NewlineSequences, run.Tool.Driver.Language = defaults.Language, defaults.NewlineSequences, defaults.Language
	}
	if err := log.Validate(); err != nil {
		t.Error(err)
	}
	if strings.Contains(got.stdout, ": -1") {
		t.Error("an index of nothing is written")
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
spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: b}
spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{matches: [{method: {service: a}}], filters: [{type: ExtensionRef, extensionRef: {group: a.example, kind: A, name: a}}]}]}
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
		name: "strict", args: []string{"--strict"}, code: ExitFindings,
		want: []seen{
			{"HTTPRoute shop/a", file, 4, "grant-missing", validate.Deny},
			{"HTTPRoute shop/a", file, 4, "parent-not-found", validate.Deny},
			{"GRPCRoute shop/b", file, 9, "parent-not-found", validate.Deny},
		},
	}, {
		name: "complete", args: []string{"--complete"}, code: ExitFindings,
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

// TestCheckUnknownAdvice: of several pieces of advice, each says for which namespaces it is.
func TestCheckUnknownAdvice(t *testing.T) {
	const advice = "add them to the input or to context in .gammaguard.yaml, or use --base, --cluster, or, if they do not exist, --complete.\n"
	named := strings.ReplaceAll(orphan, "metadata: {", "metadata: {namespace: shop, ")
	for input, want := range map[string]string{
		named:                    "\n  A" + advice[1:],
		named + "---\n" + orphan: "\n  For namespace shop: " + advice + "  For namespace default: the route names no namespace, so set it with -n, or " + advice,
	} {
		if got := run(t, input, "check", "-f", "-"); !strings.Contains(got.stdout, want) {
			t.Errorf("want %q in\n%s", want, got.stdout)
		}
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
	changed := strings.Replace(orphan, "name: cart}], rules", "name: cart}], hostnames: [x.example.com], rules", 1)
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

// TestCheckBaseGrants: what held of a route that stays as it is warns, and what the input takes from it denies: the grant, the
// consent of the Service's side, or any other object that it needs, as diff says too.
func TestCheckBaseGrants(t *testing.T) {
	const granted = "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/grant: all}}}\n---\n"
	const bare = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}\n---\n"
	const pay = "{apiVersion: v1, kind: Namespace, metadata: {name: pay}}\n---\n"
	const closed = "{apiVersion: v1, kind: Namespace, metadata: {name: pay, labels: {gammaguard.dev/consumer-routes: deny}}}\n---\n"
	const service = "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: pay}, spec: {ports: [{port: 80}]}}\n---\n"
	headless := strings.Replace(service, "ports", "clusterIP: None, ports", 1)
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: default}, spec: {parentRefs: [{group: '', kind: Service, namespace: pay, name: a, port: 80}], rules: [{backendRefs: [{namespace: pay, name: a, port: 80}]}]}}\n"
	for name, test := range map[string]struct {
		before, after string
		rule          string
		effect        validate.Action
	}{
		"no grant":             {bare + pay + service, bare + pay + service, "grant-missing", validate.Warn},
		"no Namespace before":  {service, bare + pay + service, "grant-missing", validate.Warn},
		"takes the grant":      {granted + pay + service, bare + pay + service, "grant-missing", validate.Deny},
		"refused":              {granted + closed + service, granted + closed + service, "consumer-refused", validate.Warn},
		"refuses":              {granted + pay + service, granted + closed + service, "consumer-refused", validate.Deny},
		"headless":             {granted + pay + headless, granted + pay + headless, "parent-headless", validate.Warn},
		"makes it headless":    {granted + pay + service, granted + pay + headless, "parent-headless", validate.Deny},
		"the base is a route":  {"", granted + pay + headless, "parent-headless", validate.Warn},
		"the base has a grant": {granted, bare + pay + service, "grant-missing", validate.Deny},
	} {
		folder := written(t, map[string]string{"before.yaml": test.before + route, "after.yaml": test.after + route})
		before, after := filepath.Join(folder, "before.yaml"), filepath.Join(folder, "after.yaml")
		r, got := checkJSON(t, "", "-f", after, "--base", before, "--fail-on", "warn")
		seen := seenIn(r)
		if len(seen) == 0 || seen[0].ID != test.rule || seen[0].Effect != test.effect || got.code != ExitFindings {
			t.Errorf("%s: exit code %d, %+v", name, got.code, seen)
		}
		if test.before == "" || test.effect == validate.Warn && !strings.Contains(test.before, test.after) {
			continue // what diff compares is not whole
		}
		diff := run(t, "", "diff", "-f", after, "--base", before, "-o", "json")
		if isNew := strings.Contains(diff.stdout, `"`+test.rule+`"`); isNew != (test.effect == validate.Deny) {
			t.Errorf("%s: diff says %s", name, diff.stdout)
		}
	}
}

// TestCheckBaseBuilt: the base is built as the input is, so that a fault that it has already only warns.
func TestCheckBaseBuilt(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {gammaguard.dev/grant: all}}}\n---\n"
	for name, files := range map[string]map[string]string{
		"-k":     {"kustomization.yaml": "resources: [routes.yaml]\nnameSuffix: -prod\n", "routes.yaml": namespace + orphan},
		"--helm": {"Chart.yaml": "{apiVersion: v2, name: shop, version: 0.1.0}\n", "templates/routes.yaml": namespace + strings.ReplaceAll(orphan, "name: a}", "name: {{ .Release.Name }}-a}")},
	} {
		folder := t.TempDir()
		for file, text := range files {
			path := filepath.Join(folder, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, got := checkJSON(t, "", name, folder, "--complete")
		if got.code != ExitFindings || len(r.Broken) > 0 {
			t.Errorf("%s without a base: %+v", name, got)
		}
		r, got = checkJSON(t, "", name, folder, "--base", folder, "--complete")
		if got.code != ExitClean || len(r.Broken) > 0 || r.Summary.Warnings == 0 {
			t.Errorf("%s with the same base: %+v", name, got)
		}
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
