//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/bed"
)

// readme returns the arguments of the kubectl commands that a section of the README
// gives for an overlay: those of the block that names it, or else of config/default's.
func readme(t *testing.T, section, path string) [][]string {
	t.Helper()
	blocks := blocksOf(t, "README.md", "## "+section)
	for _, name := range []string{path, "config/default"} {
		for i := 1; i < len(blocks); i += 2 {
			if !strings.Contains(blocks[i], " -k "+name+"\n") {
				continue
			}
			return kubectlArgs(t, strings.ReplaceAll(blocks[i], " -k "+name+"\n", " -k "+path+"\n"))
		}
	}
	t.Fatalf("README, %s: no command for %s", section, path)
	return nil
}

// runbook runs the kubectl commands of a section of the pages for the person on call, with the overlay in the
// place of config/default, and returns what each printed.
func runbook(t *testing.T, heading, overlay string) (printed []string) {
	t.Helper()
	for _, page := range []string{"docs/runbook.md", "docs/emergency.md"} {
		blocks := blocksOf(t, page, heading)
		for i := 1; i < len(blocks); i += 2 {
			for _, args := range kubectlArgs(t, strings.ReplaceAll(blocks[i], "config/default", overlay)) {
				printed = append(printed, mustKubectl(t, "", args...))
			}
		}
	}
	if len(printed) == 0 {
		t.Fatalf("docs/runbook.md and docs/emergency.md have no command below %q", heading)
	}
	return printed
}

// blocksOf returns a section of a page, split at its code blocks: every other part is one.
func blocksOf(t *testing.T, page, heading string) []string {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n##")
	return strings.Split(text, "```")
}

// kubectlArgs returns the arguments of the lines of a code block.
func kubectlArgs(t *testing.T, block string) (commands [][]string) {
	t.Helper()
	for _, line := range lines(block) {
		args, isKubectl := strings.CutPrefix(line, "kubectl ")
		if !isKubectl {
			t.Fatalf("not a kubectl command: %q", line)
		}
		commands = append(commands, strings.Fields(args))
	}
	return commands
}
