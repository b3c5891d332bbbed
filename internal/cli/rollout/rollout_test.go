package rollout_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/cli/rollout"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// read reads one object.
func read(t *testing.T, text string) *manifest.Object {
	t.Helper()
	objects, errs := manifest.ReadUndecoded("a.yaml", []byte(text), "shop")
	if len(errs) > 0 || len(objects) != 1 {
		t.Fatal(len(objects), errs)
	}
	return objects[0]
}

// canary is a Canary with a service and an analysis.
func canary(service, analysis string) string {
	return "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: podinfo, namespace: play}\nspec:\n  targetRef: {name: podinfo}\n  service: {port: 80, gatewayRefs: [{group: '', kind: Service, name: podinfo, port: 80}]" +
		service + "}\n  analysis: {" + analysis + "}\n"
}

// TestCanary: the route of a Canary is the one that Flagger creates, with all requests to the primary.
func TestCanary(t *testing.T) {
	const backends = `backendRefs: [{group: "", kind: Service, name: podinfo-primary, port: 80, weight: 100}, {group: "", kind: Service, name: podinfo-canary, port: 80, weight: 0}]`
	for _, test := range []struct{ name, service, analysis, hostnames, rules string }{
		{name: "plain", rules: `[{matches: [{path: {type: PathPrefix, value: /}}], ` + backends + `}]`},
		{
			name: "all", hostnames: `hostnames: [a.example]`,
			service: `, hosts: [a.example], timeout: 5s, match: [{uri: {exact: /a}, method: {exact: GET}}, {headers: {b: {regex: x.*}, a: {exact: v}}, queryParams: {q: {exact: z}}}], ` +
				`headers: {request: {set: {b: "2", a: "1"}, remove: [c]}, response: {add: {d: "3"}}}`,
			rules: `[{matches: [{path: {type: Exact, value: /a}, method: GET}, {headers: [{name: a, type: Exact, value: v}, {name: b, type: RegularExpression, value: x.*}], queryParams: [{name: q, type: Exact, value: z}]}], ` +
				`filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: "1"}, {name: b, value: "2"}], remove: [c]}}, {type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: d, value: "3"}]}}], ` +
				`timeouts: {request: 5s}, ` + backends + `}]`,
		},
		{
			name: "rewrite and mirror", service: `, rewrite: {uri: /x, type: ReplacePrefixMatch}, mirror: [{backendRef: {name: a, port: 1}}, {backendRef: {name: b}}]`,
			rules: `[{matches: [{path: {type: PathPrefix, value: /}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /x}}}, ` +
				`{type: RequestMirror, requestMirror: {backendRef: {name: a, port: 1}}}, {type: RequestMirror, requestMirror: {backendRef: {name: b}}}], ` + backends + `}]`,
		},
		{
			name: "full rewrite", service: `, timeout: 5s, backendTimeout: 2s, rewrite: {uri: /x, authority: a.example}`,
			rules: `[{matches: [{path: {type: PathPrefix, value: /}}], filters: [{type: URLRewrite, urlRewrite: {hostname: a.example, path: {type: ReplaceFullPath, replaceFullPath: /x}}}], timeouts: {request: 5s, backendRequest: 2s}, ` + backends + `}]`,
		},
		{
			name: "A/B testing", analysis: `match: [{headers: {user: {exact: insider}}}]`,
			rules: `[{matches: [{path: {type: PathPrefix, value: /}, headers: [{name: user, type: Exact, value: insider}]}], ` + backends + `}, ` +
				`{matches: [{path: {type: PathPrefix, value: /}}], backendRefs: [{group: "", kind: Service, name: podinfo-primary, port: 80, weight: 100}]}]`,
		},
	} {
		made, problem := rollout.Canary(read(t, canary(test.service, test.analysis)))
		if problem != "" || len(made) != 4 {
			t.Fatalf("%s: %d objects, %s", test.name, len(made), problem)
		}
		var got, want struct {
			Spec any `json:"spec"`
		}
		if err := json.Unmarshal(made[3].JSON, &got); err != nil {
			t.Fatal(err)
		}
		text := "spec:\n  parentRefs: [{group: '', kind: Service, name: podinfo, port: 80}]\n  rules: " + test.rules + "\n  " + test.hostnames + "\n"
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
		var names []string
		for _, object := range made {
			names = append(names, object.Key.String())
		}
		if diff := cmp.Diff([]string{"Service play/podinfo", "Service play/podinfo-primary", "Service play/podinfo-canary", "HTTPRoute play/podinfo"}, names); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.name, diff)
		}
	}
}

