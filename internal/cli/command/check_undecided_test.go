package command

import (
	"strings"
	"testing"
)

// TestCheckUndecided: a fault that a mutation would mend is unknown where what the mutation reads is not in the input, and
// only there. The advice on the experimental channel is given only where that has nothing against the field.
func TestCheckUndecided(t *testing.T) {
	const (
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n---\n"
		ungranted = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: none}}}\n---\n"
		warns     = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer, gammaguard.dev/mode: warn}}}\n---\n"
		service   = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{name: http, port: 80}]}}\n---\n"
		several   = "{apiVersion: v1, kind: Service, metadata: {name: v1, namespace: shop}, spec: {ports: [{name: a, port: 80}, {name: b, port: 81}]}}\n---\n"
		one       = `{group: "", kind: Service, name: cart, port: 80}`
		two       = one + `, {group: "", kind: Service, name: cart, port: 81}`
		half      = one + `, {group: "", kind: Service, name: cart}`
		ofPay     = `{group: "", kind: Service, name: pay, namespace: pay}`
		noPort    = "Invalid value: Must have port for Service reference (schema)"
		channel   = "if your cluster has the experimental channel of the Gateway API, use --channel experimental"
		lacks     = "cannot be determined: Service shop/"
	)
	route := func(parents, backend string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: shop}, spec: {parentRefs: [" + parents + "], rules: [{backendRefs: [" + backend + "]}]}}\n"
	}
	for _, test := range []struct {
		name, input string
		args        []string
		// verdict is that of the route, and schema starts or ends the message of its finding.
		verdict, starts, ends string
	}{
		{"the backend", namespace + service + route(one, "{name: v1}"), nil, "unknown", lacks + "v1 is not in the input; add it ", "(schema)"},
		{"the namespace, too", service + route(one, "{name: v1}"), nil, "unknown", lacks + "v1 ", "(schema)"},
		{"the backend of a mirror", namespace + service + strings.Replace(route(one, "{name: cart, port: 80}"), "[{b", "[{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: v1}}}], b", 1), nil, "unknown", lacks + "v1 ", "(schema)"},
		{"the parent, whose ports have names", namespace + route(two, "{name: v1, port: 80}"), nil, "unknown", lacks + "cart ", "(schema)"},
		{"a grant in another namespace", service + route(ofPay, "{name: pay, namespace: pay}"), nil, "unknown", "cannot be determined: Service pay/pay ", "(schema)"},
		{"strict", namespace + service + route(one, "{name: v1}"), []string{"--strict"}, "deny", lacks + "v1 ", "(schema)"},
		{"complete", namespace + service + route(one, "{name: v1}"), []string{"--complete"}, "deny", noPort, noPort},
		{"in the input, with one port", namespace + service + route(one, "{name: cart}"), nil, "admit", "", ""},
		{"in the input, with several ports", namespace + several + route(one, "{name: v1}"), nil, "deny", noPort, noPort},
		{"ports that no Service decides", namespace + route(two, "{name: cart}"), []string{"--channel", "experimental"}, "deny", noPort, noPort},
		{"no grant", ungranted + service + route(one, "{name: v1}"), nil, "deny", noPort, noPort},
		{"a mode that makes no mutations", warns + service + route(one, "{name: v1}"), nil, "deny", noPort, noPort},
		{"a port that is not valid", namespace + service + route(one, "{name: v1, port: 0}"), nil, "unknown", lacks + "v1 ", "(schema)"},
		{"a fault that no mutation mends", namespace + service + route(one, "{name: v1, port: 80, weight: -1}"), nil, "deny", "Invalid value: -1", "(schema)"},
		{"the experimental channel rejects it, too", namespace + service + route(half, "{name: cart, port: 80}"), nil, "deny", "Invalid value: sectionName must be unique", "same parent (schema)"},
		{"the experimental channel admits it", namespace + several + strings.ReplaceAll(route(two, "{name: v1, port: 80}"), "name: cart", "name: v1, namespace: shop, sectionName: a"), nil, "deny", "Invalid value: sectionName must be unique", channel + " (schema)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, got := checkJSON(t, test.input, append([]string{"-f", "-"}, test.args...)...)
			message := ""
			for _, f := range r.Routes[0].Findings {
				if f.Rule == "schema" {
					message += f.Message
				}
			}
			if verdict := string(r.Routes[0].Verdict); verdict != test.verdict || !strings.HasPrefix(message, test.starts) || !strings.HasSuffix(message, test.ends) || (message == "") != (test.starts == "") ||
				(got.code == ExitFindings) != (verdict == "deny") {
				t.Errorf("exit code %d, %s: %q", got.code, verdict, message)
			}
		})
	}
	got := run(t, namespace+service+route(one, "{name: v1}"), "diff", "--base", written(t, nil), "-f", "-")
	if want := "HTTPRoute shop/a is left out, because whether the API server rejects it depends on Service shop/v1, which is not in the input: run gammaguard check for details"; !strings.Contains(got.stdout+got.stderr, want) {
		t.Errorf("diff: %+v", got)
	}
}

