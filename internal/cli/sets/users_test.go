package sets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"base/kustomization.yaml": "resources: [route.yaml]\n", "base/route.yaml": "", "prod/kustomization.yaml": "resources: [../base]\n",
		"files/a.yaml": "", "chart/Chart.yaml": "", "chart/templates/a.yaml": "", "whole/kept.yaml": "", "whole/aside/b.yaml": "",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	within := repository.New(root, root)
	users := sets.NewUsers([]sets.Set{
		{Kind: report.Directory, Path: at("files"), Files: []string{at("files/a.yaml")}},
		{Kind: report.Kustomization, Path: at("base"), Kustomization: at("base"), Within: within},
		{Kind: report.Kustomization, Path: at("prod"), Kustomization: at("prod"), Within: within},
		{Kind: report.Chart, Path: at("chart"), Chart: &source.Chart{Path: at("chart")}},
		{Kind: report.Directory, Path: at("whole"), Files: []string{at("whole")}, Aside: map[string]bool{at("whole/aside"): true}},
	})
	for path, want := range map[string]string{
		"files/a.yaml": "files", "files": "files", "files/b.yaml": "", "file": "",
		"base/route.yaml": "base prod", "base": "base prod", "base/other.yaml": "", "prod/kustomization.yaml": "prod",
		"chart": "chart", "chart/templates/a.yaml": "", "chart/Chart.yaml": "",
		"whole": "whole", "whole/kept.yaml": "whole", "whole/new/x.yaml": "whole", "whole/aside/b.yaml": "", "whole/aside": "",
		".": "files base prod whole",
	} {
		var names []string
		for _, set := range users.Of(at(path)) {
			names = append(names, filepath.Base(set.Path))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s is used by %q, want %q", path, got, want)
		}
	}
}
