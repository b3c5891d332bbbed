package command

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOverlaysOfOverlays: an overlay that another one is built on is a set, too, where it is probably deployed: the other one has another namespace, or is
// beside it, and its own base is not. A base, a layer, and what others only put together are none.
func TestOverlaysOfOverlays(t *testing.T) {
	const base = "resources: [web.yaml]"
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"beside": {map[string]string{"base": base, "overlays/prod": "resources: [../../base]", "overlays/prod-eu": "resources: [../prod]"}, []string{"overlays/prod", "overlays/prod-eu"}},
		"another namespace": {
			map[string]string{"base": base, "prod": "{resources: [../base], namespace: prod}", "eu": "{resources: [../prod], namespace: eu}"}, []string{"eu", "prod"},
		},
		"a layer":             {map[string]string{"base": base, "layers/prod": "resources: [../../base]", "clusters/eu": "resources: [../../layers/prod]"}, []string{"clusters/eu"}},
		"all beside":          {map[string]string{"base": base, "common": "resources: [../base]", "prod": "resources: [../common]"}, []string{"prod"}},
		"a base of parts":     {map[string]string{"base": "{resources: [web], namespace: shop}", "base/web": base, "prod": "{resources: [../base], namespace: prod}"}, []string{"prod"}},
		"a base, renamed":     {map[string]string{"base": "{" + base + ", namespace: shop}", "prod": "{resources: [../base], namespace: prod}"}, []string{"prod"}},
		"a component":         {map[string]string{"base": base, "more": "{apiVersion: kustomize.config.k8s.io/v1alpha1, kind: Component, namePrefix: x-}", "o/prod": "{resources: [../../base], components: [../../more]}"}, []string{"o/prod"}},
		"used by a component": {map[string]string{"base": base, "o/prod": "resources: [../../base]", "o/more": "{kind: Component, resources: [../prod]}", "o/x": "components: [../more]"}, []string{"o/x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for folder, kustomization := range tt.files {
				put(t, folder+"/kustomization.yaml", kustomization)
				if strings.Contains(kustomization, base) {
					put(t, folder+"/web.yaml", orphan)
				}
			}
			r, _ := checkJSON(t, "")
			var found []string
			for i := range r.Sets {
				found = append(found, r.Sets[i].Path)
			}
			if diff := cmp.Diff(tt.want, found); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestDiffOfOverlayOnOverlay: an overlay that is built on another one changes nothing of that, nor does one that is built on it no longer.
func TestDiffOfOverlayOnOverlay(t *testing.T) {
	t.Chdir(t.TempDir())
	to := func(port string) string {
		return ", patches: [{target: {kind: HTTPRoute}, patch: '- {op: replace, path: /spec/rules/0/filters/0/requestRedirect/port, value: " + port + "}'}]}"
	}
	put(t, "base/kustomization.yaml", "resources: [web.yaml]")
	route, _, _ := strings.Cut(orphan, "---\n")
	put(t, "base/web.yaml", route)
	put(t, "overlays/prod/kustomization.yaml", "{resources: [../../base], namespace: prod}")
	commit(t)
	put(t, "overlays/eu/kustomization.yaml", "{resources: [../prod], namespace: eu"+to("83"))
	diff := func(name, changed, same string) {
		t.Helper()
		got := run(t, "", "diff", "--base-ref", "HEAD")
		if got.code != ExitFindings || !strings.Contains(got.stdout, "(kustomization "+changed+")\n") || strings.Contains(got.stdout, same) || got.stderr != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	diff("one more", "overlays/eu", "overlays/prod")
	commit(t)
	put(t, "overlays/prod/kustomization.yaml", "{resources: [../../base], namespace: prod"+to("82"))
	diff("a change of the lower one that the upper one hides", "overlays/prod", "overlays/eu")
	commit(t)
	if err := os.RemoveAll("overlays/eu"); err != nil {
		t.Fatal(err)
	}
	diff("no more", "HEAD:overlays/eu", "overlays/prod")
}
