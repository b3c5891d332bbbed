package cluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

const verified = `
{apiVersion: v1, kind: Namespace, metadata: {name: verified, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: verified}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart-v2, namespace: verified}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: verified}, spec: {parentRefs: [{group: "", kind: Service, name: cart}],
 rules: [{matches: [{path: {value: /v2}}], backendRefs: [{name: cart-v2, port: 80}]}]}}
---
{apiVersion: kuma.io/v1alpha1, kind: MeshHTTPRoute, metadata: {name: cart, namespace: verified}, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: cart_verified_svc_80},
 rules: [{matches: [{path: {type: PathPrefix, value: /v2}}], default: {backendRefs: [{kind: MeshService, name: cart-v2_verified_svc_80, weight: 1}]}}]}]}}
`

// TestVerify: what a mesh gave its proxies is read from the cluster, and compared with the routes that are there.
func TestVerify(t *testing.T) {
	verify := func(args ...string) (code int, stdout, stderr string) {
		t.Helper()
		return run(t, "", append([]string{"verify", "--cluster", "--kubeconfig", plane.Kubeconfig}, args...)...)
	}
	if code, _, stderr := verify("--mesh", "kuma"); code != command.ExitUsage || !strings.Contains(stderr, "serves no CiliumEnvoyConfigs and no MeshHTTPRoutes") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	kubectl(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: meshhttproutes.kuma.io}
spec:
  group: kuma.io
  scope: Namespaced
  names: {kind: MeshHTTPRoute, plural: meshhttproutes, singular: meshhttproute, listKind: MeshHTTPRouteList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "apply", "-f", "-")
	t.Cleanup(func() {
		if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "crd/meshhttproutes.kuma.io", "namespace/verified", "--wait=false"); err != nil {
			t.Error(stderr)
		}
	})
	kubectl(t, "", "wait", "--for=condition=Established", "crd/meshhttproutes.kuma.io", "--timeout=60s")
	if code, _, stderr := verify(); code != command.ExitUsage || !strings.Contains(stderr, "no proxy was given a route") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	kubectl(t, verified, "apply", "-f", "-")
	// Other tests have routes in the cluster that no proxy was given.
	if _, stdout, stderr := verify(); !strings.Contains(stdout, "compared, from") || strings.Contains(stdout, "verified/cart") {
		t.Errorf("%s%s", stdout, stderr)
	}
	kubectl(t, strings.ReplaceAll(verified, "PathPrefix, value: /v2", "PathPrefix, value: /v3"), "apply", "-f", "-")
	code, stdout, stderr := verify()
	if code != command.ExitFindings || !strings.Contains(stdout, "    gammaguard: Service verified/cart-v2:80\n    proxies:    Service verified/cart:80\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}
