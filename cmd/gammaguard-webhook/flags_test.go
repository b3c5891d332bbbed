package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUsage: what is wrong with the command line or the configuration is one line,
// and exit code 2.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	unknownField := write("unknown.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nmodus: warn\n")
	unknownRule := write("rule.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nrules: {no-such: deny}\n")
	noYAML := write("broken.yaml", "a: [")
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"--no-such"}, "unknown flag: --no-such"},
		{[]string{"extra"}, `unexpected argument "extra"`},
		{[]string{"--webhook-port=http"}, "webhook-port"},
		{[]string{"--webhook-port=70000"}, "--webhook-port: 70000 is not a valid port"},
		{[]string{"--webhook-bind-address=localhost"}, `--webhook-bind-address: "localhost" is not a valid IP address`},
		{[]string{"--cert-dir="}, "--cert-dir: must not be empty"},
		{[]string{"--client-allowed-names=apiserver"}, "--client-allowed-names: requires --client-ca-file"},
		{[]string{"--shutdown-delay=-1s"}, "--shutdown-delay: must not be negative: -1s"},
		{[]string{"--max-staleness=5s"}, "--max-staleness: must be 0 or at least 10s: 5s"},
		{[]string{"--metrics-bind-address=8080"}, `--metrics-bind-address: "8080" is not a valid host:port, nor 0`},
		{[]string{"--health-probe-bind-address=:http"}, `--health-probe-bind-address: "http" is not a valid port`},
		{[]string{"--pprof-bind-address=:6060"}, `--pprof-bind-address: ":6060" is not a loopback address`},
		{[]string{"--leader-elect-lease-duration=5s"}, "--leader-elect-*: the lease duration (5s) must be longer than the renew deadline (10s)"},
		{[]string{"--leader-elect-retry-period=0s"}, "the retry period must be positive"},
		{[]string{"--zap-log-level=loud"}, "zap-log-level"},
		{[]string{"--config=" + filepath.Join(dir, "missing.yaml")}, "missing.yaml: no such file"},
		{[]string{"--config=" + unknownField}, `unknown field "modus"`},
		{[]string{"--config=" + unknownRule}, "no-such"},
		{[]string{"--config=" + noYAML}, "broken.yaml"},
		{[]string{"--kubeconfig=" + filepath.Join(dir, "missing")}, "--kubeconfig " + filepath.Join(dir, "missing")},
		{[]string{"--kubeconfig=" + noYAML}, "--kubeconfig " + noYAML},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(context.Background(), test.args, &stdout, &stderr); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			line := stderr.String()
			if !strings.HasPrefix(line, "gammaguard-webhook: ") || strings.Count(line, "\n") != 1 || !strings.Contains(line, test.says) {
				t.Errorf("stderr %q, want one line that says %q", line, test.says)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout %q", stdout.String())
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for args, says := range map[string]string{
		"--help": "--cert-dir string", "-h": "gammaguard-webhook [flags]", "--version": "gammaguard-webhook ",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), strings.Fields(args), &stdout, &stderr); code != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), says) {
			t.Errorf("%s: exit code %d, %q, %q", args, code, stdout.String(), stderr.String())
		}
	}
}
