package command

import (
	"slices"
	"strings"
	"testing"
)

// TestCheckKeys: labels and annotations of gammaguard that have no effect where they are, and a kind that differs from
// that of a route by case alone, are noted at their lines, once, in whichever sets and context they are. Only the kind fails a strict check.
func TestCheckKeys(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels:\n    gammaguard.dev/grant: all\n"
	files := map[string]string{
		".gammaguard.yaml": projectHeader + "context: [shared]\n",
		"shared/ns.yaml": namespace + "    gammaguard.dev/grant-routez: a\n    gammaguard.dev/scrape: allow\n    team: gammaguard.dev/x\n" +
			"  annotations: {gammaguard.dev/mode: warn, gammaguard.dev/grant-request: a, gammaguard.dev/consumer-routes-from: a}\n",
		"base/kustomization.yaml": "resources: [all.yaml]\n",
		"base/all.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: cart\n  namespace: shop\n  labels:\n    gammaguard.dev/grant: all\nspec: {ports: [{port: 80}]}\n---\n" +
			"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: cart\n  namespace: shop\n  annotations:\n    gammaguard.dev/ingore: no-catch-all\n" +
			"spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}\n---\n" +
			"apiVersion: gateway.networking.k8s.io/v1\nkind: GrpcRoute\nmetadata: {name: cart, namespace: shop}\n",
		"dev/kustomization.yaml": "resources: [../base]\n", "prod/kustomization.yaml": "resources: [../base]\n",
	}
	want := []string{
		"note: shared/ns.yaml:7: Namespace shop: the label gammaguard.dev/grant-routez has no effect here; these have: labels grant, mode, consumer-routes, scrape; annotations grant-route-kinds, grant-request, consumer-routes-from, consumer-route-kinds",
		"note: shared/ns.yaml:10: Namespace shop: the annotation gammaguard.dev/mode has no effect here; did you mean the label gammaguard.dev/mode?",
		"note: base/all.yaml:7: Service shop/cart: the label gammaguard.dev/grant has no effect here; these have: labels consumer-routes; annotations consumer-routes-from, consumer-route-kinds",
		"note: base/all.yaml:16: HTTPRoute shop/cart: the annotation gammaguard.dev/ingore has no effect here; did you mean the annotation gammaguard.dev/ignore?",
		"note: base/all.yaml:20: kind GrpcRoute does not exist, so the object is not checked; if a route is meant, write GRPCRoute",
	}
	folder := written(t, files)
	if got := runIn(t, folder, "check", "-f", "shared"); strings.Count(got.stdout, want[0]) != 1 {
		t.Errorf("the context is read as input, too: %+v", got)
	}
	for _, args := range [][]string{{"check"}, {"check", "-k", "dev", "--strict"}} {
		got := runIn(t, folder, args...)
		for _, line := range want {
			if strings.Count(got.stdout, line) != 1 {
				t.Errorf("%q: %q is not there once: %+v", args, line, got)
			}
		}
		strict := slices.Contains(args, "--strict")
		if strings.Count(got.stdout, "note: ") != len(want) || (got.code == ExitClean) == strict || (got.stderr == "") == strict {
			t.Errorf("%q: %+v", args, got)
		}
	}
	got := runIn(t, folder, "check", "-o", "github")
	if !strings.Contains(got.stdout, "::notice file=shared/ns.yaml,line=7,title=note::Namespace shop: the label ") {
		t.Errorf("-o github: %+v", got)
	}
	if got := runIn(t, folder, "trace", "svc/cart", "-n", "shop", "-k", "dev"); strings.Contains(got.stdout, "has no effect here") {
		t.Errorf("trace: %+v", got)
	}
}

