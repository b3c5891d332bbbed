package guard_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) { os.Exit(bed.Run(m, bed.Options{}, &plane)) }

// exempt is a user to whom neither the policy nor the webhooks apply.
const exempt = "exempt"

// install installs what gammaguard needs, and RBAC that lets dev label namespaces.
func install(t *testing.T) {
	t.Helper()
	if err := guard.Install(t.Context(), plane, exempt); err != nil {
		t.Fatal(err)
	}
	const rights = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: dev},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit-namespaces},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: edit-namespaces},
 rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, patch]}]}
`
	if _, stderr, err := plane.Kubectl(t.Context(), rights, "apply", "-f", "-"); err != nil {
		t.Fatal(err, stderr)
	}
}

// TestInstall sees the policy act on the first request after Install.
func TestInstall(t *testing.T) {
	install(t)
	label := []string{"label", "namespace", "default", "gammaguard.dev/grant=unknown", "--dry-run=server", "--as"}
	_, stderr, err := plane.Kubectl(t.Context(), "", append(label, "dev")...)
	if err == nil || !strings.Contains(stderr, "gammaguard-grants") {
		t.Errorf("label by a user who is not a mesh admin: %v %s", err, stderr)
	}
	if _, stderr, err = plane.Kubectl(t.Context(), "", append(label, exempt, "--as-group", "system:masters")...); err != nil {
		t.Errorf("label by the exempt user: %v %s", err, stderr)
	}
}

// TestStart finds the webhooks called on the first request after Start, and by the
// replica that was started last.
func TestStart(t *testing.T) {
	install(t)
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: default, name: cart},
		spec: {parentRefs: [{group: core, kind: Service, name: cart}]}}`
	for range 2 {
		g, err := guard.Start(t.Context(), plane, guard.Options{Exempt: exempt})
		if err != nil {
			t.Fatal(err)
		}
		create := []string{"create", "-f", "-", "--dry-run=server", "--as-group", "system:masters", "--as"}
		_, stderr, err := plane.Kubectl(t.Context(), route, append(create, "dev")...)
		if err == nil || !strings.Contains(stderr, "(grant-missing)") || !strings.Contains(stderr, "(parent-group)") {
			t.Errorf("a route without a grant: %v %s", err, stderr)
		}
		if _, stderr, err = plane.Kubectl(t.Context(), route, append(create, exempt)...); err != nil {
			t.Errorf("a route of the exempt user: %v %s", err, stderr)
		}
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	}
}
