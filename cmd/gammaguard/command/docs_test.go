package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestDocumentedCommands: each command line of gammaguard in the documentation is one that
// the program understands.
func TestDocumentedCommands(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, page := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```") {
			for line := range strings.Lines(block) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
				if rest, ok := strings.CutPrefix(line, "go run ./cmd/gammaguard "); ok {
					line = "gammaguard " + rest
				}
				if i%2 == 0 || !strings.HasPrefix(line, "gammaguard ") {
					continue
				}
				lines++
				if err := understands(t, line); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
		}
	}
	if lines < 20 {
		t.Errorf("found %d command lines, which are too few to be all", lines)
	}
}

// understands parses the command line, up to a pipe, a redirection or a comment.
func understands(t *testing.T, line string) error {
	t.Helper()
	for _, end := range []string{" | ", " > ", " # ", " && ", ";"} {
		line, _, _ = strings.Cut(line, end)
	}
	args := words(t, line)[1:]
	root := New("gammaguard", genericiooptions.IOStreams{})
	root.InitDefaultHelpCmd()
	cmd, args, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestReadmeTry: what the README shows first is what the command prints, from lines that
// may end in "...".
func TestReadmeTry(t *testing.T) {
	t.Chdir("../../..")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(text), "$ go run ./cmd/gammaguard check -f examples/shop\n")
	shown, _, _ = strings.Cut(shown, "```")
	got := run(t, "", "check", "-f", "examples/shop")
	for line := range strings.Lines(shown) {
		if line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "..."); !strings.Contains("\n"+got.stdout, "\n"+line) {
			t.Errorf("README.md shows\n%s\nwhich is not in\n%s", line, got.stdout)
		}
	}
	if !found || got.code != ExitFindings {
		t.Errorf("found in README.md: %v, exit code %d", found, got.code)
	}
}