// TestCheckValues: a label or an annotation of gammaguard whose value is not known is noted at its line, with what it then does.
func TestCheckValues(t *testing.T) {
	folder := written(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  labels:\n    gammaguard.dev/grant: Producer\n    gammaguard.dev/mode: Enforce\n" +
		"  annotations:\n    gammaguard.dev/grant-route-kinds: http\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata:\n  name: cart\n  namespace: shop\n  labels:\n    gammaguard.dev/consumer-routes: \"no\"\n" +
		"  annotations:\n    gammaguard.dev/consumer-routes-from: a in\n    gammaguard.dev/consumer-route-kinds: HTTPRoute\nspec: {ports: [{port: 80}]}\n"})
	got := runIn(t, folder, "check", "-f", "a.yaml")
	want := []string{
		`note: a.yaml:6: Namespace shop: unknown value "Producer" of label gammaguard.dev/grant: it counts as "none" (valid values: none, producer, consumer, all); where gammaguard is installed, the API server refuses it`,
		`note: a.yaml:7: Namespace shop: unknown value "Enforce" of label gammaguard.dev/mode: it counts as "enforce" (valid values: enforce, warn, audit); where gammaguard is installed, the API server refuses it`,
		`note: a.yaml:9: Namespace shop: the annotation gammaguard.dev/grant-route-kinds cannot be read, so nothing is granted: kinds are GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute, and not "http"`,
		`note: a.yaml:17: Service shop/cart: unknown value "no" of label gammaguard.dev/consumer-routes: it counts as "deny" (valid values: deny, allow)`,
		`note: a.yaml:19: Service shop/cart: the annotation gammaguard.dev/consumer-routes-from cannot be read, so no consumer routes are accepted: the value is a label selector, such as team=web`,
	}
	for _, line := range want {
		if strings.Count(got.stdout, line+"\n") != 1 {
			t.Errorf("%s is not there once", line)
		}
	}
	if strings.Count(got.stdout, "note: ") != len(want) || got.code != ExitClean {
		t.Errorf("%+v", got)
	}
	// What changes the values has diff say so.
	put(t, folder+"/b.yaml", "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}\n")
	if got := runIn(t, folder, "diff", "--base", "b.yaml", "-f", "a.yaml"); !strings.Contains(got.stdout, "note: a.yaml:6: Namespace shop: unknown value \"Producer\"") {
		t.Errorf("%+v", got)
	}
	if got := runIn(t, folder, "diff", "--base", "a.yaml", "-f", "a.yaml"); strings.Contains(got.stdout, "note: ") {
		t.Errorf("%+v", got)
	}
}

