package traffic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestSettings: what has no effect that gammaguard knows is shown, and compared, by its
// meaning in JSON.
func TestSettings(t *testing.T) {
	w := newWorld()
	w.read(t, shop)
	whose := &mesh.AttachedRoute{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "cart"}
	table := func(retry, cors string) *Table {
		var routes Routes
		if err := routes.Add(whose, fmt.Appendf(nil, `{"kind": "HTTPRoute", "spec": {"parentRefs": [{"group": "", "kind": "Service", "name": "cart"}], "rules": [{
			"retry": %s, "sessionPersistence": null, "filters": [{"type": "CORS", "cors": %s}], "backendRefs": [{"name": "cart-v1", "port": 8080}]}]}}`, retry, cors)); err != nil {
			t.Fatal(err)
		}
		return tableOf(w, routes, Options{})
	}
	first := table(`{"codes": [500], "attempts": 3}`, `{"maxAge": 5, "allowOrigins": ["*"]}`)
	trace, err := first.Trace(ask(t))
	if err != nil {
		t.Fatal(err)
	}
	want := "  → Service cart-v1:8080 100 %\n  CORS {\"allowOrigins\":[\"*\"],\"maxAge\":5}\n  retry {\"attempts\":3,\"codes\":[500]}\n"
	if !strings.HasSuffix(trace.String(), want) {
		t.Errorf("got\n%s, want at its end\n%s", trace, want)
	}
	for changes, other := range map[int]*Table{
		0: table(`{"attempts": 3, "codes": [500]}`, `{"allowOrigins": ["*"], "maxAge": 5.0}`),
		2: table(`{"attempts": 4, "codes": [500]}`, `{"allowOrigins": ["*"], "maxAge": 5}`),
	} {
		difference, err := Diff(first, other)
		if err != nil {
			t.Fatal(err)
		}
		if got := difference.Changes(); got != changes {
			t.Errorf("%d changes, want %d:\n%s", got, changes, difference)
		}
	}
}

// TestAddRefuses: what is not a route of the Gateway API, or cannot be read, is an error.
func TestAddRefuses(t *testing.T) {
	for kind, text := range map[mesh.RouteKind]string{
		mesh.LinkerdHTTPRoute: `{"apiVersion": "policy.linkerd.io/v1beta3", "kind": "HTTPRoute"}`,
		mesh.HTTPRoute:        `{"kind": "HTTPRoute", "spec": {"rules": [{"timeouts": "1s"}]}}`,
	} {
		var routes Routes
		if routes.Add(&mesh.AttachedRoute{Kind: kind, Namespace: "shop", Name: "a"}, []byte(text)) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
