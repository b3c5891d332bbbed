package labels_test

import (
	"maps"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// change is a change of guarded labels and annotations, which are listed in changed.
type change struct {
	name          string
	before, after map[string]string
	changed       string
}

func changes() []change {
	type labels = map[string]string // and annotations
	return []change{
		{"add the grant", labels{}, labels{mesh.GrantLabel: "producer"}, mesh.GrantLabel},
		{"change the grant", labels{mesh.GrantLabel: "none"}, labels{mesh.GrantLabel: "all"}, mesh.GrantLabel},
		{"remove the grant", labels{mesh.GrantLabel: "none", "team": "a"}, labels{"team": "a"}, mesh.GrantLabel},
		{"add the mode", labels{}, labels{mesh.ModeLabel: "audit"}, mesh.ModeLabel},
		{"remove the mode", labels{mesh.ModeLabel: "enforce"}, labels{}, mesh.ModeLabel},
		{"change consumer routes", labels{mesh.ConsumerRoutesLabel: "deny"}, labels{mesh.ConsumerRoutesLabel: "allow"}, mesh.ConsumerRoutesLabel},
		{"add an annotation", labels{}, labels{routesFrom: "a=b"}, routesFrom},
		{"change an annotation", labels{routeKinds: "HTTPRoute"}, labels{routeKinds: "GRPCRoute"}, routeKinds},
		{"remove an annotation", labels{routesFrom: "a=b", "team": "a"}, labels{"team": "a"}, routesFrom},
		{"add the kinds of the grant", labels{}, labels{grantKinds: "HTTPRoute"}, grantKinds},
		{"change the kinds of the grant", labels{grantKinds: "HTTPRoute"}, labels{grantKinds: "TCPRoute"}, grantKinds},
		{"add a label that only metrics need", labels{}, labels{scrape: "allow"}, scrape},
		{"remove a label that only metrics need", labels{scrape: "allow", "team": "a"}, labels{"team": "a"}, scrape},
		{"add a key in another case", labels{}, labels{inCapitals: "all"}, inCapitals},
		{
			"all five",
			labels{mesh.GrantLabel: "none", mesh.ModeLabel: "enforce"},
			labels{mesh.GrantLabel: "all", mesh.ConsumerRoutesLabel: "allow", routesFrom: "a=b", routeKinds: "HTTPRoute"},
			strings.Join([]string{mesh.GrantLabel, mesh.ModeLabel, mesh.ConsumerRoutesLabel, routesFrom, routeKinds}, ", "),
		},
	}
}

// TestChange makes every change in every way, as one who may do anything with
// namespaces, and as one who is a mesh admin besides.
func TestChange(t *testing.T) {
	editor, boss := mustClient(t, "editor"), mustClient(t, "boss")
	for _, way := range ways() {
		for _, change := range changes() {
			t.Run(way.name+"/"+change.name, func(t *testing.T) {
				n := stored(t, change.before)
				wantRefusal(t, relabel(t, editor, way, n.Name, change.after), refusal("editor", change.changed, n.Name))
				wantValues(t, n.Name, change.before)
				if err := relabel(t, boss, way, n.Name, change.after); err != nil {
					t.Fatalf("a mesh admin is refused: %v", err)
				}
				wantValues(t, n.Name, change.after)
			})
		}
	}
}

// TestOtherEdits: who is no mesh admin may edit what else there is.
func TestOtherEdits(t *testing.T) {
	editor := mustClient(t, "editor")
	for _, way := range ways() {
		for name, guarded := range map[string]map[string]string{
			"not labeled": {},
			"labeled":     {mesh.GrantLabel: "all", mesh.ModeLabel: "warn", routesFrom: "a=b"},
		} {
			t.Run(way.name+"/"+name, func(t *testing.T) {
				n := stored(t, guarded)
				want := maps.Clone(guarded)
				want["team"] = "cart"
				if err := relabel(t, editor, way, n.Name, want); err != nil {
					t.Fatal(err)
				}
				wantValues(t, n.Name, want)
			})
		}
	}
}

// TestUnknownValueFromBefore: a label that was there before the policy, with an
// unknown value, is in nobody's way, and is a mesh admin's to fix.
func TestUnknownValueFromBefore(t *testing.T) {
	editor, boss, update := mustClient(t, "editor"), mustClient(t, "boss"), ways()[0]
	edited := map[string]string{mesh.GrantLabel: "some", "team": "cart"}
	if err := relabel(t, editor, update, "legacy", edited); err != nil {
		t.Errorf("an edit beside it: %v", err)
	}
	wantValues(t, "legacy", edited)
	wantRefusal(t, relabel(t, editor, update, "legacy", map[string]string{}), refusal("editor", mesh.GrantLabel, "legacy"))
	if err := relabel(t, boss, update, "legacy", map[string]string{mesh.GrantLabel: "none"}); err != nil {
		t.Errorf("a mesh admin fixes it: %v", err)
	}
}

// TestUnknownValues: nobody may set them, a mesh admin neither.
func TestUnknownValues(t *testing.T) {
	boss := mustClient(t, "boss")
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			n := stored(t, map[string]string{mesh.GrantLabel: "none"})
			err := relabel(t, boss, way, n.Name, map[string]string{mesh.GrantLabel: "none", mesh.ModeLabel: "", mesh.ConsumerRoutesLabel: "yes"})
			want := `namespace "` + n.Name + `" has labels of unknown value; gammaguard.dev/mode is "", known are enforce, warn, audit; ` +
				`gammaguard.dev/consumer-routes is "yes", known are allow, deny`
			if !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			wantValues(t, n.Name, map[string]string{mesh.GrantLabel: "none"})
		})
	}
}

