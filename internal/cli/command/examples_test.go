package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckExamples runs the examples of check's help, but those that need a cluster; that of
// --watch is TestWatch's.
func TestCheckExamples(t *testing.T) {
	ran := 0
	for line := range strings.Lines(checkExamples) {
		args := strings.Fields(line)
		if len(args) == 0 || args[0] != "gammaguard" || strings.Contains(line, "--cluster") || strings.Contains(line, "--watch") {
			continue
		}
		ran++
		folder := t.TempDir()
		const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {parentRefs: [{name: cart, kind: Service}]}\n"
		for name, text := range map[string]string{
			"manifests/a.yaml": route, "main/manifests/a.yaml": route, "guard.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n",
			"overlays/production/kustomization.yaml": "resources: [a.yaml]\n", "overlays/production/a.yaml": route,
			"charts/shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "charts/shop/templates/a.yaml": route, "production.yaml": "",
		} {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := runIn(t, folder, args[1:]...); got.code == ExitUsage || got.stderr != "" {
			t.Errorf("%s: %+v", strings.TrimSpace(line), got)
		}
	}
	if ran == 0 {
		t.Error("no example was run")
	}
}
