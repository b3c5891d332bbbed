package cluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// linkerdRoutes are stored HTTPRoutes of Linkerd's own, one with a namesake in the Gateway
// API.
const linkerdRoutes = `
{apiVersion: v1, kind: Namespace, metadata: {name: own-shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: own-faces}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: own-shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: policy.linkerd.io/v1beta3, kind: HTTPRoute, metadata: {name: web, namespace: own-shop}, spec: {parentRefs: [{group: core, kind: Service, name: cart}], rules: [{backendRefs: [{name: nowhere, port: 1}]}]}}
---
{apiVersion: policy.linkerd.io/v1beta3, kind: HTTPRoute, metadata: {name: edge, namespace: own-shop}, spec: {parentRefs: [{name: edge}]}}
---
{apiVersion: policy.linkerd.io/v1beta3, kind: HTTPRoute, metadata: {name: bypass, namespace: own-faces}, spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: own-shop}, {kind: Server, name: web-http}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: own-shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`

// TestLinkerdRoutes: audit, describe and grants list the HTTPRoutes of Linkerd's own, and
// judge their grant alone. They take no port from others.
func TestLinkerdRoutes(t *testing.T) {
	kubectl(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: httproutes.policy.linkerd.io}
spec:
  group: policy.linkerd.io
  scope: Namespaced
  names: {kind: HTTPRoute, plural: httproutes, singular: httproute, listKind: HTTPRouteList}
  versions: [{name: v1beta3, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "apply", "-f", "-")
	t.Cleanup(func() {
		if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "crd/httproutes.policy.linkerd.io"); err != nil {
			t.Error(stderr)
		}
	})
	kubectl(t, "", "wait", "--for=condition=Established", "crd/httproutes.policy.linkerd.io", "--timeout=60s")
	kubectl(t, linkerdRoutes, "apply", "-f", "-")
	for _, test := range []struct {
		args string
		code int
		want []string
	}{
		{"audit -n own-faces", command.ExitFindings, []string{
			"own-faces HTTPRoute.policy.linkerd.io bypass grant-missing deny spec.parentRefs[0] namespace own-faces lacks the consumer grant for HTTPRoute.policy.linkerd.io",
			"own-faces HTTPRoute.policy.linkerd.io bypass grant-missing deny spec.parentRefs[1] namespace own-faces lacks the producer grant for HTTPRoute.policy.linkerd.io",
			"own-faces enforce 1 1 2 0 0 0/1 none all",
		}},
		{"audit -n own-shop", command.ExitClean, []string{"own-shop enforce 2 0 0 1 0 0/1 producer -"}},
		{"grants list -o wide -n own-faces", command.ExitClean, []string{"own-faces none - enforce default - HTTPRoute.policy.linkerd.io bypass"}},
		{"grants list -o wide -n own-shop", command.ExitClean, []string{"own-shop producer label enforce default HTTPRoute web, HTTPRoute.policy.linkerd.io web -"}},
		{"describe service/cart -n own-shop", command.ExitClean, []string{
			"- producer HTTPRoute.policy.linkerd.io own-shop/web unknown unanswered only its grant is checked: Linkerd decides what it does",
			"- consumer of own-faces HTTPRoute.policy.linkerd.io own-faces/bypass no-grant unanswered namespace own-faces lacks the consumer grant for HTTPRoute.policy.linkerd.io",
			"80/TCP producer HTTPRoute own-shop/web applies unanswered -",
			"own-faces none - enforce default",
		}},
	} {
		code, stdout, stderr := run(t, "", append(strings.Fields(test.args), "--kubeconfig", plane.Kubeconfig)...)
		var got, lines []string
		for line := range strings.Lines(stdout) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		for _, line := range test.want {
			for _, have := range lines {
				if strings.TrimSuffix(line, " -") == strings.TrimSuffix(have, " -") {
					got = append(got, line)
				}
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" || code != test.code {
			t.Errorf("%s: exit code %d, %s (-want +got)\n%s\n%s", test.args, code, stderr, diff, stdout)
		}
	}
	for args, lists := range map[string]bool{"conflicts -n own-shop": false, "graph -n own-shop": true} {
		if code, stdout, stderr := run(t, "", append(strings.Fields(args), "--kubeconfig", plane.Kubeconfig)...); code != command.ExitClean || strings.Contains(stdout, "linkerd") != lists {
			t.Errorf("%s: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
