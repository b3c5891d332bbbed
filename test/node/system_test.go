//go:build linux

package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemoveCgroup has directories for cgroups, and a file for what the kernel keeps.
func TestRemoveCgroup(t *testing.T) {
	root := filepath.Join(t.TempDir(), "pods")
	if err := removeCgroup(root); err != nil {
		t.Errorf("there is none: %v", err)
	}
	busy := filepath.Join(root, "b", "d")
	for _, dir := range []string{filepath.Join(root, "a"), busy, filepath.Join(root, "c")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(busy, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeCgroup(root); err == nil || !strings.Contains(err.Error(), busy) || strings.Contains(err.Error(), "\n") {
		t.Errorf("want a line that names %s, got %v", busy, err)
	}
	if err := errors.Join(os.Remove(file), removeCgroup(root)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}
