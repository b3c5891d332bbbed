package install

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/bed"
)

// TestReadme holds the README to the commands that are tested, here and in
// test/e2e, and all pages to folders that exist.
func TestReadme(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{}
	for _, page := range []string{"README.md", "docs/install.md"} {
		data, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^kubectl (apply|delete) -k (\S+)$`).FindAllStringSubmatch(string(data), -1) {
			commands[page] = append(commands[page], match[1]+" "+match[2])
		}
		folders := map[string]bool{}
		for _, match := range regexp.MustCompile(`\bconfig/[a-z._/-]+`).FindAllString(string(data), -1) {
			folders[strings.TrimRight(match, "/.")] = true
		}
		for _, folder := range slices.Sorted(maps.Keys(folders)) {
			if _, err := os.Stat(filepath.Join(root, folder)); err != nil {
				t.Errorf("%s speaks of %s: %v", page, folder, err)
			}
		}
	}
	want := map[string][]string{
		"README.md": {
			"apply config/overlays/audit-only", "apply config/default", "apply config/overlays/self-managed",
			"delete config/default",
		},
		"docs/install.md": {"apply config/default", "delete config/default"},
	}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Errorf("commands (-tested +written):\n%s", diff)
	}
}