// TestCanaryUnknown: where it is not known what route Flagger writes, the reason is given, and the Services that it makes are there.
func TestCanaryUnknown(t *testing.T) {
	many := strings.Repeat("{uri: {prefix: /a}}, ", 9)
	for _, test := range []struct {
		text, want string
		services   int
	}{
		{strings.Replace(canary("", ""), "spec:\n", "spec:\n  provider: istio\n", 1), "", 3},
		{strings.Replace(canary("", ""), "targetRef: {", "provider: istio\n  targetRef: {kind: Service, ", 1), "", 0},
		{canary(", corsPolicy: {allowOrigins: [{exact: a}]}", ""), "spec.service.corsPolicy is not supported here", 3},
		{strings.Replace(canary("", ""), "gatewayRefs", "gateways", 1), "", 3},
		{strings.Replace(canary("", ""), "name: podinfo}\n  service", "kind: Deployment}\n  service", 1), "spec.targetRef.name is missing", 0},
		{canary(", primary: {backendRef: {name: a}}", ""), "a backendRef of spec.service.primary or spec.service.canary is not supported here", 3},
		{canary(", match: [{method: {prefix: P}}]", ""), "Flagger refuses a match of method that is not exact", 3},
		{canary(", match: [{headers: {a: {prefix: b}}}]", ""), "Flagger refuses a match of headers that is neither exact nor regex", 3},
		{canary(", match: ["+many+"]", "match: ["+many+"]"), "the route would have more than 64 matches, which the API server refuses", 3},
		{strings.Replace(canary("", ""), "port: 80,", "port: eighty,", 1), "it cannot be read: json: cannot unmarshal string into Go struct field", 0},
	} {
		made, problem := rollout.Canary(read(t, test.text))
		routes := slices.ContainsFunc(made, (*manifest.Object).IsRoute)
		if routes || len(made) != test.services || !strings.HasPrefix(problem, test.want) || test.want == "" && problem != "" {
			t.Errorf("%s\n%d objects, %q, want %d, %q", test.text, len(made), problem, test.services, test.want)
		}
	}
}

// TestRollout: a Rollout owns the weights of its two Services in the routes that the plugin's settings name.
func TestRollout(t *testing.T) {
	const settings = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a, namespace: play}\nspec: {strategy: {canary: {stableService: s, canaryService: c, trafficRouting: {plugins: {argoproj-labs/gatewayAPI: %s}}}}}\n"
	owned, problem := rollout.Rollout(read(t, fmt.Sprintf(settings, "{httpRoute: one, grpcRoutes: [{name: two}], namespace: other, tcpRouteSelector: {matchLabels: {a: b}}}")))
	key := func(kind, name string) manifest.Key {
		return manifest.Key{Group: "gateway.networking.k8s.io", Kind: kind, Namespace: "other", Name: name}
	}
	by := manifest.Key{Group: "argoproj.io", Kind: "Rollout", Namespace: "play", Name: "a"}
	if diff := cmp.Diff([]rollout.Owned{{key("HTTPRoute", "one"), by, "s", "c"}, {key("GRPCRoute", "two"), by, "s", "c"}}, owned); diff != "" || problem != "routes that it selects by labels are taken as they are written" {
		t.Errorf("%s %s", problem, diff)
	}
	for _, none := range []string{"spec: {strategy: {blueGreen: {}}}", "spec: {strategy: {canary: {trafficRouting: {istio: {}}}}}"} {
		if owned, problem := rollout.Rollout(read(t, "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\n"+none)); len(owned) > 0 || problem != "" {
			t.Errorf("%s: %v %s", none, owned, problem)
		}
	}
	const written = `{"spec":{"rules":[{"backendRefs":[{"name":"s","weight":60},{"name":"c","weight":40}]},{"backendRefs":[{"name":"c"}]},{"backendRefs":[{"name":"s","weight":7},{"name":"x"}]}]}}`
	const want = `{"spec":{"rules":[{"backendRefs":[{"name":"s","weight":100},{"name":"c","weight":0}]},{"backendRefs":[{"name":"c","weight":0}]},{"backendRefs":[{"name":"s","weight":100},{"name":"x"}]}]}}`
	if rest, err := owned[0].Rest([]byte(written)); err != nil || string(rest) != want {
		t.Errorf("%v %s", err, rest)
	}
	weights := func(spec string) []rollout.Weight {
		object := read(t, `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "one"}, `+spec[1:])
		if err := object.DecodeRoute(); err != nil {
			t.Fatal(err)
		}
		return owned[0].Weights(object.Route)
	}
	all := []rollout.Weight{{Rule: 0, Weight: 60}, {Rule: 0, Canary: true, Weight: 40}, {Rule: 1, Canary: true, Weight: 1}, {Rule: 2, Weight: 7}}
	if diff := cmp.Diff(all, weights(written)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := weights(`{"spec":{"rules":[{"backendRefs":[{"name":"s","weight":7},{"name":"x"}]}]}}`); got != nil {
		t.Errorf("weights of a route without the canary: %v", got)
	}
}

// TestCanaryField: each field of the route comes from one of the Canary.
func TestCanaryField(t *testing.T) {
	made, _ := rollout.Canary(read(t, canary(", headers: {response: {set: {a: b}}}, rewrite: {uri: /x}, mirror: [{backendRef: {name: a}}]", "")))
	for route, want := range map[string]string{
		"spec.parentRefs[1].port": "spec.service.gatewayRefs[1].port", "spec.hostnames[0]": "spec.service.hosts[0]", "spec.rules": "spec.service", "metadata.name": "",
		"spec.rules[0].matches[0].path.value": "spec.service.match", "spec.rules[0].timeouts.request": "spec.service.timeout",
		"spec.rules[0].timeouts.backendRequest": "spec.service.backendTimeout", "spec.rules[0].filters[0]": "spec.service.headers", "spec.rules[0].filters[1]": "spec.service.rewrite", "spec.rules[0].filters[2]": "spec.service.mirror",
		"spec.rules[0].filters[0].type": "spec.service.headers", "spec.rules[0].filters[1].urlRewrite.path": "spec.service.rewrite", "spec.rules[0].filters[2].requestMirror.backendRef.port": "spec.service.mirror", "spec.rules[0].backendRefs[1].port": "spec.service.port", "spec.rules[0].backendRefs[1].name": "spec.service",
	} {
		if got := rollout.CanaryField(made[3], route); got != want {
			t.Errorf("%s: %q, want %q", route, got, want)
		}
	}
}
