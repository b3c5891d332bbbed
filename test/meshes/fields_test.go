package meshes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

const fieldsWorld = `apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: cart-2, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-2, namespace: shop, labels: {kubernetes.io/service-name: cart-2}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.4]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  %s
`

// What routes have in the following.
const (
	toCart        = "backendRefs: [{name: cart-2, port: 80}]"
	fieldRequest  = "rules: [{timeouts: {request: 2s}, " + toCart + "}]"
	fieldBackend  = "rules: [{timeouts: {backendRequest: 2s}, " + toCart + "}]"
	fieldRetry    = "rules: [{retry: {attempts: 2}, " + toCart + "}]"
	fieldSession  = "rules: [{sessionPersistence: {sessionName: a}, " + toCart + "}]"
	fieldMirror   = "rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: cart, port: 80}}}], " + toCart + "}]"
	fieldRewrite  = "rules: [{filters: [{type: URLRewrite, urlRewrite: {hostname: cart.example}}], " + toCart + "}]"
	fieldCORS     = "rules: [{filters: [{type: CORS, cors: {allowOrigins: ['*']}}], " + toCart + "}]"
	fieldAuth     = "rules: [{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: cart, port: 80}, http: {}}}], " + toCart + "}]"
	fieldExtended = "rules: [{filters: [{type: ExtensionRef, extensionRef: {group: acme.example, kind: Limit, name: a}}], " + toCart + "}]"
	fieldOnRef    = "rules: [{backendRefs: [{name: cart-2, port: 80, filters: [{type: URLRewrite, urlRewrite: {hostname: cart.example}}]}]}]"
	fieldHeaders  = "rules: [{backendRefs: [{name: cart-2, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-a, value: b}]}}]}]}]"
	fieldHosts    = "hostnames: [other.example]\n  rules: [{" + toCart + "}]"
	fieldNoRefs   = "rules: [{}]"
	fieldNoMatch  = "rules: [{matches: [{path: {value: /a}}], " + toCart + "}]"
)

