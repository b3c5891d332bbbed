package ci

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestPage: the examples of docs/ci-systems.md for CI systems are YAML, and use inputs, variables,
// hooks, and files that this repository has. That the program understands what they give it
// is TestDocumentedCommands of internal/cli/command.
func TestPage(t *testing.T) {
	var action, template, hooks any
	root := decode(t, "action.yml", &action)
	decode(t, ".ci/gitlab.yml", &template)
	decode(t, ".pre-commit-hooks.yaml", &hooks)
	page, err := os.ReadFile(filepath.Join(root, "docs", "ci-systems.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## GitHub Actions\n")
	for i, block := range strings.Split(text, "```yaml\n") {
		var example any
		block, _, _ = strings.Cut(block, "```")
		if err := yaml.UnmarshalStrict([]byte(block), &example); i > 0 && err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
	}
	for _, use := range []struct{ pattern, file, has string }{
		{`uses: gammaguard/gammaguard@v1\.2\.3\n +with: {([a-z-]+):`, "action.yml", "\n  %:\n    description: "},
		{`\b(GAMMAGUARD_[A-Z]+):`, ".ci/gitlab.yml", "\n    %: "},
		{`- id: (\S+)\n`, ".pre-commit-hooks.yaml", "- id: %\n"},
		{"The hook `(\\S+)`", ".pre-commit-hooks.yaml", "- id: %\n"},
		{`gammaguard/gammaguard/v1\.2\.3/(\.\S+)\n`, "", ""},
		{`- run: \|\n +\.gammaguard/(\S+) diff `, "", ""},
	} {
		found := regexp.MustCompile(use.pattern).FindAllStringSubmatch(text, -1)
		for _, match := range found {
			file := use.file
			if file == "" {
				file = match[1]
			}
			content, err := os.ReadFile(filepath.Join(root, file))
			if err != nil || !strings.Contains(string(content), strings.ReplaceAll(use.has, "%", match[1])) {
				t.Errorf("%s: %s does not have %q: %v", match[0], file, match[1], err)
			}
		}
		if len(found) == 0 {
			t.Errorf("the page has no %s", use.pattern)
		}
	}
}
