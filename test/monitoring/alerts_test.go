//go:build e2e

package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// writeRules writes the rules as a file for Prometheus, each changed.
func writeRules(t *testing.T, folder string, change func(*rule)) string {
	t.Helper()
	file := readRules(t)
	for i := range file.Groups[0].Rules {
		change(&file.Groups[0].Rules[i])
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "rules.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// TestAlerts has promtool check the rules, and play testdata/alerts_test.yaml.
func TestAlerts(t *testing.T) {
	promtool(t, "check", "rules", "--lint-fatal", writeRules(t, t.TempDir(), func(*rule) {}))
	folder := t.TempDir()
	writeRules(t, folder, func(r *rule) { r.Annotations = nil })
	if err := os.WriteFile(filepath.Join(folder, "alerts_test.yaml"), []byte(read(t, "testdata/alerts_test.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "test", "rules", filepath.Join(folder, "alerts_test.yaml"))
}