// fieldCases are what is reported of each field, by mesh: at apply, as "rule:effect", and by trace.
var fieldCases = []struct {
	mesh        mesh.ProfileName
	spec        string
	told, trace string
}{
	{"", fieldRequest, "", "cart-2:80 100 %\n  timeout 2s"},
	{"", fieldMirror, "", "cart-2:80 100 %\n  mirrored to Service cart:80"},
	{"", fieldHosts, "hostnames-ignored:warn", "cart-2:80 100 %"},
	{"", fieldNoRefs, "backend-missing:warn", "500 (the rule has no backendRefs)"},
	{"", fieldNoMatch, "no-catch-all:warn", "404 (no rule matches)"},

	{mesh.Istio, fieldRequest, "", "timeout 2s"},
	{mesh.Istio, fieldBackend, "", "timeout 2s\nnote: Istio bounds the whole request by timeouts.backendRequest"},
	{mesh.Istio, fieldRetry, "", "retry {"},
	{mesh.Istio, fieldSession, "mesh-unsupported:warn", "note: Istio ignores sessionPersistence; use consistentHash"},
	{mesh.Istio, fieldMirror, "", "mirrored to"},
	{mesh.Istio, fieldRewrite, "", "host rewritten to cart.example"},
	{mesh.Istio, fieldCORS, "", "CORS {"},
	{mesh.Istio, fieldAuth, "mesh-unsupported:deny", "not taken: HTTPRoute shop/cart: Istio drops the whole route because of an ExternalAuth filter"},
	{mesh.Istio, fieldExtended, "mesh-unsupported:deny", "drops the whole route because of an ExtensionRef filter"},
	{mesh.Istio, fieldOnRef, "mesh-unsupported:deny", "drops the whole route because of a URLRewrite filter on a backendRef"},
	{mesh.Istio, fieldHeaders, "", "request header x-a set"},
	{mesh.Istio, fieldHosts, "hostnames-ignored:warn", "cart-2:80 100 %"},
	{mesh.Istio, fieldNoRefs, "backend-missing:warn", "500"},
	{mesh.Istio, fieldNoMatch, "no-catch-all:warn", "404"},

	{mesh.Linkerd, fieldRequest, "", "timeout 2s"},
	{"linkerd@2.18", fieldRequest, "mesh-unsupported:warn", "note: Linkerd ignores timeouts.request; use the annotation"},
	{mesh.Linkerd, fieldBackend, "mesh-unsupported:warn", "note: Linkerd ignores timeouts.backendRequest"},
	{mesh.Linkerd, fieldRetry, "mesh-unsupported:warn", "note: Linkerd ignores retry; use the annotations"},
	{mesh.Linkerd, fieldSession, "mesh-unsupported:warn", "note: Linkerd ignores sessionPersistence"},
	{mesh.Linkerd, fieldMirror, "mesh-unsupported:deny", "Linkerd drops the whole route because of a RequestMirror filter"},
	{mesh.Linkerd, fieldRewrite, "mesh-unsupported:deny", "Linkerd drops the whole route because of a URLRewrite filter"},
	{mesh.Linkerd, fieldCORS, "mesh-unsupported:deny", "drops the whole route"},
	{mesh.Linkerd, fieldAuth, "mesh-unsupported:deny", "drops the whole route"},
	{mesh.Linkerd, fieldExtended, "mesh-unsupported:deny", "drops the whole route"},
	{mesh.Linkerd, fieldOnRef, "mesh-unsupported:warn", "500 (Linkerd does not support a URLRewrite filter on a backendRef)"},
	{mesh.Linkerd, fieldHeaders, "", "request header x-a set"},
	{mesh.Linkerd, fieldHosts, "no-catch-all:warn", "host cart.shop is not other.example"},
	{mesh.Linkerd, fieldNoRefs, "", "Service cart:80 100 % (the rule has no backendRefs)"},

	{mesh.Kuma, fieldRequest, "mesh-unsupported:warn", "note: Kuma ignores timeouts.request; use a MeshTimeout"},
	{mesh.Kuma, fieldBackend, "mesh-unsupported:warn", "note: Kuma ignores timeouts.backendRequest"},
	{mesh.Kuma, fieldRetry, "mesh-unsupported:warn", "note: Kuma ignores retry; use a MeshRetry"},
	{mesh.Kuma, fieldSession, "mesh-unsupported:warn", "note: Kuma ignores sessionPersistence"},
	{mesh.Kuma, fieldMirror, "", "mirrored to"},
	{mesh.Kuma, fieldRewrite, "", "host rewritten to cart.example"},
	{mesh.Kuma, fieldCORS, "mesh-unsupported:warn", "note: Kuma ignores a CORS filter"},
	{mesh.Kuma, fieldAuth, "mesh-unsupported:deny", "note: Kuma ignores an ExternalAuth filter"},
	{mesh.Kuma, fieldExtended, "mesh-unsupported:warn", "note: Kuma ignores an ExtensionRef filter"},
	{"kuma@2.15", fieldAuth, "mesh-unsupported:warn", "500 (Kuma does not support an ExternalAuth filter)"},
	{mesh.Kuma, fieldOnRef, "mesh-unsupported:warn", "note: Kuma ignores a URLRewrite filter on a backendRef"},
	{mesh.Kuma, fieldHosts, "hostnames-ignored:warn", "cart-2:80 100 %"},
	{mesh.Kuma, fieldNoMatch, "", "Service cart:80 100 % (no rule matches)"},
	{"kuma@2.15", fieldNoMatch, "no-catch-all:warn", "404 (no rule matches)"},

	{mesh.Cilium, fieldRequest, "", "timeout 2s"},
	{mesh.Cilium, fieldBackend, "", "timeout 2s\nnote: Cilium bounds the whole request by timeouts.backendRequest"},
	{"cilium@1.18", fieldRetry, "", "note: it is not known whether Cilium applies retry"},
	{mesh.Cilium, fieldSession, "mesh-unsupported:warn", "note: Cilium ignores sessionPersistence"},
	{mesh.Cilium, fieldRewrite, "", "host rewritten to cart.example"},
	{mesh.Cilium, fieldExtended, "mesh-unsupported:warn", "note: Cilium ignores an ExtensionRef filter"},
	{mesh.Cilium, fieldHeaders, "", "request header x-a set"},
	{mesh.Cilium, fieldHosts, "hostnames-ignored:warn", "cart-2:80 100 %"},
	{mesh.Cilium, fieldNoRefs, "backend-missing:warn", "500"},
}

