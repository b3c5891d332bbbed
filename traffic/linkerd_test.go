package traffic

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestAcrossScopes: Linkerd compares producer and consumer routes, so that the routes of the most specific kind take a port
// from those of the other scopes too.
func TestAcrossScopes(t *testing.T) {
	const onShop = `parentRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80}]`
	const toAdmin = `rules: [{backendRefs: [{name: admin, namespace: shop, port: 80}]}]`
	linkerd := by(t, validate.Policy{Mesh: mesh.FindProfile(mesh.Linkerd)})
	web, rpc := http("shop/web", onShop+`, rules: [{`+toV1+`}]`), object("GRPCRoute faces/rpc", onShop+`, `+toAdmin)
	mock, calls := http("faces/mock", onShop+`, `+toAdmin), object("GRPCRoute shop/calls", onShop+`, rules: [{`+toV1+`}]`)
	for _, test := range []struct {
		name      string
		manifests []string
		from      string
		want      string
	}{
		{"other clients, without the producer route", []string{web, rpc}, "shop", "not taken: HTTPRoute shop/web: the port belongs to GRPCRoute faces/rpc"},
		{"the consumer's clients", []string{web, rpc}, "faces", "GRPCRoute faces/rpc rule[0] match[0]  (consumer of faces)"},
		{"a consumer route that loses", []string{calls, mock}, "faces", "GRPCRoute shop/calls rule[0] match[0]  (consumer of faces: none; producer)"},
		{"and why", []string{calls, mock}, "faces", "not taken: HTTPRoute faces/mock: the port belongs to GRPCRoute shop/calls"},
	} {
		trace, err := newTable(t, linkerd, test.manifests...).Trace(ask(t, "grpc a.B/C", "from "+test.from))
		if err != nil {
			t.Fatal(err)
		}
		if got := trace.String(); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	diff, err := Diff(newTable(t, linkerd, web), newTable(t, linkerd, web, rpc))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := diff.String(), "cart-v1:8080 100 %  →  cart:80 100 %"; !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
