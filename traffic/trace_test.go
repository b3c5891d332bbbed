package traffic

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// parents of a route that the tests use.
const (
	onCart = `parentRefs: [{group: "", kind: Service, name: cart, port: 80}]`
	onAll  = `parentRefs: [{group: "", kind: Service, name: cart}]`
	onShop = `parentRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80}]`
	toV1   = `backendRefs: [{name: cart-v1, port: 8080}]`
	toV2   = `backendRefs: [{name: cart-v2, port: 8080}]`
)

// object returns a route's manifest: "KIND NAMESPACE/NAME" and its spec, with or
// without the time at which it was made after a "@".
func object(name, spec string) string {
	name, created, dated := strings.Cut(name, " @")
	kind, name, _ := strings.Cut(name, " ")
	namespace, name, _ := strings.Cut(name, "/")
	if dated {
		created = `, creationTimestamp: "2026-01-01T00:00:` + created + `Z"`
	}
	return `{apiVersion: gateway.networking.k8s.io/v1, kind: ` + kind +
		`, metadata: {namespace: ` + namespace + `, name: ` + name + created + `}, spec: {` + spec + `}}`
}

func http(name, spec string) string { return object("HTTPRoute "+name, spec) }

func TestTrace(t *testing.T) {
	cart := http("shop/cart @01", onCart+`, rules: [`+
		`{matches: [{path: {value: /v1}}], `+toV1+`},`+
		`{matches: [{path: {value: /v2}, method: POST, headers: [{name: Tenant, value: gold}]}],`+
		` filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Version, value: "2"}]}}],`+
		` backendRefs: [{name: cart-v1, port: 8080, weight: 10}, {name: cart-v2, port: 8080, weight: 90}]}]`)
	all := http("shop/all @02", onAll+`, rules: [{`+toV1+`}]`)
	raw := object("TCPRoute shop/raw", onAll+`, rules: [{`+toV1+`}]`)
	mock := http("faces/mock", onShop+`, rules: [{matches: [{path: {value: /v2}}], backendRefs: [{name: stub, port: 80}]}]`)
	edge := http("shop/edge", `parentRefs: [{name: public, namespace: infra}, {kind: ListenerSet, name: more}], rules: [{backendRefs: [{name: cart, port: 80}]}, `+
		`{backendRefs: [{name: cart, port: 80, weight: 0}, {name: cart, port: 8080}]}, `+
		`{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: cart, port: 80}}}], `+toV1+`}]`)
	guest := http("faces/edge", `useDefaultGateways: All, rules: [{backendRefs: [{name: cart, namespace: shop, port: 80}]}]`)
	istio := by(t, validate.Policy{Mesh: mergingMesh()})
	ungranted := by(t, validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantNone}})
	ungranted.Stored = func(route *mesh.AttachedRoute) bool { return route.Name != "all" }
	named := `{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {selector: {app: db}, clusterIP: 10.0.0.9, ports: [{name: tcp-db, port: 80}]}}`
	onDB := `parentRefs: [{group: "", kind: Service, name: db, port: 80}], rules: [{` + toV1 + `}]`
	say := object("GRPCRoute shop/say", onCart+`, rules: [{matches: [{method: {service: a.B, method: Do}}], `+toV2+`}, {matches: [{method: {service: a.B}}], `+toV1+`}]`)
	for _, test := range []struct {
		name      string
		manifests []string
		request   []string
		options   Options
		want      string
	}{
		{"the issue's example", []string{cart, all, raw}, []string{"from faces", "POST", "/v2/items", "tenant: gold"}, Options{}, `
HTTPRoute shop/cart rule[1] match[0]  (consumer of faces: none; producer)
  → Service cart-v2:8080 90 %, Service cart-v1:8080 10 %
  request header x-version set to "2"
not taken: HTTPRoute shop/cart rule[0]: path /v2/items is not /v1 or below
not taken: HTTPRoute shop/all rule[0]: PathPrefix / is shorter
not taken: TCPRoute shop/raw: HTTPRoute holds the port
`},
		{"no rule matches", []string{cart}, []string{"/v3"}, Options{}, `
no rule of any HTTPRoute matches  (producer)
  → 404 (no rule matches)
not taken: HTTPRoute shop/cart rule[1]: path /v3 is not /v2 or below
not taken: HTTPRoute shop/cart rule[0]: path /v3 is not /v1 or below
`},
		{"a path element is matched as a whole", []string{cart}, []string{"/v11"}, Options{}, `
no rule of any HTTPRoute matches  (producer)
  → 404 (no rule matches)
not taken: HTTPRoute shop/cart rule[1]: path /v11 is not /v2 or below
not taken: HTTPRoute shop/cart rule[0]: path /v11 is not /v1 or below
`},
		{"an unrouted port gets the Service itself", []string{cart}, []string{"to service/cart:8080"}, Options{}, `
no route on port 8080  (producer)
  → Service cart:8080 100 %
not taken: HTTPRoute shop/cart: its parentRef selects another port
`},
		{"an unrouted port of a Service without endpoints", []string{cart}, []string{"to service/idle:80"}, Options{}, `
no route on port 80  (producer)
  → Service idle:80 100 % (it has no endpoints)
`},
		{"requests leave by another port", []string{http("shop/one", onAll+`, rules: [{backendRefs: [{name: cart, port: 80}]}]`)}, []string{"to service/cart:8080"}, Options{}, `
HTTPRoute shop/one rule[0] match[0]  (producer)
  → Service cart:80 100 %
note: requests to port 8080 (alt) leave by port 80 of the same Service
`},
		{"a Gateway uses the routes on the Gateway", []string{all, edge, guest}, []string{"from gateway"}, Options{}, `
no mesh route applies  (from Gateways)
  → Service cart:80 100 %
gateway route: HTTPRoute faces/edge rule[0] on the default Gateways sends requests to port 80, but no ReferenceGrant in namespace shop permits it
gateway route: HTTPRoute shop/edge rule[0], rule[2] on Gateway infra/public, ListenerSet shop/more sends requests to port 80
note: the HTTPRoutes on the port do not apply to these requests: a Gateway uses the routes on the Gateway
not taken: HTTPRoute shop/all: requests from a Gateway use the routes on the Gateway
`},
		{"a Gateway that sends to another port", []string{guest}, []string{"from gateway", "to service/cart:8080"}, Options{}, `
no mesh route applies  (from Gateways)
  → Service cart:8080 100 %
note: no route on a Gateway sends requests to port 8080 of Service shop/cart
`},
		{"a stored route that lacks the grant and names a port that the Service does not have", []string{http("shop/lost", `parentRefs: [{group: "", kind: Service, name: cart, port: 81}], rules: [{`+toV1+`}]`)}, []string{"/v1"}, ungranted, `
no route on port 80  (producer)
  → Service cart:80 100 %
not taken: HTTPRoute shop/lost: namespace shop lacks the producer grant for HTTPRoute
`},
		{"of routes that are stored and lack the grant, those that could hold the port", []string{cart, all, mock}, []string{"from faces", "/v1"}, ungranted, `
no route on port 80  (consumer of faces: none; producer)
  → Service cart:80 100 %
note: HTTPRoute shop/cart lacks the grant now: what is stored stays, and the mesh decides whether it applies
note: HTTPRoute faces/mock lacks the grant now: what is stored stays, and the mesh decides whether it applies
not taken: HTTPRoute shop/cart: namespace shop lacks the producer grant for HTTPRoute
not taken: HTTPRoute shop/all: namespace shop lacks the producer grant for HTTPRoute
not taken: HTTPRoute faces/mock: namespace faces lacks the consumer grant for HTTPRoute
`},
		{"consumer routes replace producer routes, also where none matches", []string{cart, all, mock}, []string{"from faces", "/v1"}, Options{}, `
no rule of any HTTPRoute matches  (consumer of faces)
  → 404 (no rule matches)
not taken: HTTPRoute faces/mock rule[0]: path /v1 is not /v2 or below
not taken: HTTPRoute shop/cart: the consumer routes of faces replace producer routes
not taken: HTTPRoute shop/all: the consumer routes of faces replace producer routes
`},
		{"consumer routes are for their namespace", []string{all, mock}, []string{"from lab", "/v2"}, Options{}, `
HTTPRoute shop/all rule[0] match[0]  (consumer of lab: none; producer)
  → Service cart-v1:8080 100 %
not taken: HTTPRoute faces/mock: it is for clients in namespace faces
`},
		{"a refused route has no effect", []string{all, mock}, []string{"from faces", "/v2"}, by(t, validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantProducer}}), `
HTTPRoute shop/all rule[0] match[0]  (consumer of faces: none; producer)
  → Service cart-v1:8080 100 %
not taken: HTTPRoute faces/mock: namespace faces lacks the consumer grant for HTTPRoute
`},
		{"GRPCRoute holds the port, and looks at gRPC alone", []string{all, say}, []string{"/a.B/Do"}, Options{}, `
no rule of any GRPCRoute matches  (producer)
  → UNIMPLEMENTED (no rule matches)
note: GRPCRoutes match gRPC requests only, and the content-type of this request is not application/grpc; to trace a gRPC request, use --grpc SERVICE/METHOD
not taken: GRPCRoute shop/say rule[0]: the request is not gRPC
not taken: GRPCRoute shop/say rule[1]: the request is not gRPC
not taken: HTTPRoute shop/all: GRPCRoute holds the port
`},
		{"unless the mesh reads it by path", []string{all, say}, []string{"/a.B/Do"}, istio, `
GRPCRoute shop/say rule[0] match[0]  (producer)
  → Service cart-v2:8080 100 %
note: Istio matches GRPCRoutes by path, and so this request, which is not gRPC
not taken: GRPCRoute shop/say rule[1]: PathPrefix /a.B ranks below an Exact path
not taken: HTTPRoute shop/all rule[0]: PathPrefix / ranks below an Exact path
`},
		{"a mesh that merges the kinds", []string{all, say}, []string{"grpc a.B/Do"}, istio, `
GRPCRoute shop/say rule[0] match[0]  (producer)
  → Service cart-v2:8080 100 %
not taken: GRPCRoute shop/say rule[1]: PathPrefix /a.B ranks below an Exact path
not taken: HTTPRoute shop/all rule[0]: PathPrefix / ranks below an Exact path
`},
		{"a gRPC method", []string{say}, []string{"grpc a.B/Do"}, Options{}, `
GRPCRoute shop/say rule[0] match[0]  (producer)
  → Service cart-v2:8080 100 %
not taken: GRPCRoute shop/say rule[1]: its method is shorter
`},
		{"a mesh without timeouts of a try", []string{http("shop/all", onCart+`, rules: [{`+toV1+`, timeouts: {request: 10s, backendRequest: 1s}}]`)}, nil, istio, `
HTTPRoute shop/all rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
  timeout 1s
note: Istio bounds the whole request by timeouts.backendRequest
`},
		{"a mesh that joins paths", []string{http("shop/all", onCart+`, rules: [{`+toV1+`, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]}]`)}, nil, istio, `
HTTPRoute shop/all rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
  rewritten path prefix / to /new
note: Istio joins the new prefix and the rest of the path as they are: /a becomes /newa
`},
		{"the older of two equal matches", []string{all, http("shop/a @03", onCart+`, rules: [{`+toV2+`}]`)}, nil, Options{}, `
HTTPRoute shop/all rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
not taken: HTTPRoute shop/a rule[0]: HTTPRoute shop/a is younger
`},
		{"age not known", []string{http("shop/b", onCart+`, rules: [{`+toV1+`}]`), http("shop/a", onCart+`, rules: [{`+toV2+`}]`)}, nil, Options{}, `
HTTPRoute shop/a rule[0] match[0]  (producer)
  → Service cart-v2:8080 100 %
note: the older route wins, and the age of HTTPRoute shop/a and HTTPRoute shop/b is not known
not taken: HTTPRoute shop/b rule[0]: it comes after HTTPRoute shop/a by name
`},
		{"a backend named several times, with and without a filter", []string{http("shop/twice", onCart+`, rules: [{backendRefs: [{name: cart-v1, port: 8080, weight: 60},`+
			` {name: cart-v2, port: 8080, weight: 10}, {name: cart-v1, port: 8080, weight: 20},`+
			` {name: cart-v1, port: 8080, weight: 10, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x, value: "1"}]}}]}]}]`)}, nil, Options{}, `
HTTPRoute shop/twice rule[0] match[0]  (producer)
  → Service cart-v1:8080 80 %, Service cart-v1:8080 10 % [request header x set to "1"], Service cart-v2:8080 10 %
`},
		{"failing backends, in proportion", []string{http("shop/bad", onCart+`, rules: [{backendRefs: [{name: cart-v1, port: 8080, weight: 2}, {name: gone, port: 80}, {name: idle, port: 80},`+
			` {name: cart-v1, port: 81}, {group: x.example, kind: Bucket, name: b}, {name: cart-v2, port: 8080, weight: 0}]}]`)}, nil, Options{}, `
HTTPRoute shop/bad rule[0] match[0]  (producer)
  → Service cart-v1:8080 33.33 %, 500 16.67 % (Bucket.x.example shop/b is of a kind that is not supported), 500 16.67 % (Service cart-v1:81 has no such port), 500 16.67 % (Service gone:80 does not exist), 503 16.67 % (Service idle:80 has no endpoints)
`},
		{"a backend of a kind in the core group", []string{http("shop/bad", onCart+`, rules: [{backendRefs: [{kind: Deployment, name: cart, port: 80}]}]`)}, nil, Options{}, `
HTTPRoute shop/bad rule[0] match[0]  (producer)
  → 500 (Deployment shop/cart is of a kind that is not supported)
`},
		{"no backends", []string{http("shop/none", onCart)}, nil, Options{}, `
HTTPRoute shop/none rule[0] match[0]  (producer)
  → 500 (the rule has no backendRefs)
`},
		{"a redirect", []string{http("shop/there", onCart+`, rules: [{matches: [{path: {value: /old/}}], filters: [{type: RequestRedirect,`+
			` requestRedirect: {scheme: https, hostname: a.example, statusCode: 301, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]}]`)}, []string{"/old/x"}, Options{}, `
HTTPRoute shop/there rule[0] match[0]  (producer)
  → redirect 301 to https, host a.example with path prefix /old replaced by /new
  Location: https://a.example/new/x
`},
		{"a redirect with a query", []string{http("shop/there", onCart+`, rules: [{filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /new}}}]}]`)}, []string{"/old?b=1&a=2"}, Options{}, `
HTTPRoute shop/there rule[0] match[0]  (producer)
  → redirect 302 to path /new
  Location: http://cart.shop/new?b=1&a=2
`},
		{"Linkerd replaces the query too", []string{http("shop/there", onCart+`, rules: [{filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /new}}}]}]`)}, []string{"/old?b=1&a=2"}, by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd), Grants: mesh.GrantPolicy{Default: mesh.GrantAll}}), `
HTTPRoute shop/there rule[0] match[0]  (producer)
  → redirect 302 to path /new, without the query
  Location: http://cart.shop/new
`},
		{"a redirect to another port, without a host", []string{http("shop/there", onCart+`, rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 8443}}]}]`)}, []string{"/old"}, Options{}, `
HTTPRoute shop/there rule[0] match[0]  (producer)
  → redirect 302 to port 8443
  Location: http://cart.shop:8443/old
`},
		{"a redirect to another scheme, without a host", []string{http("shop/there", onCart+`, rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}]`)}, []string{"/old"}, Options{}, `
HTTPRoute shop/there rule[0] match[0]  (producer)
  → redirect 302 to https
  Location: https://cart.shop/old
`},
		{"a mirror, a timeout and a rewrite", []string{http("shop/m", onCart+`, rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: gone, port: 80}, percent: 5}},`+
			` {type: URLRewrite, urlRewrite: {hostname: b.example, path: {type: ReplaceFullPath, replaceFullPath: /x}}}], timeouts: {request: 2s}, `+toV1+`}]`)}, nil, Options{}, `
HTTPRoute shop/m rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
  host rewritten to b.example
  rewritten path /x
  mirrored to Service gone:80 5 % (does not exist)
  timeout 2s
`},
		{"routes on a backend do not apply", []string{all, http("shop/end", `parentRefs: [{group: "", kind: Service, name: cart-v1}], rules: [{`+toV2+`}]`)}, nil, Options{}, `
HTTPRoute shop/all rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
note: the HTTPRoutes on Service shop/cart-v1 do not apply to these requests: a backend is reached without its own routes
`},
		{"hostnames of a TLSRoute mean nothing", []string{object("TLSRoute shop/tls", onCart+`, hostnames: [a.example], rules: [{`+toV1+`}]`)}, []string{"sni b.example"}, Options{}, `
TLSRoute shop/tls rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
`},
		{"unless the mesh says so", []string{object("TLSRoute shop/tls", onCart+`, hostnames: ["*.example", a.example], rules: [{`+toV1+`}]`)}, []string{"sni b.other"}, istio, `
no rule of any TLSRoute matches  (producer)
  → connection refused (no rule matches)
not taken: TLSRoute shop/tls rule[0]: server name b.other is not a.example
`},
		{"a regular expression that matches a part", []string{all, http("shop/re", onCart+`, rules: [{matches: [{path: {type: RegularExpression, value: "/v[0-9]"}}], `+toV2+`}]`)}, []string{"/v1/x"}, Options{}, `
HTTPRoute shop/all rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
note: the regular expression "/v[0-9]" matches a part of the path "/v1/x", not all of it: implementations differ in whether that is a match
not taken: HTTPRoute shop/re rule[0]: path /v1/x is not ~ /v[0-9]
`},
		{"a regular expression in another dialect", []string{all, http("shop/re", onCart+`, rules: [{matches: [{headers: [{name: a, type: RegularExpression, value: "(?=x)y"}]}], `+toV2+`}]`)}, []string{"a: y"}, Options{}, `
HTTPRoute shop/all rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
note: the regular expression "(?=x)y" on the header a is not valid RE2, so it is compared as text
not taken: HTTPRoute shop/re rule[0]: header a y is not ~ (?=x)y
`},
		{"the precedence of a regular expression", []string{http("shop/re @01", onCart+`, rules: [{matches: [{path: {type: RegularExpression, value: /v.*}}], `+toV1+`}, {matches: [{path: {value: /v1}}], `+toV2+`}]`)}, []string{"/v1"}, Options{}, `
HTTPRoute shop/re rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
note: HTTPRoute shop/re rule[1] match[0] matches too: the precedence of a RegularExpression is implementation-specific
not taken: HTTPRoute shop/re rule[1]: PathPrefix /v1 ranks below a RegularExpression
`},
		{"a regular expression below an exact path, on a mesh that has it below every prefix", []string{http("shop/re @01", onCart+`, rules: [{matches: [{path: {type: Exact, value: /v1}}], `+toV1+`}, {matches: [{path: {type: RegularExpression, value: /v1}}], `+toV2+`}]`)}, []string{"/v1"}, istio, `
HTTPRoute shop/re rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
not taken: HTTPRoute shop/re rule[1]: RegularExpression /v1 ranks below an Exact path
`},
		{"clients outside the mesh", []string{mock}, []string{"from faces", "/v2"}, istio, `
HTTPRoute faces/mock rule[0] match[0]  (consumer of faces)
  → Service faces/stub:80 100 %
note: by its labels and annotations, namespace faces has no Pods in Istio: if so, the route has no effect; label the namespace istio-injection=enabled, or with istio.io/rev (service-not-enrolled)
`},
		{"a port of another application protocol", []string{named, http("shop/db", onDB)}, []string{"to service/db:80"}, by(t, validate.Policy{Mesh: mergingMesh()}), `
HTTPRoute shop/db rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
note: HTTPRoute does not support appProtocol tcp by the name tcp-db (port 80) of Service shop/db: the mesh may not apply it (parent-app-protocol)
`},
		{"a port of another application protocol, where the rule is off", []string{named, http("shop/db", onDB)}, []string{"to service/db:80"}, by(t, validate.Policy{Mesh: mergingMesh(), Actions: map[string]validate.Action{validate.RuleParentAppProtocol: validate.Off}}), `
HTTPRoute shop/db rule[0] match[0]  (producer)
  → Service cart-v1:8080 100 %
`},
		{"clients outside the mesh, where the rule is off", []string{mock}, []string{"from faces", "/v2"}, by(t, validate.Policy{Mesh: mergingMesh(), Actions: map[string]validate.Action{validate.RuleServiceNotEnrolled: validate.Off}}), `
HTTPRoute faces/mock rule[0] match[0]  (consumer of faces)
  → Service faces/stub:80 100 %
`},
		{"backends elsewhere need a ReferenceGrant where the mesh says so", []string{mock, http("shop/far", onCart+`, rules: [{backendRefs: [{name: stub, namespace: faces, port: 80}]}]`)}, nil, by(t, validate.Policy{Actions: map[string]validate.Action{"backend-not-permitted": validate.Warn}}), `
HTTPRoute shop/far rule[0] match[0]  (producer)
  → 500 (Service faces/stub:80 is not permitted by a ReferenceGrant)
not taken: HTTPRoute faces/mock: it is for clients in namespace faces
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			trace, err := newTable(t, test.options, test.manifests...).Trace(ask(t, test.request...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), trace.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDiffOfUnfitPort: diff notes a port whose protocol does not fit where it changes, or where requests meet something else.
func TestDiffOfUnfitPort(t *testing.T) {
	const note = "HTTPRoute does not support appProtocol tcp by the name tcp-db (port 80) of Service shop/db: the mesh may not apply it (parent-app-protocol)"
	of := func(port, to string) *Table {
		return newTable(t, by(t, validate.Policy{Mesh: mergingMesh()}),
			`{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {selector: {app: db}, clusterIP: 10.0.0.9, ports: [{name: `+port+`, port: 80}]}}`,
			http("shop/db", `parentRefs: [{group: "", kind: Service, name: db, port: 80}], rules: [{`+to+`}]`))
	}
	for name, test := range map[string]struct {
		before, after *Table
		want          int
	}{
		"the port changes":  {of("http-db", toV1), of("tcp-db", toV1), 1},
		"a backend changes": {of("tcp-db", toV1), of("tcp-db", toV2), 1},
		"nothing changes":   {of("tcp-db", toV1), of("tcp-db", toV1), 0},
		"it is corrected":   {of("tcp-db", toV1), of("http-db", toV1), 0},
		"it has always fit": {of("http-db", toV1), of("http-db", toV2), 0},
	} {
		diff, err := Diff(test.before, test.after)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(diff.Notes, "\n"), note); got != test.want {
			t.Errorf("%s: noted %d times, want %d: %s", name, got, test.want, diff)
		}
	}
}

func TestTraceOfWhatIsNotThere(t *testing.T) {
	table := newTable(t, Options{})
	for target, want := range map[string]string{
		"service/none:80": "Service shop/none does not exist",
		"service/cart:81": "Service shop/cart has no port 81: its ports are 80 (http), 8080 (alt), 53 (dns)",
	} {
		if _, err := table.Trace(ask(t, "to "+target)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", target, err, want)
		}
	}
}

// TestTraceOfWhatIsNotKnown: a Service that is not in the input is an error, and of
// a route whose admission is not known the trace says so.
func TestTraceOfWhatIsNotKnown(t *testing.T) {
	w := newWorld()
	w.incomplete = true
	routes := w.read(t, shop+"---\n"+http("shop/cart", onCart+`, rules: [{backendRefs: [{name: other, port: 80}]}]`))
	table := tableOf(w, routes.stored(t), Options{})
	trace, err := table.Trace(ask(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"namespace shop is not in the input: it is assumed to have the grant",
		"Service shop/other is not in the input: it is assumed to exist",
	}
	if diff := cmp.Diff(want, trace.Notes); diff != "" {
		t.Error(diff)
	}
	if _, err := table.Trace(ask(t, "to service/other:80")); err == nil || err.Error() != "Service shop/other is not in the input" {
		t.Error(err)
	}
}

// TestTraceOfDormant: a route that no mesh acts on is not taken, and the trace says why.
func TestTraceOfDormant(t *testing.T) {
	w := newWorld()
	dormant := `parentRefs: [{group: core, kind: Service, name: cart, port: 80}], rules: [{` + toV1 + `}]`
	trace, err := tableOf(w, w.read(t, shop+"---\n"+http("shop/soap", dormant)).stored(t), Options{}).Trace(ask(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.NotTaken) != 1 || trace.NotTaken[0].Route != "HTTPRoute shop/soap" || !strings.HasPrefix(trace.NotTaken[0].Reason, "dormant: ") || trace.Chosen != nil {
		t.Errorf("%+v", trace)
	}
}

// TestTraceOfUnknownService: a Service that is not in the input has the ports that routes name, as in a difference.
func TestTraceOfUnknownService(t *testing.T) {
	w := newWorld()
	w.incomplete = true
	rules := `, rules: [{` + toV1 + `}]`
	named := `parentRefs: [{group: "", kind: Service, name: web, sectionName: http}]` + rules
	every := `parentRefs: [{group: "", kind: Service, name: api}]` + rules
	manifests := []string{http("shop/cart", onCart+rules), http("shop/again", onCart+rules), http("shop/web", named), http("shop/api", every)}
	table := tableOf(w, w.read(t, strings.Join(manifests, "\n---\n")).stored(t), Options{})
	for target, want := range map[string]string{
		"service/cart:80": "shop/again", "service/cart": "shop/again", "service/web:http": "shop/web", "service/api:8080": "shop/api", "service/api": "shop/api",
		"service/cart:81": "Service shop/cart has no port 81: its ports are 80, as routes name them, since the Service is not in the input",
		"service/web:80":  "Service shop/web has no port 80: its ports are http, as routes name them, since the Service is not in the input",
	} {
		trace, err := table.Trace(ask(t, "to "+target))
		if err != nil {
			if err.Error() != want {
				t.Errorf("%s: %v", target, err)
			}
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(target, "service/"), ":")
		note := "Service shop/" + name + " is not in the input: it is assumed to have the ports that routes name"
		if trace.Chosen == nil || trace.Chosen.Route != "HTTPRoute "+want || trace.Notes[0] != note {
			t.Errorf("%s: %+v", target, trace)
		}
		if gateway, err := table.Trace(ask(t, "to "+target, "from gateway")); err == nil && !slices.Contains(gateway.Notes, note) {
			t.Errorf("%s: from a Gateway: %v", target, gateway.Notes)
		}
	}
}

// TestTraceOfUnknownWaypoint: whether a Service that is not in the input has a waypoint is not known.
func TestTraceOfUnknownWaypoint(t *testing.T) {
	w := newWorld()
	w.incomplete = true
	ambient := mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		if read.Kind == mesh.ReadNamespace {
			return mesh.Answer{Namespace: &mesh.Namespace{Name: read.Namespace, Labels: map[string]string{"istio.io/dataplane-mode": "ambient"}}}
		}
		return w.Do(read)
	})
	routes := w.read(t, http("shop/cart", onCart+`, rules: [{`+toV1+`}]`)).stored(t)
	trace, err := tableOf(ambient, routes, by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Istio)})).Trace(ask(t))
	if err != nil || strings.Contains(trace.String(), "waypoint") {
		t.Errorf("%v (%v)", trace, err)
	}
}

// TestTraceOfUnreadable: of a cluster, what is not known cannot be read, and routes of the kinds that can take the port, in a namespace that cannot be read, are not said
// to be none.
func TestTraceOfUnreadable(t *testing.T) {
	w := newWorld()
	w.incomplete = true
	options := by(t, validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantNone}})
	unread := []mesh.RouteKind{mesh.HTTPRoute, mesh.TCPRoute, mesh.UDPRoute}
	options.Live, options.Unread = true, func(namespace string) []mesh.RouteKind {
		if namespace != "faces" {
			return nil
		}
		return unread
	}
	table := tableOf(w, w.read(t, shop+"---\n"+http("shop/cart", onCart+`, rules: [{`+toV1+`}]`)).stored(t), options)
	trace, err := table.Trace(ask(t, "from faces"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"namespace shop cannot be read: it is assumed to have the grant", "routes in namespace faces (HTTPRoute, TCPRoute) cannot be read: they are assumed not to exist"}
	if trace.Scope != "consumer of faces: unknown; producer" {
		t.Errorf("scope: %s", trace.Scope)
	}
	if diff := cmp.Diff(want, trace.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	unread = []mesh.RouteKind{mesh.UDPRoute}
	if trace, err = table.Trace(ask(t, "from faces")); err != nil || trace.Scope != "consumer of faces: none; producer" || len(trace.Notes) != 1 {
		t.Errorf("no kind that can take a TCP port is unread: %+v, %v", trace, err)
	}
	if _, err := table.Trace(ask(t, "to service/other:80")); err == nil || err.Error() != "Service shop/other cannot be read" {
		t.Errorf("a Service that cannot be read: %v", err)
	}
}

// TestDiffOfUnreadable: diff notes producer routes that cannot be read where a consumer route is new, whatever it does, and not where nothing changes.
func TestDiffOfUnreadable(t *testing.T) {
	options := by(t, validate.Policy{})
	options.Live, options.Unread = true, func(namespace string) []mesh.RouteKind {
		if namespace == "shop" {
			return []mesh.RouteKind{mesh.HTTPRoute}
		}
		return nil
	}
	toStub := http("faces/web", onShop+`, rules: [{backendRefs: [{name: stub, port: 80}]}]`)
	for name, test := range map[string]struct {
		before []string
		want   int
	}{"new": {nil, 1}, "as before": {[]string{toStub}, 0}, "changed": {[]string{http("faces/web", onShop+`, rules: [{backendRefs: [{name: other, port: 80}]}]`)}, 0}} {
		diff, err := Diff(newTable(t, options, test.before...), newTable(t, options, toStub))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(diff.Notes, "\n"), "routes in namespace shop (HTTPRoute) cannot be read"); got != test.want {
			t.Errorf("%s: %d notes, want %d: %s", name, got, test.want, diff)
		}
	}
}

// TestTraceOfTwoPorts: of two ports with one number, TCP is meant unless the request
// says UDP.
func TestTraceOfTwoPorts(t *testing.T) {
	w := newWorld()
	dns := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: dns}, spec: {ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}}`
	on := `parentRefs: [{group: "", kind: Service, name: dns}], rules: [{` + toV1 + `}]`
	table := tableOf(w, w.read(t, shop+"---\n"+dns+"\n---\n"+object("UDPRoute shop/u", on)+"\n---\n"+object("TCPRoute shop/t", on)).stored(t), Options{})
	for target, want := range map[string]mesh.RouteKind{"service/dns:53": mesh.TCPRoute, "service/dns:53/TCP": mesh.TCPRoute, "service/dns:53/UDP": mesh.UDPRoute, "dns:u": mesh.UDPRoute, "dns:t": mesh.TCPRoute, "dns": mesh.TCPRoute} {
		trace, err := table.Trace(ask(t, "to "+target))
		if err != nil {
			t.Fatal(err)
		}
		if trace.RouteKind != want {
			t.Errorf("%s: %s, want %s", target, trace.RouteKind, want)
		}
	}
}