func optionsFor(manifests string, name mesh.ProfileName) *check.Options {
	return &check.Options{
		Files: []string{source.Stdin}, Options: source.Options{Stdin: strings.NewReader(manifests)}, Channel: definitions.Experimental, Complete: true,
		Config: config.Default(config.WithMesh(name), func(c *config.GuardConfiguration) { c.Grants.Default = mesh.GrantAll }),
	}
}

// told returns what is said of the route, as "rule:effect".
func told(t *testing.T, manifests string, name mesh.ProfileName) string {
	t.Helper()
	r, err := check.Run(t.Context(), optionsFor(manifests, name))
	if err != nil || len(r.Routes) != 1 || len(r.Broken) > 0 {
		t.Fatalf("%v, %+v\n%s", err, r, manifests)
	}
	var all []string
	for _, f := range r.Routes[0].Findings {
		if f.Effect == validate.Deny || f.Effect == validate.Warn {
			all = append(all, f.Rule+":"+string(f.Effect))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestFields: each mesh's treatment of each field is reported at apply, and shown by trace.
func TestFields(t *testing.T) {
	for _, test := range fieldCases {
		name := fmt.Sprintf("%s, %s", cmp.Or(test.mesh, "no mesh"), test.spec)
		manifests := fmt.Sprintf(fieldsWorld, test.spec)
		if got := told(t, manifests, test.mesh); got != test.told {
			t.Errorf("%s: told %q, want %q", name, got, test.told)
		}
		request := traffic.Request{Service: mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}, Port: 80, Host: "cart.shop:80"}
		trace, err := check.Trace(t.Context(), optionsFor(manifests, test.mesh), request)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := trace.String(); !strings.Contains(text, test.trace) {
			t.Errorf("%s: want %q in the trace:\n%s", name, test.trace, text)
		}
	}
}

// TestNewerReleases: on a release that is newer than the facts, nothing is denied that would not
// be without a mesh.
func TestNewerReleases(t *testing.T) {
	specs := []string{}
	for _, test := range fieldCases {
		specs = append(specs, test.spec)
	}
	slices.Sort(specs)
	denied := 0
	for _, spec := range slices.Compact(specs) {
		for _, p := range mesh.Profiles() {
			manifests := fmt.Sprintf(fieldsWorld, spec)
			if strings.Contains(told(t, manifests, p.Name), ":deny") {
				denied++
			}
			if got := told(t, manifests, p.Name+"@9998.1"); strings.Contains(got, ":deny") {
				t.Errorf("%s, %s: %s", p.Title, spec, got)
			}
		}
	}
	if denied < 5 {
		t.Errorf("only %d are denied on the releases that are known", denied)
	}
	routes := slices.Sorted(maps.Keys(observed(t)))
	plain := play(t, routes, "")
	for _, p := range mesh.Profiles() {
		for route, r := range play(t, routes, p.Name+"@9998.1") {
			denied, said := answer(r)
			if before, without := answer(plain[route]); denied && !before {
				t.Errorf("%s, %s: %s; without a mesh: %s", p.Title, route, said, without)
			}
		}
	}
}
