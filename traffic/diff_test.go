package traffic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestDiff(t *testing.T) {
	v2 := func(backends string) string {
		return http("shop/cart", onCart+`, rules: [{matches: [{path: {value: /v2}, method: GET, headers: [{name: tenant, value: gold}]}], backendRefs: [`+backends+`]},`+
			`{matches: [{path: {value: /v2}}], backendRefs: [{name: cart-v2, port: 8080}]}]`)
	}
	old, canary := v2(`{name: cart-v1, port: 8080}`), v2(`{name: cart-v2, port: 8080, weight: 90}, {name: cart-v1, port: 8080, weight: 10}`)
	admin := http("shop/admin", onCart+`, rules: [{matches: [{path: {value: /admin}}], backendRefs: [{name: admin, port: 80}]}]`)
	mock := http("faces/mock", onShop+`, rules: [{matches: [{path: {value: /v2}, method: POST}], backendRefs: [{name: stub, port: 80}]}]`)
	all := http("shop/all", onCart+`, rules: [{`+toV1+`}]`)
	ofRules := func(more string) string {
		return http("shop/a", onCart+`, rules: [{matches: [{path: {value: /a}}], `+toV1+`}`+more+`]`)
	}
	split := func(backends ...string) string {
		return http("shop/all", onCart+`, rules: [{backendRefs: [{name: `+strings.Join(backends, "}, {name: ")+`}]}]`)
	}
	for _, test := range []struct {
		name          string
		before, after []string
		options       Options
		want          string
	}{
		{"a rewrite that changes nothing", []string{http("shop/cart", onCart+`, rules: [{`+toV1+`}]`)}, []string{http("shop/cart", onCart+`, rules: [{filters: [{type: URLRewrite, urlRewrite: {}}], `+toV1+`}]`)}, Options{}, `
no change; 3 request classes unchanged
`},
		{"no change", []string{old, admin}, []string{admin, old}, Options{}, `
no change; 6 request classes unchanged
`},
		{"a canary, a removed route, and a mock", []string{old, admin}, []string{canary, mock}, Options{}, `
service shop/cart port 80, producer
  any                         /admin*                              admin:80 100 %      →  404 (no rule matches) (HTTPRoute shop/admin was removed)
  GET                         /v2* tenant=gold                     cart-v1:8080 100 %  →  cart-v2:8080 90 %, cart-v1:8080 10 %
  from namespace faces: any   /admin*                              admin:80 100 %      →  404 (no rule matches) (consumer routes replace producer routes)
  from namespace faces: any   /v2* (except GET tenant=gold, POST)  cart-v2:8080 100 %  →  404 (no rule matches) (consumer routes replace producer routes)
  from namespace faces: POST  /v2*                                 cart-v2:8080 100 %  →  faces/stub:80 100 % (new consumer HTTPRoute faces/mock)
  from namespace faces: GET   /v2* tenant=gold                     cart-v1:8080 100 %  →  404 (no rule matches) (consumer routes replace producer routes)
1 Service, 6 changes; 5 other request classes unchanged
`},
		{"the first route on a port", nil, []string{old}, Options{}, `
service shop/cart port 80, producer
  any  /* (except /v2*)               cart:80 100 %  →  404 (no rule matches) (new HTTPRoute shop/cart)
  any  /v2* (except GET tenant=gold)  cart:80 100 %  →  cart-v2:8080 100 % (new HTTPRoute shop/cart)
  GET  /v2* tenant=gold               cart:80 100 %  →  cart-v1:8080 100 % (new HTTPRoute shop/cart)
1 Service, 3 changes; 2 other request classes unchanged
`},
		{"the last route on a port", []string{old}, nil, Options{}, `
service shop/cart port 80, producer
  any  /* (except /v2*)               404 (no rule matches)  →  cart:80 100 % (HTTPRoute shop/cart was removed)
  any  /v2* (except GET tenant=gold)  cart-v2:8080 100 %     →  cart:80 100 % (HTTPRoute shop/cart was removed)
  GET  /v2* tenant=gold               cart-v1:8080 100 %     →  cart:80 100 % (HTTPRoute shop/cart was removed)
1 Service, 3 changes; 2 other request classes unchanged
`},
		{"requests that met no rule meet another kind", []string{old}, []string{old, object("GRPCRoute shop/say", onCart+`, rules: [{matches: [{method: {service: a.B}}], `+toV2+`}]`)}, Options{}, `
service shop/cart port 80, producer
  any  not gRPC /* (except /v2*)                404 (no rule matches)  →  UNIMPLEMENTED (no rule matches) (new GRPCRoute shop/say)
  any  not gRPC /v2* (except GET tenant=gold)   cart-v2:8080 100 %     →  UNIMPLEMENTED (no rule matches) (HTTPRoute shop/cart does not apply: GRPCRoute holds the port)
  GET  not gRPC /v2* tenant=gold                cart-v1:8080 100 %     →  UNIMPLEMENTED (no rule matches) (HTTPRoute shop/cart does not apply: GRPCRoute holds the port)
       grpc */* (except grpc a.B/*, grpc v2/*)  404 (no rule matches)  →  UNIMPLEMENTED (no rule matches) (new GRPCRoute shop/say)
       grpc a.B/*                               404 (no rule matches)  →  cart-v2:8080 100 % (new GRPCRoute shop/say)
       grpc v2/*                                cart-v2:8080 100 %     →  UNIMPLEMENTED (no rule matches) (HTTPRoute shop/cart does not apply: GRPCRoute holds the port)
note: the GRPCRoutes on port 80 of Service shop/cart match gRPC requests only, whose content-type is application/grpc
1 Service, 6 changes; 2 other request classes unchanged
`},
		{"a catch-all instead of matches", []string{old}, []string{http("shop/cart", onCart+`, rules: [{`+toV1+`}]`)}, Options{}, `
service shop/cart port 80, producer
  any  /* (except /v2*)               404 (no rule matches)  →  cart-v1:8080 100 %
  any  /v2* (except GET tenant=gold)  cart-v2:8080 100 %     →  cart-v1:8080 100 %
1 Service, 2 changes; 3 other request classes unchanged
`},
		{"weights of one backend, added up", []string{split("cart-v1, port: 8080, weight: 60", "cart-v2, port: 8080, weight: 10", "cart-v1, port: 8080, weight: 30")}, []string{split("cart-v1, port: 8080, weight: 9", "cart-v2, port: 8080, weight: 1")}, Options{}, `
no change; 3 request classes unchanged
`},
		{"requests that fail, for two reasons and for one", []string{split("gone, port: 80, weight: 5", "cart-v1, port: 81, weight: 15")}, []string{split("gone, port: 80")}, Options{}, `
no change; 3 request classes unchanged
`},
		{"a new route of unknown age is the younger one", []string{all}, []string{all, http("shop/a", onCart+`, rules: [{`+toV2+`}]`)}, Options{}, `
no change; 3 request classes unchanged
`},
		{"a kind takes the port", []string{all}, []string{all, object("GRPCRoute shop/say", onCart+`, rules: [{matches: [{method: {service: a.B, method: Do}}], `+toV2+`}]`)}, Options{}, `
service shop/cart port 80, producer
  any  not gRPC                       cart-v1:8080 100 %  →  UNIMPLEMENTED (no rule matches) (HTTPRoute shop/all does not apply: GRPCRoute holds the port)
       grpc */* (except grpc a.B/Do)  cart-v1:8080 100 %  →  UNIMPLEMENTED (no rule matches) (HTTPRoute shop/all does not apply: GRPCRoute holds the port)
       grpc a.B/Do                    cart-v1:8080 100 %  →  cart-v2:8080 100 % (new GRPCRoute shop/say)
note: the GRPCRoutes on port 80 of Service shop/cart match gRPC requests only, whose content-type is application/grpc
1 Service, 3 changes; 2 other request classes unchanged
`},
		{"server names, where the mesh matches them", nil, []string{object("TLSRoute shop/tls", onCart+`, hostnames: ["*.example", a.example], rules: [{`+toV1+`}]`)}, by(t, validate.Policy{Mesh: mergingMesh()}), `
service shop/cart port 80, producer
  any  server name *.example  cart:80 100 %  →  cart-v1:8080 100 % (new TLSRoute shop/tls)
  any  server name a.example  cart:80 100 %  →  cart-v1:8080 100 % (new TLSRoute shop/tls)
  any  other server names     cart:80 100 %  →  connection refused (no rule matches) (new TLSRoute shop/tls)
1 Service, 3 changes; 2 other request classes unchanged
`},
		{"a raw connection", nil, []string{object("TCPRoute shop/raw", onCart+`, rules: [{`+toV1+`}]`)}, Options{}, `
service shop/cart port 80, producer
  any  cart:80 100 %  →  cart-v1:8080 100 % (new TCPRoute shop/raw)
1 Service, 1 change; 2 other request classes unchanged
`},
		{"a rule that does what the mesh does without one", []string{ofRules(`, {backendRefs: [{name: cart, port: 80}]}`)}, []string{ofRules(`, {` + toV2 + `}`)}, by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Kuma)}), `
service shop/cart port 80, producer
  any  /* (except /a*)  cart:80 100 %  →  cart-v2:8080 100 %
1 Service, 1 change; 3 other request classes unchanged
`},
		{"a regular expression", []string{all}, []string{all, http("shop/re", onCart+`, rules: [{matches: [{path: {type: RegularExpression, value: "/v[0-9]+"}}], `+toV2+`}]`)}, Options{}, `
service shop/cart port 80, producer
  any  ~ /v[0-9]+ such as /v0  cart-v1:8080 100 %  →  cart-v2:8080 100 % (new HTTPRoute shop/re)
note: regular expressions of HTTPRoute shop/re are compared as text, and by examples of what they match: changes within what they match may be missing
note: HTTPRoute shop/all rule[0] match[0] matches too: the precedence of a RegularExpression is implementation-specific
1 Service, 1 change; 3 other request classes unchanged
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Diff(newTable(t, test.options, test.before...), newTable(t, test.options, test.after...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), got.String()); diff != "" {
				t.Errorf("%s\n%s", got, diff)
			}
		})
	}
}

// TestDiffSaysWhy: a route that is still there is not called removed.
func TestDiffSaysWhy(t *testing.T) {
	all := http("shop/all", onCart+`, rules: [{`+toV2+`}]`)
	ungranted := by(t, validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantNone}})
	for want, after := range map[string]*Table{
		"HTTPRoute shop/all was removed": newTable(t, Options{}),
		"HTTPRoute shop/all does not apply: namespace shop lacks the producer grant for HTTPRoute": newTable(t, ungranted, all),
		"HTTPRoute shop/all does not apply: Service shop/cart has no port 9999":                    newTable(t, Options{}, http("shop/all", `parentRefs: [{group: "", kind: Service, name: cart, port: 9999}], rules: [{`+toV2+`}]`)),
	} {
		got, err := Diff(newTable(t, Options{}, all), after)
		if err != nil || len(got.Ports) == 0 || got.Ports[0].Changes[0].Because != want {
			t.Errorf("want %s, got %s (%v)", want, got, err)
		}
	}
}

// TestDiffOfUnknownAges: a match that another route has too may take its requests, whichever of both is the first by name. A new
// route is the younger one.
func TestDiffOfUnknownAges(t *testing.T) {
	first := http("shop/a", onCart+`, rules: [{matches: [{path: {value: /x}}], `+toV1+`}]`)
	last := func(more string) string { return http("shop/b", onCart+`, rules: [{`+toV1+`}`+more+`]`) }
	const reason = "the older route wins, and the age of HTTPRoute shop/a and HTTPRoute shop/b is not known"
	equal := `, {matches: [{path: {value: /x}}], ` + toV2 + `}`
	for _, test := range []struct {
		name          string
		before, after []string
		want          string
	}{
		{"it loses by name", []string{first, last("")}, []string{first, last(equal)}, "note: " + reason + "; requests to port 80 of Service shop/cart may go somewhere else, for example service/cart.shop:80 --from shop --path /x\n1 possible change; 4 request classes unchanged\n"},
		{
			"with a header that both have",
			[]string{http("shop/a", onCart+`, rules: [{matches: [{headers: [{name: v, value: x}]}], `+toV1+`}]`), last("")},
			[]string{http("shop/a", onCart+`, rules: [{matches: [{headers: [{name: v, value: x}]}], `+toV1+`}]`), last(`, {matches: [{headers: [{name: v, value: x}]}], ` + toV2 + `}`)},
			"note: " + reason + "; requests to port 80 of Service shop/cart may go somewhere else, for example service/cart.shop:80 --from shop -H 'v: x'\n1 possible change; 4 request classes unchanged\n",
		},
		{"the same backends", []string{first, last("")}, []string{first, last(strings.ReplaceAll(equal, "cart-v2", "cart-v1"))}, "no change; 4 request classes unchanged\n"},
		{"in both versions", []string{first, last(equal)}, []string{first, last(equal)}, "no change; 4 request classes unchanged\n"},
		{
			"also for a change",
			[]string{first, last(`, {matches: [{path: {value: /x/y}}], ` + toV2 + `}`)},
			[]string{first, last(equal)},
			"service shop/cart port 80, producer\n  any  /x/y*  cart-v2:8080 100 %  →  cart-v1:8080 100 %\nnote: " + reason + "; requests to port 80 of Service shop/cart may go somewhere else, for example service/cart.shop:80 --from shop --path /x\n1 Service, 1 change, 1 possible change; 4 other request classes unchanged\n",
		},
		{"by a new route", []string{first}, []string{first, http("shop/b", onCart+`, rules: [{matches: [{path: {value: /x}}], `+toV2+`}]`)}, "no change; 4 request classes unchanged\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Diff(newTable(t, Options{}, test.before...), newTable(t, Options{}, test.after...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" || got.Empty() != strings.HasPrefix(test.want, "no change") {
				t.Errorf("%s", diff)
			}
		})
	}
}

// TestDiffOfEditedRoutes: diff names a route that is edited and applies in neither version, and why, and no other route.
func TestDiffOfEditedRoutes(t *testing.T) {
	route := func(name, parent, to string) string {
		return http("shop/"+name, `parentRefs: [`+parent+`], rules: [{`+to+`}]`)
	}
	const (
		other = `{group: "", kind: Service, name: cart, port: 9999}`
		none  = `{group: "", kind: Service, name: gone}`
		cart  = `{group: "", kind: Service, name: cart, port: 80}`
	)
	ungranted := by(t, validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantNone}})
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd), Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	mirrored := toV1 + `, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: cart-v2, port: 8080}}}]`
	for _, test := range []struct {
		name          string
		options       Options
		before, after string
		want          string
	}{
		{"no grant", ungranted, route("a", cart, toV1), route("a", cart, toV2), "namespace shop lacks the producer grant for HTTPRoute"},
		{"dropped by the mesh", linkerd, route("a", cart, mirrored), route("a", cart, mirrored+`, timeouts: {request: 3s}`), "Linkerd drops the whole route because of a RequestMirror filter, or keeps its former version"},
		{"no such port", Options{}, route("a", other, toV1), route("a", other, toV2), "Service shop/cart has no port 9999"},
		{"no such Service", Options{}, route("a", none, toV1), route("a", none, toV2), "no such Service"},
		{"unchanged", ungranted, route("a", cart, toV1), route("a", cart, toV1), ""},
		{"new", ungranted, "", route("a", cart, toV1), ""},
		{"it applies to another Service", Options{}, route("a", none+", "+cart, toV1), route("a", none+", "+cart, toV1+`, name: x`), ""},
		{"it applied", Options{}, route("a", cart, toV1), route("a", other, toV1), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			still := route("still", other, toV1)
			got, err := Diff(newTable(t, test.options, still, test.before), newTable(t, test.options, still, test.after))
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if test.want != "" {
				want = []string{"HTTPRoute shop/a is changed, and does not apply: " + test.want}
			}
			if diff := cmp.Diff(want, got.Notes); diff != "" {
				t.Errorf("%s\n%s", got, diff)
			}
		})
	}
}

// TestDiffOfParents: a route that attaches to something else is neither removed nor new.
func TestDiffOfParents(t *testing.T) {
	on := func(parent string) *Table {
		return newTable(t, Options{}, http("shop/all", `parentRefs: [`+parent+`], rules: [{`+toV2+`}]`))
	}
	cart, gateway := on(`{group: "", kind: Service, name: cart}`), on(`{name: gateway}`)
	for _, test := range []struct {
		before, after *Table
		want          string
	}{
		{cart, gateway, "HTTPRoute shop/all no longer attaches to this Service"},
		{cart, on(`{group: "", kind: Service, name: cart-v1}`), "HTTPRoute shop/all no longer attaches to this Service"},
		{gateway, cart, "HTTPRoute shop/all now attaches to this Service"},
	} {
		got, err := Diff(test.before, test.after)
		if err != nil || len(got.Ports) == 0 || got.Ports[0].Changes[0].Because != test.want {
			t.Errorf("want %s, got %s (%v)", test.want, got, err)
		}
	}
}

// TestDiffExceptsOnce: an exception that another one of the class covers is not named.
func TestDiffExceptsOnce(t *testing.T) {
	rules := func(backend string) string {
		return http("shop/cart", onCart+`, rules: [`+
			`{matches: [{path: {value: /a}, headers: [{name: tier, value: gold}]}], `+toV1+`},`+
			`{matches: [{path: {type: Exact, value: /a/b}, method: GET}], backendRefs: [{name: admin, port: 80}]},`+
			`{matches: [{path: {value: /a}}], `+backend+`}]`)
	}
	got, err := Diff(newTable(t, Options{}, rules(toV1)), newTable(t, Options{}, rules(toV2)))
	if err != nil {
		t.Fatal(err)
	}
	want := `service shop/cart port 80, producer
  any  /a* (except tier=gold, /a/b GET)  cart-v1:8080 100 %  →  cart-v2:8080 100 %
