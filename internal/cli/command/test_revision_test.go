package command

import (
	"os"
	"strings"
	"testing"
)

// TestTestAsInRevision: a test with asInRevision says the same as diff: of another configuration, of a Service that was removed, and of a route
// that the API server rejects.
func TestTestAsInRevision(t *testing.T) {
	const guard = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\ngrants: {default: producer}\nmesh: "
	deployed(t)
	for _, name := range []string{"base", "prod", "test", "chart"} {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const rule = "{backendRefs: [{name: web-v1, port: 80}]}"
	const backend = "{apiVersion: v1, kind: Service, metadata: {name: web-v1, namespace: shop}, spec: {ports: [{port: 80}]}}\n"
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nconfiguration: guard.yaml\n")
	put(t, "tests/gammaguard-test.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: {files: [../plain]}\ntests:\n"+
		"- {name: a, request: {service: shop/web, port: 80}, expect: {asInRevision: HEAD}}\n")
	for name, test := range map[string]struct{ rule, before, after, want string }{
		"mesh":     {"{}", "linkerd", "istio", "want web:80 100 % (the rule has no backendRefs), as in revision HEAD, got 500"},
		"removed":  {rule, "istio", "istio", "want web-v1:80 100 %, as in revision HEAD, got 500 (web-v1:80 is no longer in the input)"},
		"rejected": {rule, "linkerd", "linkerd", ""},
	} {
		put(t, "plain/ns.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
		put(t, "plain/web.yaml", strings.Replace(string(web), rule, test.rule, 1))
		put(t, "plain/web-v1.yaml", backend)
		put(t, "guard.yaml", guard+test.before+"\n")
		commit(t)
		if got := run(t, "", "test"); got.code != ExitClean {
			t.Errorf("%s: before: %+v", name, got)
		}
		put(t, "guard.yaml", guard+test.after+"\n")
		if name == "removed" {
			put(t, "plain/web-v1.yaml", "")
		}
		want := ExitFindings
		if name == "rejected" {
			put(t, "plain/web.yaml", strings.Replace(string(web), rule, strings.Replace(rule, "80", "80, weight: -1", 1), 1))
			want = ExitClean
		}
		for _, args := range []string{"test", "test -f plain tests"} {
			got := run(t, "", strings.Fields(args)...)
			if got.code != want || !strings.Contains(got.stdout, test.want) {
				t.Errorf("%s: %s: %+v", name, args, got)
			}
			_, diff, failed := strings.Cut(got.stdout, "to see what changes, run gammaguard ")
			diff, _, _ = strings.Cut(diff, "\n")
			if failed != (want == ExitFindings) {
				t.Errorf("%s: %s: %+v", name, args, got)
			} else if got := run(t, "", strings.Fields(diff)...); failed && (got.code != ExitFindings || !strings.Contains(got.stdout, "→  500")) {
				t.Errorf("%s: %s: %+v", name, diff, got)
			}
		}
		if got := run(t, "", "test", "--config", "guard.yaml"); (got.code == ExitClean) == (name == "removed") {
			t.Errorf("%s: --config: %+v", name, got)
		}
	}
}
