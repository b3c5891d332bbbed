package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

func TestPolicy(t *testing.T) {
	c, err := Load([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := &validate.Policy{
		Mode:       mesh.Warn,
		Mesh:       mesh.FindProfile(mesh.Cilium),
		RouteKinds: []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Grants: mesh.GrantPolicy{
			Default:        mesh.GrantProducer,
			ConsumerRoutes: mesh.ConsumersDenied,
			ParentKinds:    []string{"Mesh.acme.example"},
			Selectors: []mesh.GrantSelector{
				{
					Namespaces: labels.SelectorFromSet(labels.Set{"tier": "platform"}),
					Roles:      []mesh.Role{mesh.Producer, mesh.Consumer}, RouteKinds: []mesh.RouteKind{mesh.HTTPRoute},
				},
				{Namespaces: labels.Everything(), Roles: []mesh.Role{mesh.Consumer}},
			},
		},
		Actions:            map[string]validate.Action{"parent-headless": validate.Off, "grant-missing": validate.Audit, "backend-not-permitted": validate.Warn},
		AllowedParentKinds: []string{"ServiceEntry.networking.istio.io"},
		ParentRouteKinds:   map[string][]mesh.RouteKind{"ServiceEntry.networking.istio.io": {mesh.HTTPRoute, mesh.TCPRoute}},
		Exemptions:         validate.Exemptions{Usernames: []string{"dev"}, Groups: []string{"system:masters"}, Namespaces: []string{"kube-system"}},
	}
	selectors := cmp.Comparer(func(a, b labels.Selector) bool { return a.String() == b.String() })
	profiles := cmp.Comparer(func(a, b *mesh.Profile) bool { return a == b })
	if diff := cmp.Diff(want, c.Policy(), selectors, profiles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := validate.New(rules.Catalog(), c.Policy()); err != nil {
		t.Errorf("the engine refuses it: %v", err)
	}
}

// TestRuleBeatsProfile: what the file says of a rule counts, whatever the mesh asks for.
func TestRuleBeatsProfile(t *testing.T) {
	c, err := Load([]byte(header + "mesh: kuma\nrules: {backend-not-permitted: deny}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Policy().Actions["backend-not-permitted"]; got != validate.Deny {
		t.Errorf("action %q, want deny", got)
	}
}

func TestDefaultPolicyGrantsNothing(t *testing.T) {
	policy := Default().Policy()
	namespace := &mesh.Namespace{Name: "shop", Labels: map[string]string{"kubernetes.io/metadata.name": "shop"}}
	for _, kind := range mesh.RouteKinds() {
		for _, role := range []mesh.Role{mesh.Producer, mesh.Consumer} {
			if policy.Grants.Allows(namespace, role, kind) {
				t.Errorf("%s %s is granted", role, kind)
			}
		}
	}
}

func TestPolicySelectsNothingByMistake(t *testing.T) {
	c := Default()
	c.Grants.Selectors = []GrantSelector{
		{Roles: []mesh.Role{mesh.Producer}},
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": ""}}, Roles: []mesh.Role{mesh.Producer}},
	}
	namespace := &mesh.Namespace{Name: "shop", Labels: map[string]string{"a b": ""}}
	if c.Policy().Grants.Allows(namespace, mesh.Producer, mesh.HTTPRoute) {
		t.Error("a selector that Load refuses grants")
	}
}

func TestDisabledMutations(t *testing.T) {
	if diff := cmp.Diff(map[string]bool{}, Default().DisabledMutations()); diff != "" {
		t.Errorf("default (-want +got):\n%s", diff)
	}
	c, err := Load([]byte(header + "mutations: {backend-port: off, parent-section: off, parent-group: on}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"backend-port": true, "parent-section": true}, c.DisabledMutations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