1 Service, 1 change; 6 other request classes unchanged
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestDiffTellsOnce: a change of all requests below a path is one change, whatever
// matches there are below it, and those that go elsewhere are named.
func TestDiffTellsOnce(t *testing.T) {
	rules := func(backend string) string {
		return http("shop/cart", onCart+`, rules: [`+
			`{matches: [{path: {value: /a}}, {path: {value: /a/b}}, {path: {value: /a/c}, method: GET}, {path: {type: Exact, value: /a}, headers: [{name: x, value: "1"}]}], `+backend+`},`+
			`{matches: [{path: {value: /a/d}}, {path: {value: /a/c}, headers: [{name: x, value: "1"}]}], `+toV1+`}]`)
	}
	got, err := Diff(newTable(t, Options{}, rules(toV1)), newTable(t, Options{}, rules(toV2)))
	if err != nil {
		t.Fatal(err)
	}
	want := `service shop/cart port 80, producer
  any  /a* (except /a/c* x=1, /a/d*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %
  GET  /a/c*                          cart-v1:8080 100 %  →  cart-v2:8080 100 %
1 Service, 2 changes; 6 other request classes unchanged
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDiffOfServices(t *testing.T) {
	all := http("shop/new", `parentRefs: [{group: "", kind: Service, name: new}], rules: [{`+toV1+`}]`)
	service := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: new}, spec: {ports: [{port: 80}]}}`
	got, err := Diff(newTable(t, Options{}), newTable(t, Options{}, service, all))
	if err != nil {
		t.Fatal(err)
	}
	want := `service shop/new port 80, producer
  any  no such Service  →  cart-v1:8080 100 % (new HTTPRoute shop/new)
1 Service, 1 change; 0 other request classes unchanged
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestDiffWithoutEndpoints: a backend that has no endpoints now can have some later, so other backends are a change.
func TestDiffWithoutEndpoints(t *testing.T) {
	const idle = `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: later, annotations: {empty: ""}}, spec: {ports: [{port: 80}]}}`
	split := func(weights ...int) *Table {
		return newTable(t, Options{}, idle, http("shop/cart", fmt.Sprintf(onCart+`, rules: [{backendRefs: [{name: idle, port: 80, weight: %d}, {name: later, port: 80, weight: %d}]}]`, weights[0], weights[1])))
	}
	for _, test := range []struct {
		now  *Table
		want string
	}{
		{split(90, 10), "no change; 3 request classes unchanged\n"},
		{split(1, 1), `service shop/cart port 80, producer
  any  503 90 % (idle:80 has no endpoints), 503 10 % (later:80 has no endpoints)  →  503 50 % (idle:80 has no endpoints), 503 50 % (later:80 has no endpoints)
