package creation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

const cluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: bare, namespace: shop}, spec: {clusterIP: None, ports: [{port: 80}]}}
`

// TestAudit: of a stored route, what is dormant is found to be so, with what would be denied of it if the route were created
// now; the rest is judged where it stands. The patch makes mesh parents of what can only be meant so.
func TestAudit(t *testing.T) {
	core, gateway, imports := "core", mesh.GatewayGroup, mesh.MulticlusterGroup
	empty, version := "", "networking.istio.io/v1"
	bare := mesh.ParentRef{Group: &empty, Kind: "Service", Name: "bare"}
	for name, test := range map[string]struct {
		profile *mesh.Profile
		refs    []mesh.ParentRef
		found   []string
		patch   string
	}{
		"live":    {nil, []mesh.ParentRef{bare}, []string{"parent-headless deny spec.parentRefs[0].name"}, ""},
		"dormant": {nil, []mesh.ParentRef{{Group: &gateway, Kind: "Service", Name: "bare"}}, []string{"parent-group-invalid dormant spec.parentRefs[0].group", "parent-headless deny spec.parentRefs[0].name"}, `[{"op":"replace","path":"/spec/parentRefs/0/group","value":""}]`},
		"mixed": {
			nil,
			[]mesh.ParentRef{{Group: &core, Kind: "service", Name: "bare"}, bare},
			[]string{
				"parent-group-invalid dormant spec.parentRefs[0].kind", "parent-headless deny spec.parentRefs[0].name",
				"parent-duplicate deny spec.parentRefs[1]", "parent-headless deny spec.parentRefs[1].name",
			},
			`[{"op":"replace","path":"/spec/parentRefs/0/kind","value":"Service"},{"op":"replace","path":"/spec/parentRefs/0/group","value":""}]`,
		},
		"read":  {mesh.FindProfile(mesh.Linkerd), []mesh.ParentRef{{Group: &core, Kind: "service", Name: "bare"}}, []string{"parent-headless deny spec.parentRefs[0].name"}, ""},
		"vague": {nil, []mesh.ParentRef{{Group: &core, Kind: "ServiceImport", Name: "bare"}}, []string{"parent-group-invalid deny spec.parentRefs[0].group"}, ""},
		"others": {
			nil,
			[]mesh.ParentRef{{Group: &version, Kind: "ServiceEntry", Name: "out"}, {Group: &gateway, Kind: "ServiceImport", Name: "far"}},
			[]string{"parent-group-invalid dormant spec.parentRefs[1].group"},
			`[{"op":"replace","path":"/spec/parentRefs/1/group","value":"` + imports + `"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine, err := validate.New(rules.Catalog(), &validate.Policy{Mesh: test.profile, Actions: map[string]validate.Action{"no-catch-all": validate.Off, "backend-missing": validate.Off, "parent-not-found": validate.Off}})
			if err != nil {
				t.Fatal(err)
			}
			judge := creation.Judge{Engine: engine}
			route := &mesh.Route{Kind: mesh.HTTPRoute, Metadata: mesh.Metadata{Namespace: "shop", Name: "r"}, Spec: mesh.RouteSpec{ParentRefs: test.refs}}
			_, verdict, err := judge.Audit(route, world(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(verdict.Findings) != len(test.found) {
				t.Fatalf("%+v", verdict.Findings)
			}
			for i, f := range verdict.Findings {
				effect := string(f.Effect)
				if f.Downgraded == validate.DowngradedByDormancy {
					effect = string(f.Downgraded)
				}
				if got := f.Rule + " " + effect + " " + f.Field; got != test.found[i] {
					t.Errorf("got %s, want %s", got, test.found[i])
				}
				if denies := f.Action == validate.Deny; denies != (effect == "deny") {
					t.Errorf("%s: action %s, effect %s", f.Rule, f.Action, effect)
				}
			}
			if patch := patch(t, judge.Waking(route)); patch != test.patch {
				t.Errorf("patch %s, want %s", patch, test.patch)
			}
			// Whoever owns the route would undo the patch.
			route.Metadata.Controllers = mesh.Controllers{{Kind: "Canary", Name: "bare", Controls: true}}
			if owned := judge.Waking(route); len(owned.Made()) > 0 || owned.Controller != "Canary shop/bare" || (len(owned.Changes) > 0) != (test.patch != "") {
				t.Errorf("owned: %+v", owned)
			}
			for _, f := range engine.Dormant(route, nil) {
				if !strings.HasSuffix(f.Remedy, " in Canary shop/bare, which writes this route") {
					t.Errorf("remedy %q", f.Remedy)
				}
			}
		})
	}
}

// patch returns the patch of the plan, or nothing where it changes nothing.
func patch(t *testing.T, plan mutate.Plan) string {
	t.Helper()
	if len(plan.Made()) == 0 {
		return ""
	}
	text, err := json.Marshal(mutate.Patch(plan.Made()))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func world(t *testing.T) *manifest.Set {
	t.Helper()
	set := manifest.NewSet(manifest.Options{Complete: true})
	objects, errs := manifest.Read("cluster.yaml", []byte(cluster), "default")
	for _, err := range errs {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := set.Put(object); err != nil {
			t.Fatal(err)
		}
	}
	return set
}
