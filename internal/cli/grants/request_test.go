package grants

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestRequestGivesMore: a command that gives more than the request asks for does not hide it.
func TestRequestGivesMore(t *testing.T) {
	const consumer = "gives the consumer grant for "
	const restricted = "removes the restriction to HTTPRoute"
	const all = "GRPCRoute, HTTPRoute, TLSRoute, TCPRoute, UDPRoute"
	selectors := mesh.GrantPolicy{Selectors: []mesh.GrantSelector{
		{Namespaces: labels.Everything(), Roles: []mesh.Role{mesh.Consumer}, RouteKinds: []mesh.RouteKind{mesh.TCPRoute}},
	}}
	for name, test := range map[string]struct {
		request, metadata string
		policy            mesh.GrantPolicy
		want              string
	}{
		"both roles are narrowed":    {"producer", `{"labels": {"gammaguard.dev/grant": "all"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute"}}`, mesh.GrantPolicy{}, restricted + ", and " + consumer + "GRPCRoute, TLSRoute, TCPRoute, UDPRoute"},
		"the other role is narrowed": {"producer", `{"labels": {"gammaguard.dev/grant": "consumer"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute,UDPRoute"}}`, mesh.GrantPolicy{}, restricted + ", UDPRoute, and " + consumer + "GRPCRoute, TLSRoute, TCPRoute"},
		"the default is narrowed":    {"producer", `{"annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute"}}`, mesh.GrantPolicy{Default: mesh.GrantConsumer}, restricted + ", and " + consumer + "GRPCRoute, TLSRoute, TCPRoute, UDPRoute"},
		"a selector gives a part":    {"producer", `{"labels": {"gammaguard.dev/grant": "all"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute"}}`, selectors, restricted + ", and " + consumer + "GRPCRoute, TLSRoute, UDPRoute"},
		"unreadable":                 {"producer", `{"labels": {"gammaguard.dev/grant": "all"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTP"}}`, mesh.GrantPolicy{}, consumer + all},
		"none":                       {"producer", `{"labels": {"gammaguard.dev/grant": "none"}}`, selectors, consumer + "TCPRoute"},
		"all is what is asked for":   {"all", `{"labels": {"gammaguard.dev/grant": "all"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute"}}`, mesh.GrantPolicy{}, restricted},
		"the role alone is narrowed": {"producer", `{"labels": {"gammaguard.dev/grant": "producer"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute"}}`, mesh.GrantPolicy{}, restricted},
		"nothing is narrowed":        {"producer", `{"labels": {"gammaguard.dev/grant": "consumer"}}`, mesh.GrantPolicy{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &mesh.Namespace{}
			if err := json.Unmarshal([]byte(test.metadata), namespace); err != nil {
				t.Fatal(err)
			}
			namespace.Name = "shop"
			list := FindRequests([]*mesh.Namespace{namespace}, map[string]string{"shop": test.request}, &validate.Policy{Grants: test.policy})
			var table strings.Builder
			if err := list.Table(&table, &table, false); err != nil {
				t.Fatal(err)
			}
			_, note, _ := strings.Cut(table.String(), "note: ")
			want := ""
			if test.want != "" {
				want = "the command for namespace shop also " + test.want + "\n"
			}
			if note != want || !strings.Contains(table.String(), "kubectl ") {
				t.Errorf("want the note %q in\n%s", want, &table)
			}
			if want != "" {
				want = "ask a mesh admin to run this, which also " + test.want + ": kubectl "
			} else {
				want = "ask a mesh admin to run: kubectl "
			}
			request := &Request{Role: mesh.Grant(test.request)}
			if got := request.Remedy("shop", namespace, &validate.Policy{Grants: test.policy}); !strings.HasPrefix(got, want) {
				t.Errorf("want %q at the start of %q", want, got)
			}
		})
	}
}

// TestRequestUnread: a command for a namespace that the user cannot read takes no grant away.
func TestRequestUnread(t *testing.T) {
	request := &Request{Role: mesh.GrantConsumer}
	const want = "you cannot read the present grant; ask a mesh admin to run this, which kubectl refuses if there is another: kubectl label namespace shop gammaguard.dev/grant=consumer"
	if got := request.Remedy("shop", nil, &validate.Policy{}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRequestGrantedInPart: of a request that was granted in part, the rest is listed.
func TestRequestGrantedInPart(t *testing.T) {
	for _, test := range []struct{ request, metadata, want string }{
		{"all", `{}`, "all"},
		{"all", `{"labels": {"gammaguard.dev/grant": "producer"}}`, "consumer"},
		{"producer", `{"labels": {"gammaguard.dev/grant": "producer"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute,GRPCRoute"}}`, "producer (TLSRoute, TCPRoute, UDPRoute)"},
		{"all", `{"labels": {"gammaguard.dev/grant": "producer"}, "annotations": {"gammaguard.dev/grant-route-kinds": "HTTPRoute,GRPCRoute"}}`, "producer (TLSRoute, TCPRoute, UDPRoute); consumer"},
	} {
		namespace := &mesh.Namespace{}
		if err := json.Unmarshal([]byte(test.metadata), namespace); err != nil {
			t.Fatal(err)
		}
		namespace.Name = "shop"
		list := FindRequests([]*mesh.Namespace{namespace}, map[string]string{"shop": test.request}, &validate.Policy{})
		var table strings.Builder
		if err := list.Table(&table, &table, false); err != nil || !strings.Contains(table.String(), "shop        "+test.want+"  ") {
			t.Errorf("%s with %s: want %q in\n%s(%v)", test.request, test.metadata, test.want, &table, err)
		}
	}
}
