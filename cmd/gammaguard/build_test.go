package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func put(tb testing.TB, folder, name, format string, args ...any) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// programs is where the program is built.
var programs string

func TestMain(m *testing.M) { os.Exit(inFolder(m)) }

func inFolder(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "gammaguard-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(programs) }()
	return m.Run()
}

// buildOnce builds the program, and returns what went wrong.
var buildOnce = sync.OnceValue(func() error {
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(programs, "built"), ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

// build returns the path of the program under a name of its own.
func build(tb testing.TB, name string) string {
	tb.Helper()
	if err := buildOnce(); err != nil {
		tb.Fatal(err)
	}
	program := filepath.Join(tb.TempDir(), name)
	if err := os.Symlink(filepath.Join(programs, "built"), program); err != nil {
		tb.Fatal(err)
	}
	return program
}
