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
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	blocks := strings.Split(text, "```")
	for _, name := range []string{path, "config/default"} {
		for i := 1; i < len(blocks); i += 2 {
			if !strings.Contains(blocks[i], " -k "+name+"\n") {
				continue
			}
			var commands [][]string
			for _, line := range lines(strings.ReplaceAll(blocks[i], " -k "+name+"\n", " -k "+path+"\n")) {
				args, isKubectl := strings.CutPrefix(line, "kubectl ")
				if !isKubectl {
					t.Fatalf("README, %s: not a kubectl command: %s", section, line)
				}
				commands = append(commands, strings.Fields(args))
			}
			return commands
		}
	}
	t.Fatalf("README, %s: no command for %s", section, path)
	return nil
}
