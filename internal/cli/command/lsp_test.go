package command

import (
	"fmt"
	"strings"
	"testing"
)

// TestLSPExamples runs the examples of lsp's help, each for a client that says hello and
// goodbye.
func TestLSPExamples(t *testing.T) {
	folder := written(t, map[string]string{
		"guard.yaml":     "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n",
		"crds/crds.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: httproutes.gateway.networking.k8s.io}\n",
	})
	var session strings.Builder
	for _, message := range []string{
		`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "rootUri": "file://` + folder + `", "capabilities": {}}}`,
		`{"jsonrpc": "2.0", "method": "initialized", "params": {}}`,
		`{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}`,
		`{"jsonrpc": "2.0", "method": "exit"}`,
	} {
		fmt.Fprintf(&session, "Content-Length: %d\r\n\r\n%s", len(message), message)
	}
	ran := 0
	t.Chdir(folder)
	for line := range strings.Lines(lspExamples) {
		args := strings.Fields(line)
		if len(args) == 0 || args[0] != "gammaguard" {
			continue
		}
		ran++
		got := run(t, session.String(), args[1:]...)
		if got.code != ExitClean || got.stderr != "" || !strings.Contains(got.stdout, `"name":"gammaguard"`) || !strings.Contains(got.stdout, `"id":2`) {
			t.Errorf("%s: %+v", strings.TrimSpace(line), got)
		}
	}
	if ran == 0 {
		t.Error("no example was run")
	}
	if got := run(t, "no message", "lsp"); got.code != ExitUsage || got.stderr == "" {
		t.Errorf("what is no message: %+v", got)
	}
}
