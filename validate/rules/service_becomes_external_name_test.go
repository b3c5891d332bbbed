package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestServiceBecomesExternalName: the rule is about changes of Services, and finds the routes that use
// one as a parent or a backend.
func TestServiceBecomesExternalName(t *testing.T) {
	key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "cart"}
	plain, alias := &mesh.Service{Key: key, Type: mesh.ClusterIP}, &mesh.Service{Key: key, Type: mesh.ExternalName}
	engine, err := validate.New(Catalog(), &validate.Policy{Actions: map[string]validate.Action{validate.RuleServiceBecomesExternalName: validate.Deny}})
	if err != nil {
		t.Fatal(err)
	}
	change := engine.PreviewService(newWorld(t), plain, alias)
	for _, spec := range []string{
		on(service("cart")) + to(`{name: cart, port: 80}, {name: checkout, port: 80}`),
		on(service("checkout")) + mirrorTo(`{name: cart, port: 80}`),
		on(service("checkout")) + to(`{name: checkout, port: 80}`),
		`parentRefs: [{name: edge}]` + to(`{name: cart, port: 80}`),
	} {
		change.AddUser(newRoute(t, mesh.HTTPRoute, "shop", spec))
	}
	for _, test := range []struct {
		mode string
		want validate.Action
	}{{"enforce", validate.Deny}, {"warn", validate.Warn}, {"audit", validate.Audit}} {
		verdict := change.Decide(&mesh.Namespace{Name: "shop", Labels: map[string]string{mesh.ModeLabel: test.mode}}, validate.User{})
		var problems []string
		for i := range verdict.Findings {
			if f := &verdict.Findings[i]; f.Field == "spec.type" && f.Effect == test.want {
				problems = append(problems, f.Problem)
			}
		}
		want := []string{
			"HTTPRoute shop/own has this Service as a parent and a backend, which cannot be of type ExternalName",
			"HTTPRoute shop/own has this Service as a backend, which cannot be of type ExternalName",
		}
		if diff := cmp.Diff(want, problems, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("mode %s (-want +got)\n%s", test.mode, diff)
		}
	}
	for name, other := range map[string]*validate.ServiceChange{
		"it was one": engine.PreviewService(newWorld(t), alias, alias), "it is deleted": engine.PreviewService(newWorld(t), plain, nil),
		"it is none any more": engine.PreviewService(newWorld(t), alias, plain),
	} {
		if other.BecomesExternalName() {
			t.Errorf("%s: it becomes one", name)
		}
	}
	if created := engine.PreviewService(newWorld(t), nil, alias); !created.BecomesExternalName() {
		t.Error("it does not become one by its creation")
	}
}
