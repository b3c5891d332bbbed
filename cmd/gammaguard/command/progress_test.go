//go:build unix

package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// TestProgress: a check that takes long says on a terminal how far it is, and takes that away
// at its end. It waits here for a values file, which is a pipe.
func TestProgress(t *testing.T) {
	folder := written(t, map[string]string{
		"chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "chart/.helmignore": "ci/\n", "chart/ci/.keep": "",
	})
	slow := filepath.Join(folder, "chart", "ci", "slow.yaml")
	if err := syscall.Mkfifo(slow, 0o600); err != nil {
		t.Fatal(err)
	}
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	t.Setenv("TERM", "xterm")
	shown := newScreen()
	go func() { _, _ = io.Copy(shown, master) }()
	var stdout bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- Main([]string{"gammaguard", "check", folder}, strings.NewReader(""), &stdout, terminal)
	}()
	shown.await(t, "checking set 2 of 2: chart ")
	values, err := os.OpenFile(slow, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := values.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != ExitClean || strings.Contains(stdout.String(), "\x1b") {
		t.Errorf("exit code %d: %q", got, &stdout)
	}
	shown.await(t, "\r\x1b[K")
	_ = terminal.Close()
}
