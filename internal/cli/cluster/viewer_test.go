package cluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// TestViewer: the roles gammaguard-viewer are enough for every read command, in all
// namespaces, with the configuration of the cluster.
func TestViewer(t *testing.T) {
	kubectl(t, "{apiVersion: v1, kind: Namespace, metadata: {name: gammaguard-system}}", "apply", "-f", "-")
	kubectl(t, "", "apply", "-f", "../../../config/rbac/viewer.yaml")
	kubectl(t, strings.ReplaceAll(described, "desc", "viewed")+`
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: viewers}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gammaguard-viewer}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: viewers, namespace: gammaguard-system}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: gammaguard-viewer}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: gammaguard-config-x, namespace: gammaguard-system}, data: {guard.yaml: "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration"}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: gammaguard-webhook, namespace: gammaguard-system}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
 spec: {containers: [{name: webhook, image: x}], volumes: [{name: config, configMap: {name: gammaguard-config-x}}]}}}}
`, "apply", "-f", "-")
	t.Cleanup(func() { // other tests are about clusters without an installation
		_, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "deployment", "-n", "gammaguard-system", "gammaguard-webhook")
		if err != nil {
			t.Error(stderr)
		}
	})
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: viewed}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`
	for _, test := range []struct {
		args string
		code int
	}{
		{"audit -A", command.ExitFindings},
		{"audit -n viewed-guest", command.ExitFindings},
		{"conflicts -A", command.ExitClean},
		{"describe service/cart -n viewed", command.ExitClean},
		{"graph -A -o dot", command.ExitClean},
		{"graph service/cart -n viewed", command.ExitClean},
		{"grants -A", command.ExitClean},
		{"check -f - --cluster", command.ExitClean},
		{"trace cart:http -n viewed", command.ExitClean},
		{"describe httproute/web -n viewed", command.ExitClean},
		{"graph -n viewed -f - --cluster", command.ExitClean},
		{"conflicts -n viewed -f - --cluster", command.ExitClean},
		{"diff -f - --cluster", command.ExitFindings},
		{"describe httproute/edge -n viewed", command.ExitClean},
		{"trace service/cart:80 -n viewed --from-gateway", command.ExitClean},
	} {
		code, stdout, stderr := run(t, route, append(strings.Fields(test.args), "--as", "viewer", "--kubeconfig", plane.Kubeconfig)...)
		if code != test.code || stderr != "" {
			t.Errorf("%s: exit code %d, %s%s", test.args, code, stdout, stderr)
		}
	}
}
