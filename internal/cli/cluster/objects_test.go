package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOtherParentsStored: what is wrong with a stored parentRef to another kind or group is listed by audit and describe, as it is at apply.
func TestOtherParentsStored(t *testing.T) {
	kubectl(t, `{apiVersion: v1, kind: Namespace, metadata: {name: foreign, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: foreign}, spec: {parentRefs: [{group: apps, kind: Service, name: x}, {group: "", kind: Services, name: x}, {group: "", name: x}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: edge, namespace: foreign}, spec: {parentRefs: [{name: public}]}}
`, "apply", "-f", "-")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"describe", "httproute/a"}, []string{
			"Service.apps foreign/x", "Services (core group) foreign/x", "Gateway (core group) foreign/x", "not a parent in the mesh: its implementation, if there is one, acts on it",
			`parent-not-found   warn     spec.parentRefs[1].kind   the API server does not serve kind Services in group ""`,
		}},
		{[]string{"audit"}, []string{`the API server does not serve kind Service in group "apps"`, `the API server does not serve kind Services in group ""`, `the API server does not serve kind Gateway in group ""`, "foreign     enforce   1 "}},
	} {
		_, stdout, stderr := run(t, "", append(test.args, "-n", "foreign", "--kubeconfig", plane.Kubeconfig)...)
		for _, want := range test.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%v does not say %q:\n%s%s", test.args, want, stdout, stderr)
			}
		}
	}
}

// TestOtherParents: a parent of another implementation is looked up, first its kind, then
// the object; one of the core group, and one without a namespace, too.
func TestOtherParents(t *testing.T) {
	kubectl(t, "{apiVersion: v1, kind: Namespace, metadata: {name: others, labels: {gammaguard.dev/grant: all}}}", "apply", "-f", "-")
	const route = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a, namespace: others}
spec:
  parentRefs:
  - {group: policy.linkerd.io, kind: EgressNetwork, name: all}
  - {group: policy.linkerd.io, kind: Zone, name: all}
  - {group: "", kind: Pod, name: x}
  - {group: "", kind: Node, name: x}
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]
`
	found := func(want ...string) {
		t.Helper()
		_, stdout, _ := run(t, route, "check", "-f", "-", "-o", "github", "--cluster", "--kubeconfig", plane.Kubeconfig)
		var got []string
		for line := range strings.Lines(stdout) {
			if _, text, ok := strings.Cut(line, "HTTPRoute others/a: "); ok && strings.Contains(line, "parent-not-found") {
				text, _, _ = strings.Cut(text, ";")
				got = append(got, text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, stdout)
		}
	}
	const zone = `spec.parentRefs[1].kind: the API server does not serve kind Zone in group "policy.linkerd.io"`
	found(`spec.parentRefs[0].kind: the API server does not serve kind EgressNetwork in group "policy.linkerd.io"`, zone)
	kubectl(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: egressnetworks.policy.linkerd.io}
spec:
  group: policy.linkerd.io
  scope: Namespaced
  names: {kind: EgressNetwork, plural: egressnetworks, singular: egressnetwork, listKind: EgressNetworkList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "apply", "-f", "-")
	defer kubectl(t, "", "delete", "crd", "egressnetworks.policy.linkerd.io")
	kubectl(t, "", "wait", "--for=condition=Established", "crd/egressnetworks.policy.linkerd.io", "--timeout=60s")
	found(`spec.parentRefs[0].name: EgressNetwork others/all does not exist`, zone)
	kubectl(t, "{apiVersion: policy.linkerd.io/v1alpha1, kind: EgressNetwork, metadata: {name: all, namespace: others}}", "apply", "-f", "-")
	found(zone)
}
