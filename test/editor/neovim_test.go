//go:build e2e

// Package editor tries the language server with an editor: Debian's Neovim, without a
// screen.
package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const manifests = `apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {gammaguard.dev/grant: all}}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs:
  - {kind: Service, name: cart, port: 80}
  rules:
  - backendRefs: [{name: cart, port: 80}]
`

// TestNeovim: findings appear as one types, hover explains them, and a quick fix is applied.
func TestNeovim(t *testing.T) {
	const timeout = 5 * time.Minute // to build, and a minute for each step, which only a failure takes
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	neovim, err := exec.LookPath("nvim")
	if err != nil {
		t.Fatalf("%v: on Debian, run .ci/e2e, which installs it, or apt-get install neovim", err)
	}
	folder := t.TempDir()
	program, file := filepath.Join(folder, "bin", "gammaguard"), filepath.Join(folder, "shop", "cart.yaml")
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../../cmd/gammaguard").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if err := os.Mkdir(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, neovim, "--headless", "-u", "NONE", "-i", "NONE", "-n",
		"-c", fmt.Sprintf("lua program, file = %q, %q", program, file), "-c", "luafile testdata/neovim.lua")
	cmd.Env = append(os.Environ(), "HOME="+folder, "XDG_STATE_HOME="+folder, "XDG_CACHE_HOME="+folder)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	var got []any
	for line := range strings.Lines(stdout.String()) {
		var value any
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, value)
	}
	const saw = 5
	if len(got) != saw {
		t.Fatalf("%v\n%s", got, &stderr)
	}
	if hover, _ := got[2].(string); !strings.Contains(hover, "**How to fix:**") {
		t.Errorf("hover: %v", got[2])
	}
	want := []any{
		[]any{"parent-group 2 14"},
		[]any{"parent-group 2 14", "parent-port-not-found 1 14"},
		got[2],
		`set spec.parentRefs[0].group to "": Service is in the core group (parent-group)`,
		`  - {kind: Service, group: "", name: cart, port: 80}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