// TestTraceOfPorts: a port is known by its number, by its name, or because it is the only one; else
// the error lists what there is.
func TestTraceOfPorts(t *testing.T) {
	w := newWorld()
	two := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: two}, spec: {ports: [{name: http, port: 80}, {name: admin, port: 81}]}}`
	one := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: one}, spec: {ports: [{port: 8080}]}}`
	none := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: none}, spec: {type: ExternalName, externalName: a.example}}`
	table := tableOf(w, w.read(t, shop+"---\n"+two+"\n---\n"+one+"\n---\n"+none).stored(t), Options{})
	for target, want := range map[string]int32{"two:admin": 81, "two:80": 80, "one": 8080, "http://two.shop/": 80, "none:81": 81} {
		trace, err := table.Trace(ask(t, "to "+target))
		if err != nil || trace.Request.Port != want {
			t.Errorf("%s: %v, want port %d of %+v", target, err, want, trace)
		}
	}
	for target, want := range map[string]string{
		"two":              "Service shop/two has several ports: specify one of 80 (http), 81 (admin), such as service/two.shop:80",
		"two:grpc":         "Service shop/two has no port grpc: its ports are 80 (http), 81 (admin)",
		"http://one.shop/": "Service shop/one has no port 80: its ports are 8080",
		"none":             "Service shop/none is of type ExternalName and lists no port: specify one",
		"none:grpc":        "Service shop/none has no ports",
	} {
		if _, err := table.Trace(ask(t, "to "+target)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", target, err, want)
		}
	}
}

func TestTraceJSON(t *testing.T) {
	trace, err := newTable(t, Options{}, http("shop/cart", onCart+`, rules: [{matches: [{path: {value: /x}}]}, {`+toV1+`}]`)).Trace(ask(t, "tenant: gold"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"request":{"service":"Service shop/cart","port":80,"from":"shop","headers":{"tenant":"gold"},` +
		`"arguments":"service/cart.shop:80 --from shop -H 'tenant: gold'"},` +
		`"scope":"producer","routeKind":"HTTPRoute","chosen":{"route":"HTTPRoute shop/cart","rule":1,"match":0},` +
		`"outcome":{"shares":[{"backend":"Service shop/cart-v1:8080","parts":1,"of":1}]},` +
		`"notTaken":[{"route":"HTTPRoute shop/cart","rule":0,"reason":"path / is not /x or below"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestNear: of a Service, its name is left.
func TestNear(t *testing.T) {
	for text, want := range map[string]string{
		"no backendRef is a Service that exists and is permitted": "no backendRef is a Service that exists and is permitted",
		"Service shop/cart:80 has no endpoints":                   "cart:80 has no endpoints",
		"Service pay/pay:80 has no such port":                     "pay/pay:80 has no such port",
	} {
		if got := near(text, "shop"); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestTraceWithoutNames: where a mesh ignores sectionName, the route applies on every port, also if no port has
// the name.
func TestTraceWithoutNames(t *testing.T) {
	for _, name := range []string{"http", "gone"} {
		route := http("shop/named", `parentRefs: [{group: "", kind: Service, name: cart, sectionName: `+name+`}], rules: [{`+toV1+`}]`)
		for profile, want := range map[mesh.ProfileName]string{mesh.Istio: "cart-v1", mesh.Linkerd: "cart-v1", mesh.Kuma: "no route on port 8080"} {
			trace, err := newTable(t, by(t, validate.Policy{Mesh: mesh.FindProfile(profile)}), route).Trace(ask(t, "to service/cart:8080"))
			if err != nil || !strings.Contains(trace.String(), want) {
				t.Errorf("%s, %s: %v: want %s in\n%s", profile, name, err, want, trace)
			}
		}
	}
}
