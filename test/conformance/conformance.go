// Package conformance finds the Gateway API's conformance tests.
package conformance

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// Dir returns the folder of the Gateway API's conformance module, in the version of
// the Gateway API module, from the module cache.
func Dir(t testing.TB) string {
	t.Helper()
	const module = "sigs.k8s.io/gateway-api"
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json",
		module+"/conformance@"+strings.TrimSpace(string(version))).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		t.Fatal(err)
	}
	return downloaded.Dir
}
