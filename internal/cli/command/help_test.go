package command

import (
	"strings"
	"testing"
)

// TestHelpListsConnectionLast: the flags of a command itself are not among kubectl's.
func TestHelpListsConnectionLast(t *testing.T) {
	got := run(t, "", "trace", "--help")
	own, connection, found := strings.Cut(got.stdout, "\n\nConnection to the cluster, as in kubectl:\n")
	for _, flag := range []string{"--filename", "--namespace", "--installation", "--path"} {
		if !strings.Contains(own, flag+" ") || strings.Contains(connection, flag+" ") {
			t.Errorf("%s is not among the command's own flags", flag)
		}
	}
	for _, flag := range []string{"--context", "--kubeconfig", "--as", "--token"} {
		if strings.Contains(own, flag+" ") || !strings.Contains(connection, flag+" ") {
			t.Errorf("%s is not among the flags of the connection", flag)
		}
	}
	if !found || got.code != ExitClean || got.stderr != "" {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "explain", "--help"); strings.Contains(got.stdout, "Connection") {
		t.Errorf("a command without a cluster: %s", got.stdout)
	}
}
