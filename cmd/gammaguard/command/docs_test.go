package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestReadmeTry: what the README shows first is what the commands print, from lines that
// may end in "...". Both commands find the same.
func TestReadmeTry(t *testing.T) {
	t.Chdir("../../..")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	got := run(t, "", "check", "-f", "examples/shop")
	tried, err := exec.CommandContext(t.Context(), "sh", "-c", "go run ./examples/try examples/shop/*.yaml").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, tried)
	}
	for command, printed := range map[string]string{
		"go run ./cmd/gammaguard check -f examples/shop": got.stdout,
		"go run ./examples/try examples/shop/*.yaml":     string(tried),
	} {
		_, shown, found := strings.Cut(string(text), "$ "+command+"\n")
		shown, _, _ = strings.Cut(shown, "```")
		for line := range strings.Lines(shown) {
			if line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "..."); !strings.Contains("\n"+printed, "\n"+line) {
				t.Errorf("README.md shows\n%s\nwhich is not in\n%s", line, printed)
			}
		}
		if !found {
			t.Errorf("README.md lacks %s", command)
		}
	}
	if got.code != ExitFindings {
		t.Errorf("exit code %d", got.code)
	}
	// The line, the action, the route, and the rule of each finding.
	finding := regexp.MustCompile(`(?m)^.*?(\d+)[: ]+(deny|warn)[: ]+(\S+ \S+?):? .*\(([a-z-]+)\)$`)
	seen := func(text string) (all [][]string) {
		for _, match := range finding.FindAllStringSubmatch(text, -1) {
			all = append(all, match[1:])
		}
		return all
	}
	checked := seen(got.stdout)
	if diff := cmp.Diff(checked, seen(string(tried))); diff != "" || len(checked) != 6 {
		t.Errorf("%d findings (-check +try)\n%s", len(checked), diff)
	}
}