// TestCheckMisspelt: what differs from a route by the case or number of its kind, or by its apiVersion, is noted where nothing else in its directory is a
// route, and fails a strict check. Another kind of the group, or the same of another group, does not.
func TestCheckMisspelt(t *testing.T) {
	const object = "apiVersion: gateway.networking.k8s.io/v1\nkind: HttpRoute\nmetadata: {name: cart, namespace: shop}\n"
	const note = "apps/a.yaml:2: kind HttpRoute does not exist, so the object is not checked; if a route is meant, write HTTPRoute"
	folder := written(t, map[string]string{"apps/a.yaml": object})
	if got := runIn(t, folder, "check"); got.code != ExitClean || strings.Count(got.stdout, "note: "+note) != 1 || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"check", "--strict"}, {"check", "--strict", "-f", "apps"}} {
		if got := runIn(t, folder, args...); got.code == ExitClean || strings.Count(got.stdout, note) != 1 || got.stderr == "" {
			t.Errorf("%q: %+v", args, got)
		}
	}
	for version, kind := range map[string]string{
		"networking.x-k8s.io/v1alpha1": "HTTPRoute", "gateway.networking.k8s.io": "GRPCRoute", "gateway.networking.io/v1": "HTTPRoute", "networking.k8s.io/v1": "HTTPRoute", "v1": "TCPRoute", "": "HTTPRoute",
		"gateway.networking.k8s.io/v1": "HTTPRoutes", "apps/v1": "HTTPRoute", "gateway/v1": "GRPCRoute",
	} {
		wanted := "apps/a.yaml:1: apiVersion " + version + " has no kind " + kind + ", so the object is not checked; if a route is meant, write one of gateway.networking.k8s.io, such as gateway.networking.k8s.io/v1\n"
		if version == "" {
			wanted = "apps/a.yaml:1: apiVersion is missing, so the object is not checked; if a route is meant, write one of gateway.networking.k8s.io, such as gateway.networking.k8s.io/v1\n"
		}
		if kind == "HTTPRoutes" {
			wanted = "apps/a.yaml:2: kind HTTPRoutes does not exist, so the object is not checked; if a route is meant, write HTTPRoute\n"
		}
		folder := written(t, map[string]string{"apps/a.yaml": strings.NewReplacer("gateway.networking.k8s.io/v1", version, "HttpRoute", kind).Replace(object)})
		for _, format := range []string{"github", "gitlab", "sarif", "junit"} {
			said := "so the object is not checked; if a route is meant"
			if got := runIn(t, folder, "check", "-o", format); got.code != ExitClean || strings.Count(got.stdout, said) == 0 || format == "github" && strings.Count(got.stdout, said) != 1 {
				t.Errorf("-o %s: %+v", format, got)
			}
		}
		for _, args := range [][]string{{"check"}, {"check", "-f", "apps"}} {
			if got := runIn(t, folder, args...); got.code != ExitClean || strings.Count(got.stdout, "note: "+wanted) != 1 {
				t.Errorf("%q: want %s in %+v", args, wanted, got)
			}
		}
	}
	for kind, want := range map[string]string{"Serivce": "Service", "namespace": "Namespace", "services": "Service", "Config": "", "Secret": "", "Endpoints": "", "Node": ""} {
		folder := written(t, map[string]string{"apps/a.yaml": strings.NewReplacer("gateway.networking.k8s.io/v1", "v1", "HttpRoute", kind).Replace(object) + "---\n" + strings.Replace(object, "HttpRoute", "HTTPRouet", 1)})
		for meant, line := range map[string]string{
			want:        "note: apps/a.yaml:2: kind " + kind + " does not exist in v1, so the object is not read; if a " + want + " is meant, write " + want + "\n",
			"HTTPRoute": "note: apps/a.yaml:6: kind HTTPRouet does not exist, so the object is not checked; if a route is meant, write HTTPRoute\n",
		} {
			if got := runIn(t, folder, "check"); got.code != ExitClean || (strings.Count(got.stdout, line) == 1) != (meant != "") || meant == "" && strings.Contains(got.stdout, kind) {
				t.Errorf("%s: %+v", kind, got)
			}
		}
	}
	folder = written(t, map[string]string{
		"a.yaml": strings.Replace(object, "HttpRoute", "Gateway", 1),
		"b.yaml": strings.Replace(object, "gateway.networking.k8s.io", "example.com", 1) + "spec: {class: gateway.networking.k8s.io/x}\n",
	})
	if got := runIn(t, folder, "check", "--strict"); got.code != ExitClean || strings.Contains(got.stdout, "note: ") || got.stderr != "" {
		t.Errorf("other kinds: %+v", got)
	}
}

