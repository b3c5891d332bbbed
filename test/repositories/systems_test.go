//go:build unix

package repositories

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/ci"
)

// script is what is run in a repository; plain, if it is a check without flags, in text.
type script struct {
	ci.Script
	plain bool
}

// collect takes the reports away, unless they are the repository's.
func (s *script) collect(g *ground) {
	g.t.Helper()
	for _, name := range s.Reports {
		path := filepath.Join(g.root, s.Folder, name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			g.must(os.Remove(path))
		}
	}
}

// systems are what pre-commit, GitHub, and GitLab run, each line of it: of a copy of this repository
// that is built already, so that the programs that build it do nothing. test/ci has them build.
func systems(t *testing.T) []script {
	t.Helper()
	root, err := bed.Root()
	must(t, err)
	folder := t.TempDir()
	offered, built := filepath.Join(folder, "offered"), filepath.Join(folder, "built")
	must(t, errors.Join(os.MkdirAll(filepath.Join(offered, "bin"), 0o750), os.Mkdir(built, 0o750)))
	must(t, os.CopyFS(filepath.Join(offered, ".ci"), os.DirFS(filepath.Join(root, ".ci"))))
	must(t, os.Symlink(program, filepath.Join(offered, "bin", "gammaguard")))
	for _, name := range []string{"go", "make"} {
		must(t, os.Symlink("/bin/true", filepath.Join(built, name)))
	}
	published := filepath.Join(folder, "offered.git")
	must(t, ci.Publish(t.Context(), published, "published", offered))
	var all []script
	add := func(s *ci.Script, err error) {
		must(t, err)
		s.Environment = append(s.Environment, "PATH="+built+string(os.PathListSeparator)+os.Getenv("PATH"))
		all = append(all, script{*s, s.Name == "the pre-commit hook gammaguard"})
	}
	var hooks []ci.Hook
	must(t, ci.Decode(root, ".pre-commit-hooks.yaml", &hooks))
	for i := range hooks {
		add(hooks[i].Script(offered))
	}
	var action ci.Action
	must(t, ci.Decode(root, "action.yml", &action))
	add(action.Script(offered, map[string]string{"sarif": "gammaguard.sarif"}))
	var template ci.Template
	must(t, ci.Decode(root, ".ci/gitlab.yml", &template))
	add(template.Script(published, "published", ""), nil)
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
