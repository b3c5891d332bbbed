package install

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

// TestUninstall follows docs/install.md: its commands leave no entry on a route, under
// whatever name the configuration in the cluster has them written, no policy on grants, and no
// label or annotation on a namespace. That kubectl delete leaves no other object is TestOverlays' to see.
func TestUninstall(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)## Uninstall\n\n```\n(.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/install.md has no commands to uninstall")
	}
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: marked, labels: {` + mesh.GrantLabel + `: all, ` + mesh.ModeLabel + `: warn, ` + mesh.ConsumerRoutesLabel + `: deny,
		gammaguard.dev/scrape: allow}, annotations: {` + mesh.ConsumerRoutesFromAnnotation + `: a=b, ` + mesh.ConsumerRouteKindsAnnotation + `: HTTPRoute, ` +
		mesh.GrantRouteKindsAnnotation + `: HTTPRoute, ` + mesh.GrantRequestAnnotation + `: x}}}`
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if _, stderr, err := plane.Kubectl(ctx, "", "delete", "namespace", system, "--wait=false"); err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
		endNamespace(ctx, t)
	})
	const installed = `{apiVersion: v1, kind: Namespace, metadata: {name: gammaguard-system}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: gammaguard-config, namespace: gammaguard-system},
		data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, status: {controllerName: example.test/gammaguard}}"}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: gammaguard-webhook, namespace: gammaguard-system}, spec: {replicas: 2, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: webhook, image: none}], volumes: [{name: config, configMap: {name: gammaguard-config}}]}}}}
---
`
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: marked}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]},
		status: {parents: [{controllerName: example.test/gammaguard, parentRef: {group: "", kind: Service, name: cart},
		conditions: [{type: Accepted, status: "False", reason: Conflicted, message: "", lastTransitionTime: "2026-01-02T03:04:05Z"}]}]}}`
	for _, args := range [][]string{{"create"}, {"apply", "--server-side", "--subresource", "status", "--force-conflicts"}} {
		documents := route
		if args[0] == "create" {
			documents = installed + namespace + "\n---\n" + route
		}
		if _, stderr, err := plane.Kubectl(t.Context(), documents, append(args, "-f", "-")...); err != nil {
			t.Fatal(stderr)
		}
	}
	stored := func() string {
		return kubectl(t, "get", "namespaces,httproutes", "-A", "-o", "yaml")
	}
	traces := []string{
		"controllerName: example.test/gammaguard", mesh.GrantLabel, mesh.ModeLabel, mesh.ConsumerRoutesLabel, "gammaguard.dev/scrape",
		mesh.ConsumerRoutesFromAnnotation, mesh.ConsumerRouteKindsAnnotation, mesh.GrantRouteKindsAnnotation, mesh.GrantRequestAnnotation,
	}
	before := stored()
	for _, trace := range traces {
		if !strings.Contains(before, trace) {
			t.Fatalf("%s is not there", trace)
		}
	}
	o := newOperator(t)
	o.must(t, "gammaguard policy | kubectl apply -f -")
	t.Cleanup(func() { removeGrantPolicies(t) })
	for line := range strings.Lines(string(block[1])) {
		if !strings.HasPrefix(line, "kubectl delete ") {
			o.must(t, strings.TrimSpace(line))
		}
	}
	if left := kubectl(t, "get", "validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name"); strings.Contains(left, grantpolicy.Name) {
		t.Errorf("policies are left:\n%s", left)
	}
	kubectl(t, "delete", "-n", "gammaguard-system", "deployment/gammaguard-webhook", "configmap/gammaguard-config")
	left := stored()
	kubectl(t, "delete", "httproute", "-n", "marked", "cart")
	for _, trace := range traces {
		if strings.Contains(left, trace) {
			t.Errorf("%s is left", trace)
		}
	}
}
