package main_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestDependencies: the program drives the engine itself. It links neither the
// controller-runtime, nor the webhook or the status reconciler.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if len(packages) < 100 {
		t.Fatalf("only %d packages listed", len(packages))
	}
	for _, name := range packages {
		switch {
		case strings.HasPrefix(name, "sigs.k8s.io/controller-runtime"),
			name == "github.com/gammaguard/gammaguard/status",
			strings.HasPrefix(name, "github.com/gammaguard/gammaguard/webhook"),
			strings.HasPrefix(name, "github.com/gammaguard/gammaguard/certs"),
			strings.HasPrefix(name, "github.com/gammaguard/gammaguard/test/"):
			t.Errorf("links %s", name)
		}
	}
}

const faulty = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec: {parentRefs: [{kind: Service, name: cart}]}
`

// TestColor: a terminal shows colors, unless its user wants none. A pipe does not.
func TestColor(t *testing.T) {
	program := build(t, "gammaguard")
	file := filepath.Join(t.TempDir(), "cart.yaml")
	if err := os.WriteFile(file, []byte(faulty), 0o600); err != nil {
		t.Fatal(err)
	}
	const colored = "\x1b[34mchange \x1b[0m"
	for _, test := range []struct {
		name     string
		terminal bool
		env      []string
		want     bool
	}{
		{"terminal", true, []string{"TERM=xterm", "NO_COLOR="}, true},
		{"terminal, NO_COLOR", true, []string{"TERM=xterm", "NO_COLOR=1"}, false},
		{"dumb terminal", true, []string{"TERM=dumb", "NO_COLOR="}, false},
		{"pipe", false, []string{"TERM=xterm", "NO_COLOR="}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "check", "-f", file)
			cmd.Env = append(os.Environ(), test.env...)
			out := output(t, cmd, test.terminal)
			if !strings.Contains(out, "parent-group") {
				t.Fatalf("no finding: %q", out)
			}
			if got := strings.Contains(out, colored); got != test.want || got != strings.Contains(out, "\x1b") {
				t.Errorf("color: want %t: %q", test.want, out)
			}
		})
	}
}

// output runs the command, whose standard output is a terminal or a pipe.
func output(t *testing.T, cmd *exec.Cmd, terminal bool) string {
	t.Helper()
	if !terminal {
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	master, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = master.Close() }()
	out, err := io.ReadAll(master)
	if err != nil && !errors.Is(err, syscall.EIO) { // how the end of a terminal reads
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestUnreachable: a cluster that does not answer is one line, whatever client-go logs.
func TestUnreachable(t *testing.T) {
	program := build(t, "gammaguard")
	for _, command := range []string{"audit", "preflight", "detect-mesh"} {
		exit := new(exec.ExitError)
		_, err := exec.CommandContext(t.Context(), program, command, "--server", "https://127.0.0.1:1").Output()
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if said := string(exit.Stderr); !strings.HasPrefix(said, "error: ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %s", command, said)
		}
	}
}

// TestInterrupt: Ctrl-C ends a command whose API server never answers.
func TestInterrupt(t *testing.T) {
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	cmd := exec.CommandContext(t.Context(), build(t, "gammaguard"), "preflight", "--server", "http://"+silent.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	asked, err := silent.Accept() // and now it waits for the answer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = asked.Close() }()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case err := <-done:
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
				t.Errorf("it ended by itself: %v", err)
			}
			return
		case <-again.C:
			if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
}

// TestPlugin: as a plugin of kubectl the program goes by the name that one calls.
func TestPlugin(t *testing.T) {
	for name, want := range map[string]string{
		"kubectl-gammaguard": "kubectl gammaguard check -f manifests/",
		"gammaguard":         "\n  gammaguard check -f manifests/",
	} {
		out, err := exec.CommandContext(t.Context(), build(t, name), "check", "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		usage := "Usage:\n  " + strings.TrimSuffix(strings.TrimSpace(want), " -f manifests/")
		if !strings.Contains(string(out), want) || !strings.Contains(string(out), usage) {
			t.Errorf("%s: want %q and %q in\n%s", name, want, usage, out)
		}
	}
}