// TestCheckLacksField: an object that bears on routes and whose kind or apiVersion is missing is noted alone in a file, beside others, and with -f,
// and fails a strict check. Other YAML with one of the fields is not.
func TestCheckLacksField(t *testing.T) {
	const (
		route   = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: shop}\nspec: {parentRefs: [{group: \"\", kind: Service, name: cart}]}\n"
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec: {ports: [{port: 80}]}\n"
	)
	for _, c := range []struct{ text, lacks string }{
		{strings.Replace(route, "kind: HTTPRoute\n", "", 1), "kind"},
		{strings.Replace(route, "kind: HTTPRoute", "kind:", 1), "kind"},
		{strings.Replace(route, "kind: HTTPRoute", "Kind: HTTPRoute", 1), "kind"},
		{strings.Replace(service, "kind: Service", "Kind: Service", 1), "kind"},
		{route[strings.Index(route, "\n")+1:], "apiVersion"},
		{service[strings.Index(service, "\n")+1:], "apiVersion"},
		{strings.Replace(route, "gateway.networking.k8s.io/v1", "", 1), "apiVersion"},
		{strings.SplitN(route, "\n", 3)[2], "apiVersion and kind"},
	} {
		for _, other := range []string{"", service + "---\n"} {
			folder := written(t, map[string]string{"apps/a.yaml": other + c.text, "apps/b.yaml": route})
			if other == "" {
				folder = written(t, map[string]string{"apps/a.yaml": c.text})
			} else if c.lacks == "apiVersion and kind" { // what says so is not the route beside it
				folder = written(t, map[string]string{"apps/a.yaml": other + c.text})
			}
			is := " is"
			if strings.Contains(c.lacks, "and") {
				is = " are"
			}
			for _, args := range [][]string{{"check", "--strict"}, {"check", "--strict", "-f", "apps"}} {
				got := runIn(t, folder, args...)
				if got.code == ExitClean || strings.Count(got.stdout, c.lacks+is+" missing, so the object is not checked") != 1 || !strings.Contains(got.stdout, "apps/a.yaml:") {
					t.Errorf("%q of %s: %+v", args, other+c.text, got)
				}
			}
		}
	}
	folder := written(t, map[string]string{"apps/a.json": "{ // a comment\n " + `"apiVersion":"gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "cart"}}`})
	if got := runIn(t, folder, "check", "--strict"); got.code == ExitClean || !strings.Contains(got.stdout, "apps/a.json:1: // begins no comment in YAML or JSON") {
		t.Errorf("a comment: %+v", got)
	}
	for _, text := range []string{
		"kind: HTTPRoute\nmetadata: {labels: {a: b}}\n", "kind: Deployment\nmetadata: {name: cart}\n", "apiVersion: score.dev/v1b1\nmetadata: {name: cart}\n",
		"apiVersion: v2\nname: cart\n", "metadata: {name: cart}\nroute: {parentRefs: [{name: cart}]}\n", "metadata: {name: cart}\n", "metadata: {name: cart}\nparentRefs: [{name: cart}]\n", "route: {kind: HTTPRoute, metadata: {name: cart}}\n", "kind: Service\nname: cart\n",
	} {
		folder := written(t, map[string]string{"apps/a.yaml": text})
		if got := runIn(t, folder, "check", "--strict"); got.code != ExitClean || strings.Contains(got.stdout, "missing") || !strings.Contains(got.stdout, "1 file that is not a manifest") {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestCheckRefusedGrant: a ReferenceGrant that the API server does not take, by its version or for the lack of a field, is noted at its line, fails a
// strict check, and permits nothing.
func TestCheckRefusedGrant(t *testing.T) {
	const grant = "apiVersion: gateway.networking.k8s.io/VERSION\nkind: ReferenceGrant\nmetadata: {name: news, namespace: search}\n" +
		"spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: news}], to: [{group: \"\", kind: Service}]}\n"
	const route = "{apiVersion: v1, kind: Namespace, metadata: {name: news, labels: {gammaguard.dev/grant: producer}}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: search}}\n" +
		"---\n{apiVersion: v1, kind: Service, metadata: {name: web, namespace: news}, spec: {ports: [{port: 80}]}}\n" +
		"---\n{apiVersion: v1, kind: Service, metadata: {name: search, namespace: search}, spec: {ports: [{port: 80}]}}\n" +
		"---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: news}, " +
		"spec: {parentRefs: [{group: \"\", kind: Service, name: web, port: 80}], rules: [{backendRefs: [{name: search, namespace: search, port: 80}]}]}}\n"
	v1 := strings.Replace(grant, "VERSION", "v1", 1)
	for text, note := range map[string]string{
		v1: "", strings.Replace(grant, "VERSION", "v1beta1", 1): "",
		strings.Replace(grant, "VERSION", "v1alpha2", 1):    "1: ReferenceGrant search/news: the API server does not serve ReferenceGrant v1alpha2, so it permits nothing; write apiVersion: gateway.networking.k8s.io/v1beta1\n",
		strings.Replace(v1, `group: "", `, "", 1):           "4: ReferenceGrant search/news: group is missing in spec.to[0], so the API server refuses the ReferenceGrant, and it permits nothing\n",
		strings.Replace(v1, `"", kind`, `null, kind`, 1):    "4: ReferenceGrant search/news: group is missing in spec.to[0], so the API server refuses the ReferenceGrant, and it permits nothing\n",
		strings.Replace(v1, ", namespace: news}]", "}]", 1): "4: ReferenceGrant search/news: namespace is missing in spec.from[0], so the API server refuses the ReferenceGrant, and it permits nothing\n",
	} {
		folder := written(t, map[string]string{"route.yaml": route, "grant.yaml": text})
		got := runIn(t, folder, "check", "--mesh", "cilium", "--complete", "--strict", ".")
		if !strings.Contains(got.stdout, "note: grant.yaml:"+note) == (note != "") || strings.Contains(got.stdout, "backend-not-permitted") == (note == "") || note != "" && got.code == ExitClean {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
