//go:build unix

package command

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestProgress: a check that takes long says on a terminal how far it is, and takes that away
// at its end. With one of its values files, the chart never comes to an end.
func TestProgress(t *testing.T) {
	folder := written(t, map[string]string{
		"chart/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "chart/values.yaml": "slow: 0\n", "chart/ci/slow.yaml": "slow: 10000\n",
		"chart/templates/a.yaml": `{{ range until (int .Values.slow) }}{{ range until 10000 }}{{ range until 10000 }}{{ end }}{{ end }}{{ end }}`,
	})
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
		code <- Main([]string{"gammaguard", "check", folder, "--build-timeout", "3s"}, strings.NewReader(""), &stdout, terminal)
	}()
	shown.await(t, "checking set 2 of 2: chart ")
	if got := <-code; got != ExitFindings || !strings.Contains(stdout.String(), "building takes longer than 3s") || strings.Contains(stdout.String(), "\x1b") {
		t.Errorf("exit code %d: %q", got, &stdout)
	}
	shown.await(t, "\r\x1b[K")
	_ = terminal.Close()
}
