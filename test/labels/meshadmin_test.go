package labels_test

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestMeshAdminsChangeOursAlone makes users mesh admins by every shape of RBAC, and has
// them change what else a namespace has, in every way that the role opens. Only who may
// update namespaces besides can.
func TestMeshAdminsChangeOursAlone(t *testing.T) {
	patching := func(names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: names, Verbs: []string{"get", "patch"}}
	}
	for i, test := range []struct {
		name   string
		rights func(user, n string) []client.Object
		others bool
	}{
		{name: "gammaguard-mesh-admin", rights: func(user, _ string) []client.Object {
			return []client.Object{clusterBinding("gammaguard-mesh-admin", user)}
		}},
		{name: "delegated by resourceNames", rights: func(user, n string) []client.Object {
			return []client.Object{clusterRole(user, append(grants(n), patching(n))), clusterBinding(user, user)}
		}},
		{name: "gammaguard-granter, and patch by another role", rights: func(user, _ string) []client.Object {
			return []client.Object{clusterRole(user, []rbacv1.PolicyRule{patching()}), clusterBinding(user, user), clusterBinding("gammaguard-granter", user)}
		}},
		{name: "gammaguard-mesh-admin, and cluster-admin of another namespace", rights: func(user, n string) []client.Object {
			other := namespace(n + "-other")
			return []client.Object{other, binding(other.Name, "cluster-admin", user), clusterBinding("gammaguard-mesh-admin", user)}
		}},
		{name: "gammaguard-granter, and cluster-admin of the namespace", others: true, rights: func(user, n string) []client.Object {
			return []client.Object{binding(n, "cluster-admin", user), clusterBinding("gammaguard-granter", user)}
		}},
		{name: "gammaguard-granter, and all rights on namespaces", others: true, rights: func(user, _ string) []client.Object {
			return []client.Object{clusterBinding(everything, user), clusterBinding("gammaguard-granter", user)}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			user := fmt.Sprintf("admin-%d", i)
			n := stored(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}).Name
			give(t, test.rights(user, n)...)
			awaitRight(t, user, authorizationv1.ResourceAttributes{Verb: "update", Group: "gammaguard.dev", Resource: "grants", Name: n})
			awaitRight(t, user, authorizationv1.ResourceAttributes{Namespace: n, Verb: "patch", Resource: "namespaces", Name: n})
			c := mustClient(t, user)
			for other, patch := range map[string]string{
				"pod-security.kubernetes.io/enforce": `{"labels":{"pod-security.kubernetes.io/enforce":"privileged","gammaguard.dev/grant":"all"}}`,
				"pod-security.kubernetes.io/warn":    `{"labels":{"pod-security.kubernetes.io/warn":"privileged"}}`,
				"team":                               `{"annotations":{"team":"cart"}}`,
				"finalizers":                         `{"finalizers":["example.com/never"]}`,
				"ownerReferences":                    `{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"gone"}]}`,
			} {
				for way, kind := range map[string]types.PatchType{"patch": types.MergePatchType, "server-side apply": types.ApplyPatchType} {
					err := c.Patch(t.Context(), namespace(n), client.RawPatch(kind, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":%s}`, patch)), &client.PatchOptions{
						DryRun: []string{metav1.DryRunAll}, FieldManager: "test-" + user, Force: forced(kind),
					})
					want := fmt.Sprintf(`user "%s" is a mesh admin, and may change only the gammaguard.dev labels and annotations of namespace "%s", not %s; `+
						`this needs the verb update on namespaces "%s"`, user, n, other, n)
					switch {
					case test.others && err != nil:
						t.Errorf("%s, %s: refused: %v", way, other, err)
					case !test.others && (!apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), want)):
						t.Errorf("%s, %s: got  %v\nwant %s", way, other, err, want)
					}
				}
			}
			for _, way := range ways()[1:3] { // those that patch
				labeled := map[string]string{"pod-security.kubernetes.io/enforce": "restricted", mesh.GrantLabel: "all", routesFrom: "a=b"}
				if err := relabel(t, c, way, n, labeled); err != nil {
					t.Errorf("%s of our labels: %v", way.name, err)
				}
				wantValues(t, n, labeled)
			}
			for _, way := range []way{ways()[0], ways()[3], ways()[4], ways()[5]} { // those that the role does not open
				err := relabel(t, c, way, n, map[string]string{mesh.GrantLabel: "all"})
				if !test.others && !apierrors.IsForbidden(err) {
					t.Errorf("%s: got %v", way.name, err)
				}
			}
		})
	}
}

// TestRoleBindingPatchesNothing: bound in a namespace, the mesh admins' ClusterRole lets patch it as
// far as RBAC goes, and neither grants nor reaches other labels.
func TestRoleBindingPatchesNothing(t *testing.T) {
	const user = "bound"
	n := stored(t, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}).Name
	give(t, binding(n, "gammaguard-mesh-admin", user))
	awaitRight(t, user, authorizationv1.ResourceAttributes{Namespace: n, Verb: "patch", Resource: "namespaces", Name: n})
	c := mustClient(t, user)
	for what, metadata := range map[string]string{
		"a grant":           `{"labels":{"gammaguard.dev/grant":"all"}}`,
		"a level":           `{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}`,
		"an annotation":     `{"annotations":{"team":"cart"}}`,
		"an ownerReference": `{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"gone"}]}`,
	} {
		err := c.Patch(t.Context(), namespace(n), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":%s}`, metadata)))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "gammaguard-grants") {
			t.Errorf("%s: got %v, want that the policy refuses it", what, err)
		}
	}
}

// forced is what a patch of the type says of conflicts.
func forced(kind types.PatchType) *bool {
	if kind != types.ApplyPatchType {
		return nil
	}
	force := true
	return &force
}
