package install

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/check/grants"
	"github.com/gammaguard/gammaguard/cmd/gammaguard/command"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

// TestUninstall follows docs/install.md: its commands leave no entry on a route, and no
// label or annotation on a namespace. That the first one leaves no other object is
// TestOverlays' to see.
func TestUninstall(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)## Uninstall\n\n```\nkubectl delete -k config/default\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/install.md has no commands to uninstall")
	}
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: marked, labels: {gammaguard.dev/grant: all, gammaguard.dev/mode: warn, gammaguard.dev/consumer-routes: deny},
		annotations: {gammaguard.dev/consumer-routes-from: a=b, gammaguard.dev/consumer-route-kinds: HTTPRoute, gammaguard.dev/grant-request: x}}}`
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: marked}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]},
		status: {parents: [{controllerName: gammaguard.dev/guard, parentRef: {group: "", kind: Service, name: cart},
		conditions: [{type: Accepted, status: "False", reason: Conflicted, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]}]}}`
	for _, args := range [][]string{{"create"}, {"apply", "--server-side", "--subresource", "status", "--force-conflicts"}} {
		documents := route
		if args[0] == "create" {
			documents = namespace + "\n---\n" + route
		}
		if _, stderr, err := plane.Kubectl(t.Context(), documents, append(args, "-f", "-")...); err != nil {
			t.Fatal(stderr)
		}
	}
	stored := func() string {
		return kubectl(t, "get", "namespaces,httproutes", "-A", "-o", "yaml")
	}
	if !strings.Contains(stored(), "controllerName: gammaguard.dev/guard") {
		t.Fatal("the route is not marked")
	}
	for line := range strings.Lines(string(block[1])) {
		args := strings.Fields(line)
		if args[0] == "kubectl" {
			kubectl(t, args[1:]...)
			continue
		}
		var out, complaint bytes.Buffer
		args = append(args, "--kubeconfig", plane.Kubeconfig, "--cache-dir", t.TempDir())
		if code := command.Main(args, strings.NewReader(""), &out, &complaint); code != command.ExitClean {
			t.Errorf("%s: exit code %d: %s", strings.TrimSpace(line), code, complaint.String())
		}
	}
	left := stored()
	kubectl(t, "delete", "httproute", "-n", "marked", "cart")
	for _, trace := range []string{
		"controllerName: gammaguard", mesh.GrantLabel, mesh.ModeLabel, mesh.ConsumerRoutesLabel,
		mesh.ConsumerRoutesFromAnnotation, mesh.ConsumerRouteKindsAnnotation, grants.RequestAnnotation,
	} {
		if strings.Contains(left, trace) {
			t.Errorf("%s is left", trace)
		}
	}
}