1 Service, 1 change; 2 other request classes unchanged
`},
	} {
		got, err := Diff(split(90, 10), test.now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDiffForms(t *testing.T) {
	got, err := Diff(newTable(t, Options{}), newTable(t, Options{}, http("shop/cart", onCart+`, rules: [{matches: [{method: POST, headers: [{name: a_b, value: "1|2"}]}], `+toV1+`}, {`+toV2+`}]`)))
	if err != nil {
		t.Fatal(err)
	}
	markdown := "1 Service, 2 changes; 2 other request classes unchanged" + `
### ` + "`service shop/cart port 80, producer`" + `

| requests | before | after | for example |
|---|---|---|---|
` + "| `any (except POST a_b=1\\|2)` | `cart:80 100 %` | `cart-v2:8080 100 % (new HTTPRoute shop/cart)` | `service/cart.shop:80 --from shop` |\n" +
		"| `POST a_b=1\\|2` | `cart:80 100 %` | `cart-v1:8080 100 % (new HTTPRoute shop/cart)` | `service/cart.shop:80 --from shop --method POST -H 'a_b: 1\\|2'` |\n"
	summary, parts, _ := got.Markdown()
	if diff := cmp.Diff(markdown, summary+parts[0].Head+strings.Join(parts[0].Lines, "")); diff != "" {
		t.Error(diff)
	}
	data, err := json.Marshal(got.Ports[0].Changes[1])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"class":{"method":"POST","conditions":["a_b=1|2"]},"before":{"shares":[{"backend":"Service shop/cart:80","parts":1,"of":1}]},` +
		`"after":{"shares":[{"backend":"Service shop/cart-v1:8080","parts":1,"of":1}]},"because":"new HTTPRoute shop/cart",` +
		`"witness":{"service":"Service shop/cart","port":80,"protocol":"TCP","from":"shop","method":"POST","path":"/","headers":{"a_b":"1|2"},` +
		`"arguments":"service/cart.shop:80 --from shop --method POST -H 'a_b: 1|2'"}}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
}

// TestDiffOfUnknownService: of a Service that is not in the input the ports that
// routes name are compared.
func TestDiffOfUnknownService(t *testing.T) {
	w := newWorld()
	w.incomplete = true
	table := func(manifests ...string) *Table {
		return tableOf(w, w.read(t, strings.Join(manifests, "\n---\n")).stored(t), Options{})
	}
	got, err := Diff(table(http("shop/cart", onCart+`, rules: [{`+toV1+`}]`)), table(http("shop/cart", onCart+`, rules: [{`+toV2+`}]`), http("shop/all", onAll+`, rules: [{`+toV2+`}]`), http("shop/web", onCart+`, rules: [{matches: [{path: {value: /web}}], backendRefs: [{name: cart, port: 80}]}]`)))
	if err != nil {
		t.Fatal(err)
	}
	want := `service shop/cart other ports, producer
  any  cart 100 %  →  cart-v2:8080 100 % (new HTTPRoute shop/all)
