package proxies_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/internal/cli/proxies"
)

// routes is a route configuration of Istio with these routes.
func routes(all ...string) string {
	return `[{"name": "80", "virtualHosts": [{"name": "cart", "domains": ["cart.shop.svc.cluster.local"], "routes": [` + strings.Join(all, ",") + `]}]}]`
}

// dump is a config_dump with this section.
func dump(kind, field, content string) string {
	return fmt.Sprintf(`{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.%s", %q: %s}]}`, kind, field, content)
}

func cilium(resources string) string {
	return "apiVersion: cilium.io/v2\nkind: CiliumEnvoyConfig\nmetadata: {name: cart, namespace: shop}\nspec: {services: [{name: cart, namespace: shop}], resources: " + resources + "}\n"
}

func kuma(spec string) string {
	return "apiVersion: kuma.io/v1alpha1\nkind: MeshHTTPRoute\nmetadata: {name: cart, namespace: shop}\nspec: " + spec + "\n"
}

func linkerd(protocol string) string {
	return `{"metadata": {"Kind": {"Resource": {"kind": "Service", "name": "cart", "namespace": "shop", "port": 80}}}, "protocol": {"Kind": ` + protocol + `}}`
}

const manyRoutes = 100_001

// TestForeign: what cannot be read is an error that names the place.
func TestForeign(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"empty":                 {"", "it is empty"},
		"an empty list":         {"[]", "no route configuration"},
		"binary":                {"\x00\x01\x02\xff\xfe", "neither JSON nor YAML"},
		"gzip":                  {"\x1f\x8b\x08\x00\x00", "neither JSON nor YAML"},
		"text":                  {"hello", "document:1: not a Kubernetes object"},
		"cut off":               {"{\n\"configs\": [", "line 2 is not valid JSON"},
		"no objects of a mesh":  {"kind: Pod\napiVersion: v1\nmetadata: {name: a}\n", "no CiliumEnvoyConfig and no MeshHTTPRoute"},
		"another JSON":          {`{"a": 1}`, "no route configuration"},
		"an object":             {`{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}`, "no CiliumEnvoyConfig"},
		"configs":               {`{"configs": 3}`, "configs: want a list"},
		"a section":             {`{"configs": [3]}`, "configs[0]: want an object"},
		"a dump without routes": {dump("ClustersConfigDump", "a", "1"), "no route configurations: ask for all of it"},
		"a route in a dump": {
			dump("RoutesConfigDump", "static_route_configs", `[{"route_config": {"virtualHosts": [{"routes": [{}]}]}}]`),
			"configs[0].staticRouteConfigs[0].routeConfig.virtualHosts[0].routes[0].match: a route has no match",
		},
		"a regular expression":       {routes(`{"match": {"safeRegex": {"regex": "(?=x)"}}, "route": {"cluster": "c"}}`), "[0].virtualHosts[0].routes[0].match.safeRegex.regex: not a valid RE2 expression"},
		"a long regular expression":  {routes(`{"match": {"safeRegex": {"regex": "` + strings.Repeat("a", 17<<10) + `"}}, "route": {"cluster": "c"}}`), "longer than 16 KiB"},
		"many regular expressions":   {routes(strings.Repeat(`{"match": {"safeRegex": {"regex": "`+strings.Repeat("a", 15<<10)+`"}}, "route": {"cluster": "c"}},`, 100) + `{"match": {"prefix": "/"}}`), "longer than 1024 KiB in all"},
		"many routes":                {routes(strings.Repeat(`{"match":{"prefix":"/"}},`, manyRoutes) + `{"match":{"prefix":"/"}}`), "more than 100000 routes"},
		"deep":                       {strings.Repeat("[", 100_000), "exceeded max depth"},
		"deep objects":               {strings.Repeat(`{"configs":`, 100_000), "exceeded max depth"},
		"deep YAML":                  {"kind: " + strings.Repeat("[", 100_000), "neither JSON nor YAML"},
		"an alias bomb":              {"a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d]\nf: &f [*e, *e, *e, *e, *e, *e, *e, *e]\ng: [*f, *f, *f, *f, *f, *f, *f, *f]\nkind: [*f, *f, *f, *f, *f, *f, *f, *f, *f]\n", ""},
		"two meshes":                 {cilium(`[{"@type": t/envoy.config.route.v3.RouteConfiguration}]`) + "---\n" + kuma("{}"), "one mesh is compared at a time"},
		"a resource of Cilium":       {cilium(`[{"@type": t/envoy.config.route.v3.RouteConfiguration, virtualHosts: 3}]`), "CiliumEnvoyConfig shop/cart: spec.resources[0].virtualHosts: want a list"},
		"the Services of Cilium":     {"apiVersion: cilium.io/v2\nkind: CiliumEnvoyConfig\nmetadata: {name: cart, namespace: shop}\nspec: {services: 3}\n", "CiliumEnvoyConfig shop/cart: spec.services"},
		"clients of Kuma":            {kuma("{targetRef: {kind: MeshService, name: web}, to: []}"), "MeshHTTPRoute shop/cart: spec.targetRef: gammaguard compares clients by their namespace alone"},
		"rules of Kuma":              {kuma("{to: [{targetRef: {kind: MeshService, name: cart}, rules: 3}]}"), "MeshHTTPRoute shop/cart: spec.to[0].rules"},
		"an inbound policy":          {`{"protocol": {"Kind": {"Detect": {}}}, "servers": []}`, "metadata: want the policy of a Service port"},
		"an opaque port":             {linkerd(`{"Opaque": {}}`), "the port is opaque"},
		"a list of Linkerd":          {linkerd(`{"Detect": {"http1": {"routes": {"a": 1}}}}`), "Protocol.Kind.Detect.HTTP1.Routes: want another type than object"},
		"a header value of Linkerd":  {linkerd(`{"Detect": {"http1": {"routes": [{"rules": [{"matches": [{"headers": [{"name": "a", "Value": {"Exact": "%"}}]}]}]}]}}}`), "illegal base64"},
		"a hostile name in an error": {cilium(`[{"@type": t/envoy.config.route.v3.RouteConfiguration, virtualHosts: [{routes: [{match: {safeRegex: {regex: "(\e[2J"}}}]}]}]`), "not a valid RE2 expression"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := proxies.Read("given", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "given: ") || strings.ContainsAny(err.Error(), "\x1b\x00") {
				t.Errorf("got %.300v, want %q", err, test.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestLarge: a text beyond the bound is refused before it is parsed.
func TestLarge(t *testing.T) {
	if _, err := proxies.Read("given", make([]byte, proxies.MaxSize+1)); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("got %v", err)
	}
}

// TestSections: of a config_dump, only route configurations and the proxy's namespace are read, so that nothing else in it can be
// wrong, or printed.
func TestSections(t *testing.T) {
	text := strings.Replace(dump("RoutesConfigDump", "dynamic_route_configs", `[{"route_config": {"name": "80", "virtualHosts": [{"domains": ["*"]}]}}]`), `{"configs": [`,
		`{"configs": [{"@type": "t/envoy.admin.v3.SecretsConfigDump", "virtualHosts": 3, "static_secrets": "s3cret"}, {"@type": "t/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {"node": {"metadata": {"NAMESPACE": "faces"}}}}, `, 1)
	given, err := proxies.Read("given", []byte(text))
	if err != nil || given.Client != "faces" {
		t.Errorf("got %+v, %v", given, err)
	}
}

// FuzzRead: no text makes a reader panic, and no error holds a control character.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		"", "[]", routes(`{"match": {"prefix": "/"}, "route": {"cluster": "c"}}`), dump("RoutesConfigDump", "static_route_configs", "[]"),
		cilium("[]"), kuma("{to: [{targetRef: {kind: MeshService, name: a_b_svc_80}, rules: [{matches: [{path: {type: Exact, value: /}}]}]}]}"),
		linkerd(`{"Detect": {"http1": {"routes": [{"rules": [{"matches": [{"path": {"Kind": {"Prefix": "/"}}}]}]}]}}}`),
	} {
		f.Add([]byte(text))
		r := rand.New(rand.NewPCG(uint64(len(text)), 1))
		for range 50 { // damaged ones
			damaged := []byte(text)
			for range 1 + r.IntN(3) {
				if len(damaged) > 0 {
					damaged[r.IntN(len(damaged))] = "{}[]\",:\x00\xff0a"[r.IntN(11)]
				}
			}
			f.Add(damaged)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		given, err := proxies.Read("given", data)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("%q", err)
			}
			return
		}
		for _, key := range given.Services() {
			given.Clients(key)
		}
	})
}
