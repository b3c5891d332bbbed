package rollouts

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// groups are those that the writers give to a Service. Flagger's documentation has core for
// Linkerd.
var groups = map[string]*gatewayv1.Group{
	"right": new(gatewayv1.Group), "core": new(gatewayv1.Group("core")), "omitted": nil,
}

// plays are a writer with a group each, by the name of the route.
var plays = []string{"flagger-right", "flagger-core", "argo-right", "argo-omitted", "flux-right", "flux-omitted"}

// TestRollouts plays three writers, in each mode of adoption, under each profile. Nothing may
// differ from the same run without gammaguard but what is refused, and what is set and said.
func TestRollouts(t *testing.T) {
	namespace(t, "without", nil)
	without := map[string][]string{}
	for name, w := range play(t, "without") {
		without[name] = w.journal
	}
	testWithout(t, without)
	before := dormant(t)
	if err := guard.Install(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	for _, profile := range append([]mesh.ProfileName{""}, mesh.ProfileNames()...) {
		t.Run(cmp.Or(string(profile), "specification"), func(t *testing.T) {
			g, err := guard.Start(t.Context(), plane, guard.Options{
				Patient: true, // a call that is not answered in time is a mutation or an update that is missing
				Config:  "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nmode: audit\nmesh: " + cmp.Or(string(profile), `""`) + "\n",
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Run("modes", func(t *testing.T) {
				for mode, labels := range modes {
					t.Run(string(mode), func(t *testing.T) {
						t.Parallel()
						testMode(t, profile, mode, labels, without)
					})
				}
			})
			if profile == "" {
				t.Run("adoption", func(t *testing.T) { testAdoption(t, before) })
				t.Run("stored", testStored)
				t.Run("withdrawn", testWithdrawn)
			}
			if err := g.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// testWithout sees that the runs to compare with are what they should be: each tool comes to
// its end, and writes nothing twice.
func testWithout(t *testing.T, without map[string][]string) {
	t.Helper()
	ends := map[string]string{"flagger": "promoted", "argo": "0 % in generation 8", "flux": "written: false"}
	for _, name := range plays {
		tool, _, _ := strings.Cut(name, "-")
		journal := strings.Join(without[name], "\n")
		if !strings.Contains(journal, ends[tool]) {
			t.Errorf("without gammaguard, %s does not come to its end:\n%s", name, journal)
		}
		for _, never := range []string{"refused", "reset", "drift: true", "written: true", "halted"} {
			if strings.Contains(journal, never) {
				t.Errorf("without gammaguard, %s: %s:\n%s", name, never, journal)
			}
		}
	}
}

// modes are the steps of adoption, by the labels of the namespace: audit is the default of
// the configuration, and nothing is granted before mode enforce.
var modes = map[mesh.Mode]map[string]string{
	mesh.Audit:   nil,
	mesh.Warn:    {mesh.ModeLabel: string(mesh.Warn)},
	mesh.Enforce: {mesh.ModeLabel: string(mesh.Enforce), mesh.GrantLabel: string(mesh.GrantAll)},
}

func namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	c, err := plane.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
		t.Fatal(err)
	}
}

// play has each writer write its route.
func play(t *testing.T, namespace string) map[string]*writer {
	t.Helper()
	writers := map[string]*writer{}
	var files []*flux
	for _, name := range plays {
		w := newWriter(t, namespace, name)
		writers[name] = w
		tool, group, _ := strings.Cut(name, "-")
		switch tool {
		case "flagger":
			(&flagger{writer: w, group: *groups[group]}).run()
		case "argo":
			(&argo{writer: w, group: groups[group]}).run()
		case "flux":
			f := &flux{writer: w, group: groups[group]}
			f.run()
			files = append(files, f)
		}
	}
	diff(t, files)
	return writers
}

func testMode(t *testing.T, profile mesh.ProfileName, mode mesh.Mode, labels map[string]string, without map[string][]string) {
	name := cmp.Or(string(profile), "specification") + "-" + string(mode)
	namespace(t, name, labels)
	for play, w := range play(t, name) {
		t.Run(play, func(t *testing.T) {
			want := slices.Clone(without[play])
			misread := strings.HasSuffix(play, "-omitted") || strings.HasSuffix(play, "-core") && profile != mesh.Linkerd
			switch {
			case !misread || mode == mesh.Audit:
				if w.told("parent-group") {
					t.Errorf("told of its group: %q", w.warnings)
				}
			case mode == mesh.Warn:
				said := "not corrected here: kind Service is in the core group"
				if play == "flagger-core" { // in mode enforce, it is refused
					said = "would be denied: kind Service is in the core group"
				}
				if !w.told("(parent-group)") || !w.told(said) {
					t.Errorf("not told of its group: %q", w.warnings)
				}
			case play == "flagger-core": // refused, and said
				got := strings.Join(w.journal, "\n")
				if !strings.Contains(got, `set group: "" in Canary NAMESPACE/flagger-core, which writes this route (parent-group-invalid)`) || w.get() != nil {
					t.Errorf("not refused in the name of its owner:\n%s", got)
				}
				return
			default: // set, and said
				for i := range want {
					want[i] = strings.Replace(want[i], `"group":"gateway.networking.k8s.io","kind":"Service"`, `"group":"","kind":"Service"`, 1)
				}
				if !w.told("set spec.parentRefs[0].group to") {
					t.Errorf("not told of the mutation: %q", w.warnings)
				}
			}
			if mode == mesh.Audit && w.told("would be denied") {
				t.Errorf("mode audit warns: %q", w.warnings)
			}
			if diff := gocmp.Diff(want, w.journal); diff != "" {
				t.Errorf("(-without gammaguard +with it):\n%s", diff)
			}
		})
	}
}
