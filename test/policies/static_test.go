package policies_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/test/bed"
)

// TestStatic follows docs/policies.md: an API server that reads what 'gammaguard policy --static'
// writes at its start refuses routes without a grant, and nobody can remove that by the API.
func TestStatic(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "policies.md"))
	if err != nil {
		t.Fatal(err)
	}
	const documented = "/etc/kubernetes/admission/policies"
	block := regexp.MustCompile("(?s)```yaml\n(apiVersion: apiserver.config.k8s.io/v1\n.*?)```").FindSubmatch(page)
	if len(block) != 2 || !strings.Contains(string(block[1]), documented+"\n") ||
		!strings.Contains(string(page), "gammaguard policy --static > "+documented+"/route_grants.yaml\n") {
		t.Fatal("docs/policies.md has no configuration of admission")
	}
	dir := t.TempDir()
	var out, complaint bytes.Buffer
	if code := command.Main([]string{"gammaguard", "policy", "--static"}, strings.NewReader(""), &out, &complaint); code != command.ExitClean {
		t.Fatalf("exit code %d: %s", code, complaint.String())
	}
	policies, configuration := filepath.Join(dir, "policies"), filepath.Join(dir, "config.yaml")
	if err := os.Mkdir(policies, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(policies, "route_grants.yaml"): out.String(),
		configuration: strings.ReplaceAll(string(block[1]), documented, policies),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shared := plane
	defer func() { plane = shared }()
	plane, err = bed.Start(t.Context(), bed.Options{APIServerFlags: map[string][]string{
		"admission-control-config-file": {configuration}, "feature-gates": {"ManifestBasedAdmissionControlConfig=true"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	}()
	kubectl(t, objects, "apply", "-f", "-")
	said, err := create(t, "ways-none", cart)
	want := "ValidatingAdmissionPolicy 'gammaguard-route-grants.static.k8s.io' with binding 'gammaguard-route-grants-unlabeled.static.k8s.io' denied request: " +
		"spec.parentRefs[0]: Forbidden: namespace ways-none lacks the producer grant for HTTPRoute; ask a mesh admin to run: " +
		"kubectl label namespace ways-none gammaguard.dev/grant=producer; for a Service elsewhere, set namespace in the parentRef (grant-missing)\n"
	if err == nil || !strings.HasSuffix(said, want) {
		t.Errorf("without a grant: %v: %q, want %q", err, said, want)
	}
	if said, err := create(t, "ways", cart); err != nil {
		t.Errorf("with a grant: %s", said)
	}
	if policies := kubectl(t, "", "get", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name"); strings.Contains(policies, "route-grants") {
		t.Errorf("the API has %s", policies)
	}
	if _, said, err := plane.Kubectl(t.Context(), out.String(), "create", "-f", "-"); err == nil || !strings.Contains(fmt.Sprint(said), "static.k8s.io") {
		t.Errorf("the API takes them: %v, %s", err, said)
	}
}
