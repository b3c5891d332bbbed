package source_test

import (
	"os"
	"slices"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// TestSplitKustomizations: a path is a kustomization if it has one, or is its file, however the path is written.
func TestSplitKustomizations(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"plain", "built"} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"plain/a.yaml", "built/kustomization.yaml"} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := []string{".", "./", "plain", "plain/", "./plain/", "plain/.", "plain/a.yaml", "..", "../", "none/"}
	others, kustomizations := source.SplitKustomizations(plain)
	if !slices.Equal(others, plain) || kustomizations != nil {
		t.Errorf("%q, %q", others, kustomizations)
	}
	others, kustomizations = source.SplitKustomizations([]string{"built", "built/", "./built", "built/kustomization.yaml", "./built/./kustomization.yaml"})
	if others != nil || !slices.Equal(kustomizations, []string{"built", "built/", "./built", "built", "built"}) {
		t.Errorf("%q, %q", others, kustomizations)
	}
	t.Chdir("built")
	if others, kustomizations = source.SplitKustomizations([]string{".", "./", "kustomization.yaml"}); others != nil || len(kustomizations) != 3 {
		t.Errorf("%q, %q", others, kustomizations)
	}
}
