package ci

import (
	"os"
	"path/filepath"
	"regexp"
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
		{"docs/ci-systems.md", `uses: (.*)`, `[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|gammaguard/gammaguard@v1\.2\.3`},
		{"docs/ci-systems.md", `repository: gammaguard/gammaguard,(.*)`, ` ref: v1\.2\.3,.*`},
		{"docs/ci-systems.md", `rev: (.*)`, `v1\.2\.3`},
		{"docs/ci-systems.md", `GAMMAGUARD_REF: (.*)`, `v1\.2\.3 #.*`},
		{"docs/ci-systems.md", `- remote: (.*)`, `https://\S+/v1\.2\.3/\.ci/gitlab\.yml`},
		{".ci/gitlab.yml", `- remote: (.*)`, `https://\S+/v1\.2\.3/\.ci/gitlab\.yml`},
		{".ci/gitlab.yml", `image: (.*)`, `golang:\S+@sha256:[0-9a-f]{64}`},
		{".ci/gitlab.yml", `\n    GAMMAGUARD_REF: (.*)`, `"" #.*`},
		{"tools/image/Dockerfile", `FROM (.*)`, `golang:\S+@sha256:[0-9a-f]{64} AS build|scratch`},
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