service shop/cart port 80, producer
  any  /* (except /web*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %
  any  /web*              cart-v1:8080 100 %  →  cart:80 100 % (new HTTPRoute shop/web)
note: Service shop/cart is not in the input: it is assumed to have the ports that routes name
note: namespace shop is not in the input: it is assumed to have the grant
note: Service shop/cart-v2 is not in the input: it is assumed to exist
note: Service shop/cart-v1 is not in the input: it is assumed to exist
1 Service, 3 changes; 0 other request classes unchanged
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	// Where no route on it changes, nothing depends on it.
	same := http("shop/cart", onCart+`, rules: [{`+toV1+`}]`)
	if got, err = Diff(table(same), table(same, http("shop/edge", "parentRefs: [{name: edge}]"))); err != nil || strings.Contains(got.String(), "have the ports") {
		t.Errorf("%s (%v)", got, err)
	}
}

// TestDiffOfOtherPorts: the ports that no route names have no number in notes.
func TestDiffOfOtherPorts(t *testing.T) {
	w := newWorld()
	w.incomplete = true
	all := w.read(t, object("GRPCRoute shop/all", onAll+`, rules: [{`+toV2+`}]`)).stored(t)
	got, err := Diff(tableOf(w, nil, Options{}), tableOf(w, all, Options{}))
	if want := "the GRPCRoutes on other ports of Service shop/cart match gRPC requests only"; err != nil || !strings.Contains(got.String(), want) {
		t.Errorf("want %s, got %s (%v)", want, got, err)
	}
}

// TestDiffOfOneKnownService: what the version before has and the one after lacks was removed, unless
// something else has it now; what is only in the one after is no change by itself.
func TestDiffOfOneKnownService(t *testing.T) {
	route := http("shop/cart", onAll+`, rules: [{`+toV1+`}]`)
	table := func(manifests ...string) *Table {
		w := newWorld()
		w.incomplete = true
		return tableOf(w, w.read(t, strings.Join(append(manifests, route), "\n---\n")).stored(t), Options{})
	}
	const assumed = "note: Service shop/cart is not in the base: it is assumed to exist there\n"
	for _, test := range []struct {
		name          string
		before, after *Table
		changes       int
		want          string
	}{
		{"it is new", table(), table(shop), 0, assumed},
		{"it is gone", table(shop), table(), 3, "any  cart-v1:8080 100 %  →  no such Service (Service shop/cart is no longer in the input)\n"},
		{"its backend is gone", table(shop), table(strings.ReplaceAll(shop, "name: cart-v1}", "name: other}")), 2, "any  cart-v1:8080 100 %  →  500 (cart-v1:8080 is no longer in the input)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Diff(test.before, test.after)
			if err != nil {
				t.Fatal(err)
			}
			if got.Changes() != test.changes || !strings.Contains(got.String(), test.want) {
				t.Errorf("want %d changes, and %q in\n%s", test.changes, test.want, got)
			}
		})
	}
}

// TestDiffNamesLeftOut: where the mesh leaves out a backend that is gone, the row says so: else it reads as a finished canary.
func TestDiffNamesLeftOut(t *testing.T) {
	cilium := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Cilium), Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	canary := http("shop/cart", onCart+`, rules: [{backendRefs: [{name: cart-v1, port: 8080, weight: 90}, {name: cart-v2, port: 8080, weight: 10}, {name: cart-v3, port: 8080, weight: 0}]}]`)
	table := func(manifests ...string) *Table {
		w := newWorld()
		w.incomplete = true
		return tableOf(w, w.read(t, strings.Join(manifests, "\n---\n")).stored(t), cilium)
	}
	const without = "cart-v1:8080 90 %, cart-v2:8080 10 %  →  cart-v1:8080 100 %"
	for _, test := range []struct{ name, services, route, want string }{
		{"a backend is gone", strings.ReplaceAll(shop, "name: cart-v2}", "name: other}"), canary, without + " (Cilium leaves out Service shop/cart-v2:8080, which is no longer in the input)\n"},
		{"the canary ends", shop, http("shop/cart", onCart+`, rules: [{`+toV1+`}]`), without + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Diff(table(shop, canary), table(test.services, test.route))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.String(), test.want) {
				t.Errorf("want %q in\n%s", test.want, got)
			}
		})
	}
}

// TestDiffNamesReadings: what a mesh does with a rule is a note where the rule decides a change, or its route was edited, and the
// note names the route. So it is with what is assumed of backends.
func TestDiffNamesReadings(t *testing.T) {
	kuma := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Kuma), Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	timed := func(name, path, to, timeout string) string {
		return http("shop/"+name, onCart+`, rules: [{matches: [{path: {value: `+path+`}}], timeouts: {request: `+timeout+`}, `+to+`}]`)
	}
	const note = ": Kuma ignores timeouts.request; use a MeshTimeout"
	other := timed("other", "/other", toV1, "1s")
	for _, test := range []struct {
		name          string
		before, after string
		want          []string
	}{
		{"nothing changes", timed("a", "/a", toV1, "1s"), timed("a", "/a", toV1, "1s"), nil},
		{"a change", timed("a", "/a", toV1, "1s"), timed("a", "/a", toV2, "1s"), []string{"HTTPRoute shop/a" + note}},
		{"what is ignored was edited", timed("a", "/a", toV1, "1s"), timed("a", "/a", toV1, "2s"), []string{"HTTPRoute shop/a" + note}},
		{"a removed route", timed("a", "/a", toV1, "1s"), "", []string{"HTTPRoute shop/a" + note}},
		{"two", timed("a", "/a", toV1, "1s") + "\n---\n" + timed("b", "/b", toV1, "1s"), timed("a", "/a", toV2, "1s") + "\n---\n" + timed("b", "/b", toV2, "1s"), []string{"HTTPRoute shop/a, HTTPRoute shop/b" + note}},
	} {
		got, err := Diff(newTable(t, kuma, other, test.before), newTable(t, kuma, other, test.after))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Notes); diff != "" {
			t.Errorf("%s: %s\n%s", test.name, got, diff)
		}
	}
	istio := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Istio), Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	got, err := Diff(newTable(t, kuma, other), newTable(t, istio, other))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"HTTPRoute shop/other: before, Kuma ignores timeouts.request"}, got.Notes); diff != "" {
		t.Errorf("another mesh: %s\n%s", got, diff)
	}
}

// TestDiffNamesFormerGRPC: that GRPCRoutes match gRPC requests only is so before, where the version after has another mesh, or no GRPCRoutes on the port.
func TestDiffNamesFormerGRPC(t *testing.T) {
	say := object("GRPCRoute shop/say", onCart+`, rules: [{`+toV2+`}]`)
	istio := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Istio), Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	for name, after := range map[string]*Table{"another mesh": newTable(t, istio, say), "removed": newTable(t, Options{})} {
		got, err := Diff(newTable(t, Options{}, say), after)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"before, the GRPCRoutes on port 80 of Service shop/cart match gRPC requests only, whose content-type is application/grpc"}; !slices.Equal(got.Notes, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestDiffNotesNumbers: two ports that change their numbers move requests to other ports of the Pods, which no row shows. Of a port that has another
// number or name alone, the rows say enough.
func TestDiffNotesNumbers(t *testing.T) {
	version := func(name, ports string) *Table {
		service := "{apiVersion: v1, kind: Service, metadata: {name: " + name + ", namespace: shop}, spec: {ports: [" + ports + "]}}"
		return newTable(t, Options{}, service, http("shop/web", onCart+`, rules: [{`+toV1+`}]`))
	}
	const before = "{name: http, port: 80}, {name: metrics, port: 8080}"
	for _, name := range []string{"cart", "cart-v1"} { // the parent, and a backend
		for ports, want := range map[string]string{
			"{name: metrics, port: 80}, {name: http, port: 8080}": "note: Service shop/" + name + ": port http was 80 and is 8080, port metrics was 8080 and is 80: what refers to a number reaches another port\n",
			"{name: web, port: 80}, {name: metrics, port: 8080}":  "",
			"{name: http, port: 80}, {name: metrics, port: 9090}": "",
		} {
			got, err := Diff(version(name, before), version(name, ports))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.String(), "reaches another port") != (want != "") || !strings.Contains(got.String(), want) {
				t.Errorf("%s, %s: want %q, got %s", name, ports, want, got)
			}
		}
	}
}

// TestDiffNotesExternalName: of a backend that becomes an ExternalName Service, it is not known what meshes do: no row says so.
func TestDiffNotesExternalName(t *testing.T) {
	version := func(spec string) *Table {
		return newTable(t, Options{}, "{apiVersion: v1, kind: Service, metadata: {name: cart-v1, namespace: shop}, spec: {"+spec+"}}", http("shop/web", onCart+`, rules: [{`+toV1+`}]`))
	}
	plain, external := version("ports: [{port: 8080}]"), version("type: ExternalName, externalName: example.com")
	for _, test := range []struct {
		before, after *Table
		noted         bool
	}{{plain, external, true}, {external, external, false}, {external, plain, false}} {
		got, err := Diff(test.before, test.after)
		if err != nil {
			t.Fatal(err)
		}
		if noted := strings.Contains(got.String(), "note: Service shop/cart-v1 is of type ExternalName, which meshes should refuse as a backend\n"); noted != test.noted {
			t.Errorf("want %v: %s", test.noted, got)
		}
	}
}

// TestDiffShowsAlias: a Service that becomes one of type ExternalName sends what its routes took to another host, and so does another name of that,
// whether or not it lists its ports.
func TestDiffShowsAlias(t *testing.T) {
	version := func(spec string) *Table {
		return newTable(t, Options{}, "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {"+spec+"}}", http("shop/web", `parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{`+toV1+`}]`))
	}
	const ports, alias, other = "ports: [{port: 80}]", "type: ExternalName, externalName: a.example", "type: ExternalName, externalName: b.example"
	const is = " 100 % (web is of type ExternalName)"
	for _, test := range []struct{ before, after, want string }{
		{ports, alias, "any  cart-v1:8080 100 %  →  host a.example" + is},
		{ports, alias + ", " + ports, "any  cart-v1:8080 100 %  →  host a.example" + is},
		{alias + ", " + ports, other, "any  host a.example" + is + "  →  host b.example" + is},
		{alias, alias + ", " + ports, "no change"},
		{alias, ports, "any  host a.example" + is + "  →  cart-v1:8080 100 % (HTTPRoute shop/web applies now)"},
	} {
		got, err := Diff(version(test.before), version(test.after))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.String(), test.want) {
			t.Errorf("%s, then %s: want %s in: %s", test.before, test.after, test.want, got)
		}
	}
}

// TestDiffNamesCorrected: of a route that did not apply, the row says that it does now, as it says why one no longer does. Of one that was only replaced, it
// names the one that is gone.
func TestDiffNamesCorrected(t *testing.T) {
	route := func(port string) string {
		return http("shop/web", `parentRefs: [{group: "", kind: Service, name: cart, port: `+port+`}], rules: [{`+toV1+`}]`)
	}
	pay := func(port string) string { // by it, other requests end in 404
		return strings.Replace(route(port), "rules: [{", "rules: [{matches: [{path: {value: /pay}}], ", 1)
	}
	consumer := http("faces/mock", `parentRefs: [{group: "", kind: Service, name: cart, namespace: shop}], rules: [{backendRefs: [{name: admin, namespace: shop, port: 80}]}]`)
	for _, test := range []struct{ before, after, want string }{
		{route("81"), route("80"), "cart:80 100 %  →  cart-v1:8080 100 % (HTTPRoute shop/web applies now)"},
		{pay("81"), pay("80"), "cart:80 100 %  →  404 (no rule matches) (HTTPRoute shop/web applies now)"},
		{route("80"), route("81"), "cart-v1:8080 100 %  →  cart:80 100 % (HTTPRoute shop/web does not apply: "},
		{route("80") + "\n---\n" + consumer, route("80"), "cart-v1:8080 100 % (consumer HTTPRoute faces/mock was removed)"},
		{route("80"), route("80") + "\n---\n" + consumer, "(new consumer HTTPRoute faces/mock)"},
		{route("80") + "\n---\n" + strings.Replace(consumer, "shop}]", "shop, port: 81}]", 1), route("80") + "\n---\n" + consumer, "admin:80 100 % (consumer HTTPRoute faces/mock applies now)"},
	} {
		diff, err := Diff(newTable(t, by(t, validate.Policy{}), test.before), newTable(t, by(t, validate.Policy{}), test.after))
		if err != nil {
			t.Fatal(err)
		}
		if got := diff.String(); !strings.Contains(got, test.want) || strings.Contains(got, "applies now") != strings.Contains(test.want, "applies now") {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