func TestCreateLabeled(t *testing.T) {
	editor, boss := mustClient(t, "editor"), mustClient(t, "boss")
	for _, label := range []struct{ key, value string }{
		{mesh.GrantLabel, "none"}, {mesh.ModeLabel, "enforce"}, {mesh.ConsumerRoutesLabel, "deny"},
	} {
		create := func(c client.Client) error {
			return c.Create(t.Context(), namespace("created-"+label.value, label.key, label.value))
		}
		wantRefusal(t, create(editor), refusal("editor", label.key, "created-"+label.value))
		if err := create(boss); err != nil {
			t.Errorf("a mesh admin is refused: %v", err)
		}
	}
	if err := editor.Create(t.Context(), namespace("created-bare", "team", "cart")); err != nil {
		t.Errorf("without our labels: %v", err)
	}
	if err := apply(t.Context(), editor, namespace("created-by-apply", mesh.GrantLabel, "all")); !apierrors.IsForbidden(err) {
		t.Errorf("created by server-side apply: got %v", err)
	}
	if err := boss.Create(t.Context(), namespace("created-unknown", mesh.GrantLabel, "some")); !apierrors.IsInvalid(err) {
		t.Errorf("an unknown value, as a mesh admin: got %v", err)
	}
	named := namespace("", mesh.GrantLabel, "all")
	named.GenerateName = "created-"
	err := editor.Create(t.Context(), named)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `of namespace "created-`) {
		t.Errorf("with generateName: got %v", err)
	}
}

// TestDelete: a labeled namespace can be deleted and finalized by who is no mesh
// admin, as the namespace controller does.
func TestDelete(t *testing.T) {
	editor := mustClient(t, "editor")
	n := stored(t, map[string]string{mesh.GrantLabel: "all"})
	if err := editor.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := editor.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
		t.Fatal(err)
	}
	n.Spec.Finalizers = nil
	if err := editor.SubResource("finalize").Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := editor.Get(t.Context(), client.ObjectKeyFromObject(n), n); !apierrors.IsNotFound(err) {
		t.Errorf("still there: %v", err)
	}
}

// TestKubectlLabel is what a mesh admin types, with the rights of the ClusterRole
// and no others.
func TestKubectlLabel(t *testing.T) {
	n := stored(t, nil)
	label := func(user string, labels ...string) (stdout, stderr string) {
		stdout, stderr, _ = plane.Kubectl(t.Context(), "", append([]string{"label", "namespace", n.Name, "--as", user}, labels...)...)
		return stdout, stderr
	}
	_, stderr := label("editor", "gammaguard.dev/grant=producer")
	if want := "Error from server (Forbidden): " + refusal("editor", mesh.GrantLabel, n.Name); strings.TrimSpace(stderr) != want {
		t.Errorf("editor sees\n%s\nwant\n%s", stderr, want)
	}
	for _, labels := range [][]string{
		{"gammaguard.dev/grant=producer"},
		{"gammaguard.dev/grant=all", "--overwrite"},
		{"gammaguard.dev/grant-"},
	} {
		if stdout, stderr := label("mesh-admin", labels...); stderr != "" || !strings.HasPrefix(stdout, "namespace/"+n.Name) {
			t.Errorf("kubectl label %v: mesh admin sees\n%s%s", labels, stdout, stderr)
		}
	}
	wantValues(t, n.Name, nil)
}
