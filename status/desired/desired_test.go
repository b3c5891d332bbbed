package desired_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// cluster is what most tests judge routes in. Namespaces shop and web are granted
// everything, lab nothing.
//
//go:embed testdata/cluster.yaml
var cluster string

func engine(t testing.TB, policy validate.Policy) *validate.Engine {
	t.Helper()
	engine, err := validate.New(rules.Catalog(), &policy)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func entriesOf(t testing.TB, route *mesh.AttachedRoute, world mesh.Reader, policy validate.Policy, settings desired.Settings) ([]desired.Entry, error) {
	t.Helper()
	entries, _, err := desired.NewView(engine(t, policy), world, settings).Entries(route)
	return entries, err
}

func newWorld(t testing.TB, texts ...string) *manifest.Set {
	t.Helper()
	set := manifest.NewSet(manifest.Options{Complete: true})
	for _, text := range texts {
		objects, errs := manifest.Read("test", []byte(text), "default")
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, object := range objects {
			if err := set.Put(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	return set
}

// route returns a manifest. Parents are parentRefs in YAML's flow style, without
// braces; a group or kind that they leave out is a Service's.
func route(kind mesh.RouteKind, name string, parents ...string) string {
	namespace, name, _ := strings.Cut(name, "/")
	refs := make([]string, len(parents))
	for i, parent := range parents {
		if !strings.Contains(parent, "kind:") {
			parent = "kind: Service, " + parent
		}
		if !strings.Contains(parent, "group:") {
			parent = `group: "", ` + parent
		}
		refs[i] = "{" + parent + "}"
	}
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {namespace: %s, name: %s, generation: 7}, spec: {parentRefs: [%s]}}\n---\n",
		kind, namespace, name, strings.Join(refs, ", "))
}

// find returns a route of the world.
func find(t testing.TB, world *manifest.Set, name string) *mesh.AttachedRoute {
	t.Helper()
	for _, object := range world.Routes() {
		if object.Key.Namespace+"/"+object.Key.Name == name {
			return object.Route.Attached(nil)
		}
	}
	t.Fatalf("no route %s", name)
	return nil
}

// inShort reads "0 Accepted=False Conflicted (route-conflict)": the parentRef's
// index, the condition and the rule that its message ends with.
func inShort(entries []desired.Entry) []string {
	short := []string{}
	for _, e := range entries {
		c := e.Condition
		short = append(short, fmt.Sprintf("%d %s=%s %s %s", e.Ref, c.Type, c.Status, c.Reason, c.Message[strings.LastIndex(c.Message, "("):]))
	}
	return short
}

func TestEntries(t *testing.T) {
	const conflicted, partial = "Accepted=False Conflicted (route-conflict)", "gammaguard.dev/PartiallyConflicted=True Conflicted (route-conflict)"
	grpc := route(mesh.GRPCRoute, "shop/winner", "name: cart, port: 80")
	tests := map[string]struct {
		policy validate.Policy
		// others are the other routes there.
		others string
		// route is named own.
		route string
		want  []string
	}{
		"nothing wrong": {route: route(mesh.HTTPRoute, "shop/own", "name: cart"), want: []string{}},
		"no mesh parent": {
			route: route(mesh.HTTPRoute, "shop/own", "group: gateway.networking.k8s.io, kind: Gateway, name: cart"), want: []string{},
		},
		"misgrouped and foreign parents are none of ours": {
			route: route(mesh.HTTPRoute, "lab/own", "group: core, name: missing", "group: networking.istio.io, kind: ServiceEntry, name: missing"),
			want:  []string{},
		},
		"mixed parents": {
			others: grpc,
			route:  route(mesh.HTTPRoute, "shop/own", "group: gateway.networking.k8s.io, kind: Gateway, name: front", "name: cart, port: 80"),
			want:   []string{"1 " + conflicted},
		},
		"all ports lost, by number, by name and by both": {
			others: grpc,
			route: route(mesh.HTTPRoute, "shop/own", "name: cart, port: 80", "name: cart, sectionName: http",
				"name: cart, port: 80, sectionName: http", "name: cart, port: 90"),
			want: []string{"0 " + conflicted, "1 " + conflicted, "2 " + conflicted},
		},
		"some ports lost": {others: grpc, route: route(mesh.HTTPRoute, "shop/own", "name: cart"), want: []string{"0 " + partial}},
		"each port lost to another route": {
			others: grpc + route(mesh.GRPCRoute, "shop/second", "name: cart, port: 90"),
			route:  route(mesh.HTTPRoute, "shop/own", "name: cart"), want: []string{"0 " + conflicted},
		},
		"the winner has nothing wrong": {
			others: route(mesh.HTTPRoute, "shop/loser", "name: cart"), route: route(mesh.GRPCRoute, "shop/own", "name: cart"), want: []string{},
		},
		"routes of one kind merge": {
			others: grpc, route: route(mesh.GRPCRoute, "shop/own", "name: cart"), want: []string{},
		},
		"consumers and producers do not meet": {
			others: grpc, route: route(mesh.HTTPRoute, "web/own", "name: cart, namespace: shop"), want: []string{},
		},
		"consumers of one namespace do": {
			others: route(mesh.GRPCRoute, "web/winner", "name: cart, namespace: shop, port: 90"),
			route:  route(mesh.HTTPRoute, "web/own", "name: cart, namespace: shop"), want: []string{"0 " + partial},
		},
		"a kind that is not implemented does not win": {
			policy: validate.Policy{RouteKinds: []mesh.RouteKind{mesh.HTTPRoute}},
			others: grpc, route: route(mesh.HTTPRoute, "shop/own", "name: cart"), want: []string{},
		},
		"nor does it lose, but the rest holds": {
			policy: validate.Policy{RouteKinds: []mesh.RouteKind{mesh.GRPCRoute}},
			others: grpc, route: route(mesh.HTTPRoute, "shop/own", "name: cart", "name: missing"),
			want: []string{"1 Accepted=False NoMatchingParent (parent-not-found)"},
		},
		"an ungranted route does not win": {
			others: route(mesh.GRPCRoute, "lab/winner", "name: cart, namespace: shop"),
			route:  route(mesh.HTTPRoute, "lab/own", "name: cart, namespace: shop"),
			want:   []string{"0 Accepted=False NamespaceNotGranted (grant-missing)"},
		},
		"every way not to match": {
			route: route(mesh.HTTPRoute, "shop/own", "name: missing", "name: headless", "name: alias", "name: cart, port: 8080",
				"name: cart, port: 80, sectionName: admin", "name: dns", "group: multicluster.x-k8s.io, kind: ServiceImport, name: cart"),
			want: []string{
				"0 Accepted=False NoMatchingParent (parent-not-found)", "1 Accepted=False NoMatchingParent (parent-headless)",
				"2 Accepted=False NoMatchingParent (parent-external-name)", "3 Accepted=False NoMatchingParent (parent-port-not-found)",
				"4 Accepted=False NoMatchingParent (parent-port-not-found)", "5 Accepted=False NoMatchingParent (parent-protocol-mismatch)",
				"6 Accepted=False NoMatchingParent (parent-not-found)",
			},
		},
		"the grant comes first": {
			route: route(mesh.HTTPRoute, "lab/own", "name: vault, namespace: closed", "name: missing, namespace: shop", "name: missing"),
			want: []string{
				"0 Accepted=False NamespaceNotGranted (grant-missing)", "1 Accepted=False NamespaceNotGranted (grant-missing)",
				"2 Accepted=False NamespaceNotGranted (grant-missing)",
			},
		},
		"the refusal comes second": {
			route: route(mesh.UDPRoute, "web/own", "name: vault, namespace: closed", "name: missing, namespace: closed", "name: shy, namespace: shop",
				"name: lobby, namespace: closed"),
			want: []string{
				"0 Accepted=False ConsumerRefused (consumer-refused)", "1 Accepted=False ConsumerRefused (consumer-refused)",
				"2 Accepted=False ConsumerRefused (consumer-refused)", "3 Accepted=False NoMatchingParent (parent-protocol-mismatch)",
			},
		},
		"no producer is refused": {route: route(mesh.HTTPRoute, "shop/own", "name: shy"), want: []string{}},
		"mode warn takes the grant for held, and writes the rest": {
			route: route(mesh.HTTPRoute, "warned/own", "name: cart, namespace: shop", "name: missing", "name: vault, namespace: closed"),
			want:  []string{"1 Accepted=False NoMatchingParent (parent-not-found)", "2 Accepted=False ConsumerRefused (consumer-refused)"},
		},
		"conflicts in mode warn": {
			others: route(mesh.GRPCRoute, "warned/winner", "name: cart, namespace: shop"),
			route:  route(mesh.HTTPRoute, "warned/own", "name: cart, namespace: shop"), want: []string{"0 " + conflicted},
		},
		"mode audit writes nothing": {
			others: route(mesh.GRPCRoute, "audited/winner", "name: cart, namespace: shop"),
			route:  route(mesh.HTTPRoute, "audited/own", "name: cart, namespace: shop", "name: missing"), want: []string{},
		},
		"a grant that only warns is held": {
			policy: validate.Policy{Actions: map[string]validate.Action{"grant-missing": validate.Warn, "consumer-refused": validate.Off}},
			route:  route(mesh.HTTPRoute, "lab/own", "name: cart, namespace: shop", "name: vault, namespace: closed"), want: []string{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			world := newWorld(t, cluster, test.others, test.route)
			var own *mesh.AttachedRoute
			for _, object := range world.Routes() {
				if object.Key.Name == "own" {
					own = object.Route.Attached(nil)
				}
			}
			entries, err := entriesOf(t, own, world, test.policy, desired.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, inShort(entries)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			for _, entry := range entries {
				if entry.Condition.ObservedGeneration != 7 {
					t.Errorf("observedGeneration of %v is not the route's", entry)
				}
			}
		})
	}
}

func TestMessages(t *testing.T) {
	ports := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("{name: p%d, port: %d}", i, 1000+i))
		}
		return fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: wide}, spec: {ports: [%s]}}\n---\n", strings.Join(list, ", "))
	}
	var many strings.Builder
	for i := range 9 {
		many.WriteString(route(mesh.GRPCRoute, fmt.Sprintf("shop/winner-%d", i), fmt.Sprintf("name: wide, port: %d", 1000+i)))
	}
	world := newWorld(t, cluster, ports(20), many.String(),
		route(mesh.GRPCRoute, "shop/a", "name: cart, port: 80"), route(mesh.GRPCRoute, "shop/b", "name: cart, port: 80"),
		route(mesh.HTTPRoute, "shop/all", "name: cart, port: 80"), route(mesh.TLSRoute, "shop/some", "name: cart"),
		route(mesh.TCPRoute, "shop/wide", "name: wide"))
	got := map[string]string{}
	for _, name := range []string{"shop/all", "shop/some", "shop/wide"} {
		entries, err := entriesOf(t, find(t, world, name), world, validate.Policy{}, desired.Settings{ConflictReason: "Lost"})
		if err != nil || len(entries) != 1 || entries[0].Condition.Reason != "Lost" {
			t.Fatalf("%s: %v, %v, want one entry with reason Lost", name, entries, err)
		}
		got[name] = entries[0].Condition.Message
	}
	want := map[string]string{
		"shop/all": "port 80 of Service shop/cart is held by GRPCRoute shop/a, so this HTTPRoute is ignored there; " +
			"use another port, or one route kind (route-conflict)",
		"shop/some": "port 80 of Service shop/cart is held by GRPCRoute shop/a, so this TLSRoute is ignored there, but not on port 90; " +
			"set port or sectionName, or use one route kind (route-conflict)",
		"shop/wide": "port 1000 of Service shop/wide is held by GRPCRoute shop/winner-0, port 1001 is held by GRPCRoute shop/winner-1, " +
			"port 1002 is held by GRPCRoute shop/winner-2, port 1003 is held by GRPCRoute shop/winner-3, " +
			"port 1004 is held by GRPCRoute shop/winner-4, port 1005 is held by GRPCRoute shop/winner-5 and 3 more, " +
			"so this TCPRoute is ignored there, but not on ports 1009, 1010, 1011, 1012, 1013, 1014 and 5 more; " +
			"set port or sectionName, or use one route kind (route-conflict)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestNothingDisclosed: what a namespace without the grant reads is the same
// whether or not the Service exists, and whatever it is.
func TestNothingDisclosed(t *testing.T) {
	messages := map[string]bool{}
	for _, name := range []string{"cart", "missing", "headless", "shy"} {
		world := newWorld(t, cluster, route(mesh.HTTPRoute, "lab/own", "namespace: shop, name: "+name))
		entries, err := entriesOf(t, find(t, world, "lab/own"), world, validate.Policy{}, desired.Settings{})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%s: %v, %v, want one entry", name, entries, err)
		}
		messages[entries[0].Condition.Message] = true
	}
	if len(messages) != 1 {
		t.Errorf("messages differ: %v", messages)
	}
}
