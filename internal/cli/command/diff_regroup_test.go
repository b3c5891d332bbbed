package command

import (
	"os"
	"strings"
	"testing"
)

// TestDiffOfFirstSets: a change that only says what the sets are changes nothing. What differs besides shows, and what no set has is noted.
func TestDiffOfFirstSets(t *testing.T) {
	deployed(t)
	web, err := os.ReadFile("plain/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	service, route, _ := strings.Cut(string(web), "---\n")
	put(t, "services/web.yaml", service)
	put(t, "routes/web.yaml", route)
	put(t, "other/other.yaml", strings.ReplaceAll(string(web), "web", "other"))
	put(t, "routes/other.yaml", strings.ReplaceAll(string(web), "web", "rest"))
	if err := os.RemoveAll("plain"); err != nil {
		t.Fatal(err)
	}
	commit(t)
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	put(t, ".gammaguard.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: CheckConfiguration\nsets: [{files: [services, routes, new]}, {files: [new]}, {kustomization: prod}, {kustomization: test}, {chart: chart}]\n")
	put(t, "new/new.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	for _, base := range []string{"--base-ref HEAD", "--base " + before, "--base-ref HEAD routes"} {
		put(t, "routes/web.yaml", route)
		got := run(t, "", strings.Fields("diff "+base)...)
		if got.code != ExitClean || strings.Contains(got.stdout, "moved from") || strings.Contains(got.stdout, "removed") ||
			strings.Contains(got.stdout, "directory other is not compared: it is still there, but no set of .gammaguard.yaml has it\n") == strings.HasSuffix(base, "routes") {
			t.Errorf("%s: %+v", base, got)
		}
		put(t, "routes/web.yaml", strings.Replace(route, "web-v1", "web-v2", 1))
		if got := run(t, "", strings.Fields("diff "+base)...); got.code != ExitFindings || !strings.Contains(got.stdout, "any  web-v1:80 100 %  →  web-v2:80 100 %") || !strings.Contains(got.stdout, "1 Service, 1 change") {
			t.Errorf("%s: %+v", base, got)
		}
	}
}