// TestGrantMissingInFiles: where the Namespace is in files, the label is to be set there, too.
func TestGrantMissingInFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	const service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n"
	put(t, "app.yaml", service+`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`+"\n")
	put(t, "shared/shop.yaml", "\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
	const want = "kubectl label namespace shop gammaguard.dev/grant=producer; for a Service elsewhere, set namespace in the parentRef; shared/shop.yaml:2 needs the same change (grant-missing)"
	for project, args := range map[string][]string{"sets: [{files: [app.yaml, shared]}]": nil, "context: [shared]": nil, "failOn: deny": {"-f", "."}} {
		put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\n"+project+"\n")
		if got := run(t, "", append([]string{"check"}, args...)...); got.code != ExitFindings || !strings.Contains(got.stdout, want) {
			t.Errorf("%s: %+v", project, got)
		}
	}
	put(t, "shared/shop.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: consumer}}}\n")
	put(t, "app.yaml", strings.NewReplacer(`namespace: shop}, spec: {ports`, `namespace: bank, labels: {gammaguard.dev/consumer-routes: deny}}, spec: {ports`, `"", kind: Service, name: cart`, `"", kind: Service, namespace: bank, name: cart`).Replace(contents(t, "app.yaml")))
	put(t, "stage/kustomization.yaml", "namespace: shop-stage\nresources: [../base]\n")
	put(t, "base/kustomization.yaml", "resources: [all.yaml]\n")
	put(t, "base/all.yaml", service+"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n"+strings.Split(contents(t, "app.yaml"), "---\n")[1])
	if got := run(t, "", "check", "-k", "stage"); !strings.Contains(got.stdout, "; base/all.yaml:3 needs the same change") {
		t.Errorf("renamed by a kustomization: %+v", got)
	}
	const refused = "gammaguard.dev/consumer-routes=allow --overwrite; app.yaml:1 needs the same change (consumer-refused)"
	if got := run(t, "", "check", "-f", "."); got.code != ExitFindings || !strings.Contains(got.stdout, refused) {
		t.Errorf("%+v", got)
	}
}

// TestCheckUnknownBackend: a backend that is not in the input is unknown once, of a rule that is not silenced.
func TestCheckUnknownBackend(t *testing.T) {
	t.Chdir(t.TempDir())
	const objects = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n---\n" +
		"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n"
	for _, test := range []struct{ ignore, rules, unknown string }{
		{"", "", "backend-not-found"},
		{"backend-not-found", "", "backend-external-name"},
		{"", "backend-not-found: off", "backend-external-name"},
		{"", "backend-external-name: off", "backend-not-found"},
		{"backend-not-found", "backend-not-found: deny", "backend-not-found"},
		{"backend-not-found", "backend-external-name: warn", "backend-external-name"},
		{"backend-not-found, backend-external-name", "backend-external-name: warn", ""},
		{"", "backend-not-found: off, backend-external-name: off", ""},
	} {
		put(t, "guard.yaml", "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, rules: {"+test.rules+"}}\n")
		r, _ := checkJSON(t, objects+`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop, annotations: {gammaguard.dev/ignore: "`+test.ignore+
			`"}}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: pay, port: 80}]}]}}`+"\n", "-f", "-", "--config", "guard.yaml")
		unknown := []string{}
		for _, f := range r.Routes[0].Findings {
			if f.Unknown {
				unknown = append(unknown, f.Rule)
			}
		}
		if strings.Join(unknown, " ") != test.unknown {
			t.Errorf("%+v: %q", test, unknown)
		}
	}
}

// TestGrantsTogether: where routes of a namespace lack both roles, each says so; where one label is enough, none does.
func TestGrantsTogether(t *testing.T) {
	const together = "; together, its routes in the input need gammaguard.dev/grant=all"
	objects := func(labels string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: bank}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {" + labels + "}}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: pay, namespace: bank, labels: {gammaguard.dev/consumer-routes: allow}}, spec: {ports: [{port: 80}]}}\n"
	}
	route := func(name, parents string) string {
		return "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name + ", namespace: shop}, spec: {parentRefs: [" + parents +
			"], rules: [{matches: [{path: {value: /" + name + "}}], backendRefs: [{name: cart, port: 80}]}]}}\n"
	}
	const own, pay = `{group: "", kind: Service, name: cart, port: 80}`, `{group: "", kind: Service, name: pay, namespace: bank, port: 80}`
	for _, test := range []struct {
		labels, routes string
		says           int
	}{
		{"", route("a", own) + route("b", pay), 2},
		{"gammaguard.dev/grant: none", route("a", own) + route("b", pay), 2},
		{"gammaguard.dev/grant: producer", route("a", own) + route("b", pay), 0},
		{"", route("a", own) + route("b", own), 0},
		{"", route("a", own) + route("b", own+", "+pay), 1},
		{"gammaguard.dev/grant: all", route("a", own) + route("b", pay), 0},
	} {
		got := run(t, objects(test.labels)+test.routes, "check", "-f", "-")
		if says := strings.Count(got.stdout, together); says != test.says {
			t.Errorf("%s: %d routes say so, want %d: %s", test.labels, says, test.says, got.stdout)
		}
	}
}
