package validate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// labeled adds namespaces to the cluster that differ in mode.
const labeled = `
{apiVersion: v1, kind: Namespace, metadata: {name: warned, labels: {gammaguard.dev/mode: warn}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: audited, labels: {gammaguard.dev/mode: audit}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: producers, labels: {gammaguard.dev/grant: producer}}}
`

func TestEligible(t *testing.T) {
	attached := func(kind mesh.RouteKind, namespace string) *mesh.AttachedRoute {
		return &mesh.AttachedRoute{Kind: kind, Namespace: namespace, Name: "own"}
	}
	routes := []*mesh.AttachedRoute{
		attached(mesh.HTTPRoute, "shop"), attached(mesh.TCPRoute, "shop"), attached(mesh.HTTPRoute, "faces"),
		attached(mesh.HTTPRoute, "lab"), attached(mesh.HTTPRoute, "producers"), attached(mesh.HTTPRoute, "warned"),
		attached(mesh.HTTPRoute, "audited"), attached(mesh.HTTPRoute, "nowhere"),
	}
	tests := map[string]struct {
		policy  validate.Policy
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
			policy:  validate.Policy{RouteKinds: []mesh.RouteKind{mesh.GRPCRoute, mesh.TCPRoute}},
			service: "cart",
			want:    []string{"TCPRoute shop/own"},
		},
		"refused consumers, but where nothing is enforced": {
			service: "shy",
			want:    []string{"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute warned/own", "HTTPRoute audited/own"},
		},
		"no consumer is refused where the rule is off": {
			policy:  validate.Policy{Actions: map[string]validate.Action{"consumer-refused": validate.Off}},
			service: "shy",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute warned/own", "HTTPRoute audited/own",
			},
		},
		"all hold the grant where its lack only warns": {
			policy:  validate.Policy{Actions: map[string]validate.Action{"grant-missing": validate.Warn}},
			service: "cart",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute lab/own", "HTTPRoute producers/own",
				"HTTPRoute warned/own", "HTTPRoute audited/own", "HTTPRoute nowhere/own",
			},
		},
		"all hold the grant where the mode does not enforce": {
			policy:  validate.Policy{Mode: mesh.Warn, RouteKinds: []mesh.RouteKind{mesh.TCPRoute, mesh.HTTPRoute}},
			service: "cart",
			want: []string{
				"HTTPRoute shop/own", "TCPRoute shop/own", "HTTPRoute faces/own", "HTTPRoute lab/own", "HTTPRoute producers/own",
				"HTTPRoute warned/own", "HTTPRoute audited/own", "HTTPRoute nowhere/own",
			},
		},
	}
	world := newWorld(t, cluster, labeled)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: test.service}
			view := newEngine(t, &test.policy).Table(world, key)
			var got []string
			for _, route := range routes {
				eligible, err := view.Eligible(route)
				if err != nil {
					t.Fatal(err)
				}
				if eligible {
					got = append(got, route.String())
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("eligible (-want +got):\n%s", diff)
			}
		})
	}
}

// Whether a fault shows in status goes by the action of its rule, and by the mode of
// the route's namespace.
func TestMarked(t *testing.T) {
	all := []validate.Fault{validate.GrantMissing, validate.ConsumerRefused, validate.ParentNotFound, validate.ParentExternalName, validate.ParentHeadless, validate.ParentPortNotFound, validate.ParentProtocolMismatch, validate.PortsLost}
	held := all[1:]
	set := func(action validate.Action) map[string]validate.Action {
		actions := map[string]validate.Action{}
		for _, rule := range rules.Catalog() {
			actions[rule.ID] = action
		}
		return actions
	}
	shop := &mesh.Namespace{Name: "shop"}
	labeled := func(mode string) *mesh.Namespace {
		return &mesh.Namespace{Name: "shop", Labels: map[string]string{mesh.ModeLabel: mode}}
	}
	for name, test := range map[string]struct {
		policy    validate.Policy
		namespace *mesh.Namespace
		want      []validate.Fault
	}{
		"by default":              {validate.Policy{}, shop, all},
		"no such namespace":       {validate.Policy{}, nil, all},
		"mode warn":               {validate.Policy{}, labeled("warn"), held},
		"mode audit":              {validate.Policy{}, labeled("audit"), nil},
		"the policy's mode":       {validate.Policy{Mode: mesh.Audit}, shop, nil},
		"an exempt namespace":     {validate.Policy{Exemptions: validate.Exemptions{Namespaces: []string{"shop"}}}, shop, held},
		"another exempt":          {validate.Policy{Exemptions: validate.Exemptions{Namespaces: []string{"store"}}}, shop, all},
		"every rule warns":        {validate.Policy{Actions: set(validate.Warn)}, shop, held},
		"every rule audits":       {validate.Policy{Actions: set(validate.Audit)}, shop, nil},
		"every rule is off":       {validate.Policy{Actions: set(validate.Off)}, shop, nil},
		"one rule is off":         {validate.Policy{Actions: map[string]validate.Action{"parent-not-found": validate.Off}}, shop, append(slices.Clone(all[:2]), all[3:]...)},
		"route-conflict is audit": {validate.Policy{Actions: map[string]validate.Action{"route-conflict": validate.Audit}}, shop, all[:7]},
	} {
		engine := newEngine(t, &test.policy)
		var got []validate.Fault
		for _, fault := range all {
			if engine.Marked(test.namespace).Has(fault) {
				got = append(got, fault)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: marked (-want +got):\n%s", name, diff)
		}
	}
}
