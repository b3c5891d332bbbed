package ci

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/bed"
)

// TestPins: actions of others are named by commit, images by digest, and what is taken from
// this repository by release, in what it offers and in the examples.
func TestPins(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ file, line, form string }{
		{"action.yml", `uses: (.*)`, `[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+`},
		{"docs/ci.md", `uses: (.*)`, `[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|gammaguard/gammaguard@v1\.2\.3`},
		{"docs/ci.md", `repository: gammaguard/gammaguard,(.*)`, ` ref: v1\.2\.3,.*`},
		{"docs/ci.md", `rev: (.*)`, `v1\.2\.3`},
		{"docs/ci.md", `GAMMAGUARD_REF: (.*)`, `v1\.2\.3 #.*`},
		{"docs/ci.md", `- remote: (.*)`, `https://\S+/v1\.2\.3/\.ci/gitlab\.yml`},
		{".ci/gitlab.yml", `- remote: (.*)`, `https://\S+/v1\.2\.3/\.ci/gitlab\.yml`},
		{".ci/gitlab.yml", `image: (.*)`, `golang:\S+@sha256:[0-9a-f]{64}`},
		{".ci/gitlab.yml", `\n    GAMMAGUARD_REF: (.*)`, `"" #.*`},
		{"Dockerfile", `FROM (.*)`, `golang:\S+@sha256:[0-9a-f]{64} AS build|scratch`},
	} {
		text, err := os.ReadFile(filepath.Join(root, want.file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(want.line).FindAllStringSubmatch(string(text), -1)
		for _, match := range found {
			if !regexp.MustCompile("^(" + want.form + ")$").MatchString(match[1]) {
				t.Errorf("%s: %s", want.file, match[0])
			}
		}
		if len(found) == 0 {
			t.Errorf("%s has no %s", want.file, want.line)
		}
	}
}

// TestArgumentsAreWords: a file of a pull request does not become a flag by a pattern in the
// arguments of the action or of the template.
func TestArgumentsAreWords(t *testing.T) {
	for _, use := range []struct {
		file, variable string
		step           *regexp.Regexp
	}{
		{"action.yml", "ARGS", regexp.MustCompile(`(?s)run: \|\n(.*)`)},
		{".ci/gitlab.yml", "GAMMAGUARD_ARGS", regexp.MustCompile(`(?s)(  - set -f.*?gammaguard.xml')`)},
	} {
		root, err := bed.Root()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(root, use.file))
		if err != nil {
			t.Fatal(err)
		}
		step := use.step.FindStringSubmatch(string(text))
		if step == nil {
			t.Fatalf("%s has no step", use.file)
		}
		var lines []string
		for line := range strings.Lines(step[1]) {
			line = strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "- "), "'")
			if !strings.HasPrefix(line, "git ") {
				lines = append(lines, line)
			}
		}
		folder := repository(t)
		if err := os.WriteFile(filepath.Join(folder, "-ojson=overwritten.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		code, output := bash(t, folder, []string{
			"GITHUB_ACTION_PATH=" + root, "GAMMAGUARD_FOLDER=" + root, use.variable + "=*.yaml --fail-on never", "SARIF=",
		}, lines...)
		if _, err := os.Stat(filepath.Join(folder, "overwritten.yaml")); err == nil || !strings.Contains(output, "*.yaml") {
			t.Errorf("%s: exit code %d, %v: %s", use.file, code, err, output)
		}
	}
}
