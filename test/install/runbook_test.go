package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmergency runs the commands of the runbook's emergency, while nothing runs: the
// patch and the deletion have mesh routes admitted, and the overlay ends that.
func TestEmergency(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(folder(t, ".."), "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Emergency\n")
	section, _, _ = strings.Cut(section, "\n## ")
	install(t, folder(t, "default"))
	t.Cleanup(func() { uninstall(t, folder(t, "default")) })
	wantRoutes(t, true)
	blocked := map[string]bool{}
	for line := range strings.Lines(section) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "kubectl ")
		if !ok {
			continue
		}
		words, quoted, _ := strings.Cut(strings.ReplaceAll(command, "config/default", folder(t, "default")), " '")
		args := strings.Fields(words)
		if quoted != "" {
			args = append(args, strings.TrimSuffix(quoted, "'"))
		}
		kubectl(t, args...)
		blocked[args[0]] = args[0] == "apply"
		wantRoutes(t, blocked[args[0]])
	}
	if len(blocked) != 3 {
		t.Errorf("the page has the commands %v, want patch, delete and apply", blocked)
	}
}
