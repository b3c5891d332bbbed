package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPolicy: the command writes the file of the manifests, what a configuration asks for, and
// the names for files of the API server.
func TestPolicy(t *testing.T) {
	call := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var out, complaint bytes.Buffer
		if code := Main(append([]string{"gammaguard", "policy"}, args...), strings.NewReader(""), &out, &complaint); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, complaint.String())
		}
		return out.String(), complaint.String()
	}
	names := func(text string) (all []string) {
		for _, match := range regexp.MustCompile(`(?m)^  name: (.*)$`).FindAllStringSubmatch(text, -1) {
			all = append(all, match[1])
		}
		slices.Sort(all)
		return all
	}
	file, err := os.ReadFile("../../../config/policy/route_grants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	byDefault, _ := call(ExitClean)
	if diff := cmp.Diff(string(file), byDefault); diff != "" {
		t.Errorf("config/policy/route_grants.yaml (-file +command):\n%s", diff)
	}
	if asked, _ := call(ExitClean, "-o", "yaml"); asked != byDefault {
		t.Error("-o yaml writes something else")
	}
	guard := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(guard, []byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\ngrants: {contact: '#mesh-team'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	configured, _ := call(ExitClean, "--config", guard)
	if !strings.Contains(configured, "; ask #mesh-team to ") {
		t.Errorf("the contact is not in\n%s", configured)
	}
	want := []string{"gammaguard-route-grants", "gammaguard-route-grants-audit", "gammaguard-route-grants-enforce", "gammaguard-route-grants-unlabeled", "gammaguard-route-grants-warn"}
	for _, text := range []string{byDefault, configured} {
		if diff := cmp.Diff(want, names(text)); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
	}
	static, _ := call(ExitClean, "--static")
	for i := range want {
		want[i] += ".static.k8s.io"
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, names(static)); diff != "" || strings.Count(static, "policyName: gammaguard-route-grants.static.k8s.io\n") != 4 {
		t.Errorf("--static (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"-o", "json"}, {"shop"}, {"--config", "no-such-file"}} {
		if stdout, stderr := call(ExitUsage, args...); stdout != "" || !strings.HasPrefix(stderr, "error: ") {
			t.Errorf("%v: %q, %q", args, stdout, stderr)
		}
	}
}
