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

// TestDocumentedCommands: each command line of gammaguard in the documentation, in code
// blocks and in sentences, is one that the program understands.
func TestDocumentedCommands(t *testing.T) {
	lines := 0
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		pages, err := filepath.Glob("../../../" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(page) == "CHANGELOG.md" {
				continue // it speaks of the past, and in parts of commands
			}
			for _, line := range documented(string(text)) {
				lines++
				if err := understands(t, line); err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
		}
	}
	if lines < 80 {
		t.Errorf("found %d command lines, which are too few to be all", lines)
	}
}

var (
	inBlock = regexp.MustCompile(`(?m)^(?:.*[ /;])?(?:cmd/)?gammaguard ([a-z].*)$`)
	inText  = regexp.MustCompile("`(?:kubectl |go run ./cmd/)?gammaguard ([a-z][^`]*)`")
	// inCI are the arguments that CI systems give to check.
	inCI = regexp.MustCompile(`\b(?:args|GAMMAGUARD_ARGS): (-[^}\n]*)`)
)

// documented returns the command lines of a page.
func documented(text string) (lines []string) {
	for i, part := range strings.Split(text, "```") {
		pattern := inText
		if i%2 == 1 {
			pattern = inBlock
		}
		for _, match := range pattern.FindAllStringSubmatch(part, -1) {
			if !strings.HasPrefix(match[0], "helm ") {
				lines = append(lines, "gammaguard "+match[1])
			}
		}
		for _, match := range inCI.FindAllStringSubmatch(part, -1) {
			lines = append(lines, "gammaguard check "+match[1])
		}
	}
	return lines
}

// understands parses the command line, up to a pipe, a redirection or a comment. A sentence
// may name a command alone.
func understands(t *testing.T, line string) error {
	t.Helper()
	for _, end := range []string{" | ", " > ", " # ", " && ", " || ", ";"} {
		line, _, _ = strings.Cut(line, end)
	}
	args := words(t, strings.ReplaceAll(line, "${{", "${X-"))[1:] // an expression of GitHub Actions
	root := New("gammaguard", genericiooptions.IOStreams{})
	root.InitDefaultHelpCmd()
	cmd, args, err := root.Find(args)
	if err != nil || len(args) == 0 {
		return err
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestReadmeTry: what the README shows first is what the commands print. Where lines, or ends of lines, are left out, it has
// "...". Both commands find the same.
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
		pattern := strings.ReplaceAll(regexp.QuoteMeta("\n"+shown), "\n"+regexp.QuoteMeta("..."), `(\n.*)+?`)
		if pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta("..."), ".+"); !regexp.MustCompile("^" + pattern + "$").MatchString("\n" + printed) {
			t.Errorf("README.md shows\n%s\nand not\n%s", shown, printed)
		}
		if !found {
			t.Errorf("README.md lacks %s", command)
		}
	}
	if got.code != ExitFindings {
		t.Errorf("exit code %d", got.code)
	}
	// The line, the action, the route, and the rule of each finding, and the message of a denial. The
	// place of a warning may be a match that is a default, which only check knows.
	finding := regexp.MustCompile(`(?m)^.*?(\d+)[: ]+(?:deny[: ]+(\S+ \S+?):? +(.*)|(warn)[: ]+(\S+ \S+?):? .*)\(([a-z-]+)\)$`)
	seen := func(text string) (all [][]string) {
		for _, match := range finding.FindAllStringSubmatch(text, -1) {
			all = append(all, match[1:])
		}
		return all
	}
	checked := seen(regexp.MustCompile("; [^ ]+:[0-9]+ needs the same change").ReplaceAllString(got.stdout, "")) // which only check knows, too
	if diff := cmp.Diff(checked, seen(string(tried))); diff != "" || len(checked) != 7 {
		t.Errorf("%d findings (-check +try)\n%s", len(checked), diff)
	}
}
