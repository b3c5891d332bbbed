package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/validate"
)

// TestParentWithoutKind: a Service of the cluster that a parentRef without a kind may mean is named, if there is
// no such Gateway.
func TestParentWithoutKind(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: no-kind}}
---
{apiVersion: v1, kind: Service, metadata: {name: foo, namespace: no-kind}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: edge, namespace: no-kind}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: no-kind}, spec: {gatewayClassName: any, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: views, namespace: no-kind}, rules: [{apiGroups: [""], resources: [services], verbs: [get]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: views, namespace: no-kind}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: views}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reads-no-gateways}]
`, "apply", "-f", "-")
	route := func(parent string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: no-kind}, spec: {parentRefs: [{" + parent + "}], rules: [{backendRefs: [{name: foo, port: 80}]}]}}"
	}
	found := func(t *testing.T, parent string, as ...string) []seen {
		t.Helper()
		_, all := check(t, route(parent), append([]string{"-f", "-", "--kubeconfig", plane.Kubeconfig}, as...)...)
		return slices.DeleteFunc(all, func(s seen) bool { return s.ID != explain.ParentKindOmitted })
	}
	for parent, want := range map[string]validate.Action{"name: foo": validate.Audit, "name: foo, port: 80": validate.Warn, "name: edge": "", "name: nothing": ""} {
		t.Run(parent, func(t *testing.T) {
			if got := found(t, parent); want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Effect != want) {
				t.Errorf("%v, want %q", got, want)
			}
		})
	}
	background.Eventually(t, func() string { // RBAC acts on what is stored a moment later
		if got := found(t, "name: foo", "--as", "reads-no-gateways"); len(got) != 1 || got[0].Effect != report.EffectUnknown {
			return fmt.Sprintf("%v, want one that is unknown", got)
		}
		return ""
	})
	for parent, says := range map[string]bool{"name: foo": true, "name: edge": false, "name: nothing": false} {
		kubectl(t, route(parent), "apply", "-f", "-")
		const want = `gammaguard leaves it alone. Gateway no-kind/foo does not exist, and Service no-kind/foo does: if it is meant, set group: "" and kind: Service`
		if _, stdout, stderr := run(t, "", "describe", "httproute/a", "-n", "no-kind", "--kubeconfig", plane.Kubeconfig); strings.Contains(stdout, want) != says ||
			!strings.Contains(stdout, "gammaguard leaves it alone") {
			t.Errorf("%s: %s%s", parent, stdout, stderr)
		}
	}
}
