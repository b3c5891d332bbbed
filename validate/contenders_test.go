package validate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// labelled adds namespaces to the cluster that differ in mode.
const labelled = `
{apiVersion: v1, kind: Namespace, metadata: {name: warned, labels: {gammaguard.dev/mode: warn}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: audited, labels: {gammaguard.dev/mode: audit}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: producers, labels: {gammaguard.dev/grant: producer}}}
`

func TestContenders(t *testing.T) {
	attached := func(kind mesh.RouteKind, namespace string) *mesh.AttachedRoute {
		return &mesh.AttachedRoute{Kind: kind, Namespace: namespace, Name: "own"}
	}
	deleting := attached(mesh.HTTPRoute, "shop")
	deleting.Deleting = true
	routes := []*mesh.AttachedRoute{
		attached(mesh.HTTPRoute, "shop"), attached(mesh.TCPRoute, "shop"), deleting, attached(mesh.HTTPRoute, "faces"),
		attached(mesh.HTTPRoute, "lab"), attached(mesh.HTTPRoute, "producers"), attached(mesh.HTTPRoute, "warned"),
		attached(mesh.HTTPRoute, "audited"), attached(mesh.HTTPRoute, "nowhere"),
	}
	tests := map[string]struct {
		policy  Policy
		service string
		want    []string
	}{
		"by grant and mode": {
			service: "cart",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute warned/own", "HTTPRoute audited/own",
			},
		},
		"kinds that are not implemented": {
			policy:  Policy{RouteKinds: []mesh.RouteKind{mesh.GRPCRoute, mesh.TCPRoute}},
			service: "cart",
			want:    []string{"TCPRoute shop/own"},
		},
		"refused consumers, but where nothing is enforced": {
			service: "shy",
			want:    []string{"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute warned/own", "HTTPRoute audited/own"},
		},
		"no consumer is refused where the rule is off": {
			policy:  Policy{Actions: map[string]Action{"consumer-refused": Off}},
			service: "shy",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute warned/own", "HTTPRoute audited/own",
			},
		},
		"all hold the grant where its lack only warns": {
			policy:  Policy{Actions: map[string]Action{"grant-missing": Warn}},
			service: "cart",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute lab/own", "HTTPRoute producers/own",
				"HTTPRoute warned/own", "HTTPRoute audited/own", "HTTPRoute nowhere/own",
			},
		},
		"all hold the grant where the mode does not enforce": {
			policy:  Policy{Mode: mesh.Warn, RouteKinds: []mesh.RouteKind{mesh.TCPRoute, mesh.HTTPRoute}},
			service: "cart",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute lab/own", "HTTPRoute producers/own",
				"HTTPRoute warned/own", "HTTPRoute audited/own", "HTTPRoute nowhere/own",
			},
		},
	}
	world := newWorld(t, cluster, labelled)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			service, err := world.Service(mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: test.service})
			if err != nil {
				t.Fatal(err)
			}
			contends := test.policy.Contenders(world, service)
			var got []string
			for _, route := range routes {
				if contends(route) {
					got = append(got, route.String())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("contenders (-want +got):\n%s", diff)
			}
		})
	}
}

// The policy's methods ask for these rules by ID, and take their default to be
// deny.
func TestRulesOfContenders(t *testing.T) {
	for _, id := range []string{"grant-missing", "consumer-refused"} {
		if rule := Find(id); rule == nil || rule.Default != Deny {
			t.Errorf("rule %s: %v, want one that denies", id, rule)
		}
	}
}

func TestParentFault(t *testing.T) {
	core := ""
	ref := func(name string) mesh.ParentRef {
		return mesh.ParentRef{Group: &core, Kind: mesh.ServiceKind, Name: name}
	}
	route := &mesh.AttachedRoute{
		Kind: mesh.HTTPRoute, Namespace: "shop", Name: "own",
		Parents: []mesh.ParentRef{ref("cart"), ref("headless"), ref("missing")},
	}
	policy := &Policy{Mode: mesh.Audit, Actions: map[string]Action{"parent-headless": Off}}
	got := map[string][]*Reference{}
	for _, id := range []string{"parent-headless", "parent-not-found"} {
		for i := range route.Parents {
			finding, err := Find(id).ParentFault(policy, newWorld(t, cluster), route, i)
			if err != nil {
				t.Fatal(err)
			}
			if finding == nil {
				got[id] = append(got[id], nil)
				continue
			}
			got[id] = append(got[id], &finding.Reference)
			if finding.Rule != id || finding.Action != Deny || finding.Effect != Deny || finding.Lowered != NotLowered {
				t.Errorf("finding %+v, want one of %s that denies", finding, id)
			}
		}
	}
	about := func(name string) *Reference {
		return &Reference{Service: mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: name}}
	}
	want := map[string][]*Reference{
		"parent-headless":  {nil, about("headless"), nil},
		"parent-not-found": {nil, nil, about("missing")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the findings are about (-want +got):\n%s", diff)
	}
	world := &witness{World: newWorld(t, cluster), failing: ReadsServices}
	if finding, err := Find("parent-headless").ParentFault(policy, world, route, 1); err == nil || finding != nil {
		t.Errorf("a world that cannot be asked: %v, %v, want an error", finding, err)
	}
	if !slices.Contains(world.asked, "Service shop/headless") || len(world.asked) != 1 {
		t.Errorf("asked %v, want the one parent's Service", world.asked)
	}
}
