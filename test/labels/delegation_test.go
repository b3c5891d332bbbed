package labels_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

// grants is the rule for the namespaces of these names, or for all.
func grants(namespaces ...string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{
		APIGroups: []string{"gammaguard.dev"}, Resources: []string{"grants"}, ResourceNames: namespaces, Verbs: []string{"update"},
	}}
}

func clusterRole(name string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

// aggregated is a ClusterRole as the controller that aggregates, which does not run
// here, leaves it.
func aggregated(name string, rules []rbacv1.PolicyRule) *rbacv1.ClusterRole {
	role := clusterRole(name, rules)
	role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"a": "b"}}}}
	return role
}

// TestWhoMayGrant gives users, who may edit all namespaces, the verb in namespace t1
// by every shape of RBAC, and has them label t1 and t2 in every way.
func TestWhoMayGrant(t *testing.T) {
	for i, test := range []struct {
		name string
		// rights returns what gives the user the verb in namespace t1.
		rights func(user, t1 string) []client.Object
		t1, t2 bool
	}{
		{name: "RoleBinding to cluster-admin", rights: func(user, t1 string) []client.Object {
			return []client.Object{binding(t1, "cluster-admin", user)}
		}},
		{name: "RoleBinding to the mesh admins' ClusterRole", rights: func(user, t1 string) []client.Object {
			return []client.Object{binding(t1, "gammaguard-mesh-admin", user)}
		}},
		{name: "RoleBinding to a ClusterRole with resourceNames", rights: func(user, t1 string) []client.Object {
			return []client.Object{clusterRole(user, grants(t1)), binding(t1, user, user)}
		}},
		{name: "RoleBinding to an aggregated ClusterRole", rights: func(user, t1 string) []client.Object {
			return []client.Object{aggregated(user, grants()), binding(t1, user, user)}
		}},
		{name: "RoleBinding to a Role", rights: func(user, t1 string) []client.Object {
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: t1, Name: user}, Rules: grants()}
			bound := binding(t1, user, user)
			bound.RoleRef.Kind = "Role"
			return []client.Object{role, bound}
		}},
		{name: "ClusterRoleBinding to a ClusterRole with resourceNames", t1: true, rights: func(user, t1 string) []client.Object {
			return []client.Object{clusterRole(user, grants(t1)), clusterBinding(user, user)}
		}},
		{name: "ClusterRoleBinding to an aggregated ClusterRole", t1: true, t2: true, rights: func(user, _ string) []client.Object {
			return []client.Object{aggregated(user, grants()), clusterBinding(user, user)}
		}},
		{name: "ClusterRoleBinding to cluster-admin", t1: true, t2: true, rights: func(user, _ string) []client.Object {
			return []client.Object{clusterBinding("cluster-admin", user)}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			user := fmt.Sprintf("user-%d", i)
			t1, t2 := stored(t, nil).Name, stored(t, nil).Name
			give(t, append(test.rights(user, t1), clusterBinding(everything, user))...)
			awaitRight(t, user, authorizationv1.ResourceAttributes{Namespace: t1, Verb: "update", Group: "gammaguard.dev", Resource: "grants", Name: t1})
			awaitRight(t, user, authorizationv1.ResourceAttributes{Verb: "update", Resource: "namespaces", Name: t2})
			c := mustClient(t, user)
			for w, way := range ways() {
				value := []string{"none", "producer"}[w%2] // another one each time
				for name, may := range map[string]bool{t1: test.t1, t2: test.t2} {
					err := relabel(t, c, way, name, map[string]string{mesh.GrantLabel: value})
					if may {
						if err != nil {
							t.Errorf("%s: refused: %v", way.name, err)
						}
						wantValues(t, name, map[string]string{mesh.GrantLabel: value})
					} else {
						wantRefusal(t, err, refusal(user, mesh.GrantLabel, name))
						wantValues(t, name, nil)
					}
				}
			}
		})
	}
}

// TestNamespaceOwner: who is cluster-admin in a namespace can bind roles there, be a
// ServiceAccount of it, and still not grant.
func TestNamespaceOwner(t *testing.T) {
	n := stored(t, nil).Name
	give(t, binding(n, "cluster-admin", "owner"))
	config, err := plane.User("owner", "system:authenticated")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	awaitRight(t, "owner", authorizationv1.ResourceAttributes{Namespace: n, Verb: "update", Resource: "namespaces", Name: n})
	const account = "system:serviceaccount:%s:default"
	self := binding(n, "gammaguard-mesh-admin", "owner", fmt.Sprintf(account, n))
	if err := owner.Create(t.Context(), self); err != nil {
		t.Fatalf("bind the mesh admins' ClusterRole in the namespace: %v", err)
	}
	if err := owner.Create(t.Context(), clusterBinding("gammaguard-mesh-admin", "owner")); !apierrors.IsForbidden(err) {
		t.Errorf("create a ClusterRoleBinding: got %v, want 403", err)
	}
	awaitRight(t, fmt.Sprintf(account, n), authorizationv1.ResourceAttributes{Namespace: n, Verb: "patch", Resource: "namespaces", Name: n})
	impersonating := func(user string) error {
		as := rest.CopyConfig(config)
		as.Impersonate.UserName = user
		c, err := client.New(as, client.Options{Mapper: owner.RESTMapper()}) // discovers as the owner
		if err != nil {
			t.Fatal(err)
		}
		labeled := namespace(n, mesh.GrantLabel, "all")
		return c.Patch(t.Context(), labeled, labelPatch(labeled))
	}
	for _, way := range ways() {
		wantRefusal(t, relabel(t, owner, way, n, map[string]string{mesh.GrantLabel: "all"}), refusal("owner", mesh.GrantLabel, n))
	}
	wantRefusal(t, impersonating(fmt.Sprintf(account, n)), refusal(fmt.Sprintf(account, n), mesh.GrantLabel, n))
	if err := impersonating("boss"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot impersonate") {
		t.Errorf("as a mesh admin: got %v, want that the owner cannot impersonate", err)
	}
	wantValues(t, n, nil)
}

// TestLabelsToSelectBy follows docs/consumer-routes.md on which labels are safe to select
// by: the administrator of a namespace cannot change its labels, who is cluster-admin in
// it can, and nobody changes the label that is its name.
func TestLabelsToSelectBy(t *testing.T) {
	n := stored(t, nil).Name
	for _, part := range []string{"admin", "edit", "view"} { // of admin: the controller that aggregates does not run here
		give(t, binding(n, "system:aggregate-to-"+part, "tenant"))
	}
	give(t, binding(n, "cluster-admin", "tenant-owner"))
	awaitRight(t, "tenant", authorizationv1.ResourceAttributes{Namespace: n, Verb: "create", Resource: "services"})
	awaitRight(t, "tenant-owner", authorizationv1.ResourceAttributes{Namespace: n, Verb: "patch", Resource: "namespaces", Name: n})
	for user, may := range map[string]bool{"tenant": false, "tenant-owner": true} {
		_, stderr, err := plane.Kubectl(t.Context(), "", "label", "namespace", n, "tenant="+user, "kubernetes.io/metadata.name=faces", "--overwrite", "--as", user)
		if (err == nil) != may || !may && !strings.Contains(stderr, "Forbidden") {
			t.Errorf("%s: %v, %s", user, err, stderr)
		}
	}
	wantValues(t, n, map[string]string{"tenant": "tenant-owner"})
	if named, _, err := plane.Kubectl(t.Context(), "", "get", "namespace", "-l", "kubernetes.io/metadata.name="+n, "-o", "name"); named != "namespace/"+n+"\n" {
		t.Errorf("by the name of %s: %q, %v", n, named, err)
	}
}

// TestCreateDelegated: a right to one name covers the creation of that namespace, and
// none whose name the API server makes up.
func TestCreateDelegated(t *testing.T) {
	const user, mine = "creator", "delegated"
	give(t, clusterRole(user, grants(mine)), clusterBinding(user, user), clusterBinding(everything, user))
	awaitRight(t, user, authorizationv1.ResourceAttributes{Verb: "update", Group: "gammaguard.dev", Resource: "grants", Name: mine})
	awaitRight(t, user, authorizationv1.ResourceAttributes{Verb: "create", Resource: "namespaces"})
	c := mustClient(t, user)
	named := namespace("", mesh.GrantLabel, "all")
	named.GenerateName = mine
	for _, n := range []client.Object{named, namespace(mine+"-other", mesh.GrantLabel, "all")} {
		if err := c.Create(t.Context(), n); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "gammaguard-mesh-admin") {
			t.Errorf("%s%s: got %v", n.GetName(), n.GetGenerateName(), err)
		}
	}
	if err := c.Create(t.Context(), namespace(mine, mesh.GrantLabel, "all")); err != nil {
		t.Errorf("its own name: %v", err)
	}
}

// TestDocs follows docs/mesh-admins.md: its manifest lets shop-admin grant for shop
// alone, and its commands show who may, and which RoleBindings no longer count.
func TestDocs(t *testing.T) {
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "mesh-admins.md"))
	if err != nil {
		t.Fatal(err)
	}
	find := func(pattern string) string {
		found := regexp.MustCompile(pattern).FindSubmatch(page)
		if found == nil {
			t.Fatalf("docs/mesh-admins.md has no %s", pattern)
		}
		return string(found[1])
	}
	kubectl := func(stdin string, args ...string) string {
		stdout, stderr, _ := plane.Kubectl(t.Context(), stdin, args...)
		return stdout + stderr
	}
	give(t, namespace("shop"), namespace("other"), binding("other", "gammaguard-mesh-admin", "old-admin"))
	kubectl(find("(?s)```yaml\n(.*?kind: ClusterRoleBinding.*?)```"), "apply", "-f", "-")
	awaitRight(t, "shop-admin", authorizationv1.ResourceAttributes{Verb: "update", Group: "gammaguard.dev", Resource: "grants", Name: "shop"})

	label := strings.Fields(find("kubectl (label namespace shop .* --dry-run=server .*)\n"))
	if got := kubectl("", label...); got != "namespace/shop labeled (server dry run)\n" {
		t.Errorf("%v: %s", label, got)
	}
	label[2] = "other"
	if got := kubectl("", label...); !strings.Contains(got, "Forbidden") {
		t.Errorf("%v: %s", label, got)
	}
	if got := kubectl("", "label", "namespace", "shop", "gammaguard.dev/grant=producer", "--as", "shop-admin"); got != "namespace/shop labeled\n" {
		t.Error(got)
	}
	list := find("kubectl get rolebindings -A -o (jsonpath=.*)\n")
	got := kubectl("", "get", "rolebindings", "-A", "-o", strings.ReplaceAll(list, "'", ""))
	if want := "other/gammaguard-mesh-admin-old-admin\n"; !strings.Contains(got, want) || strings.Contains(got, "cluster-admin") {
		t.Errorf("RoleBindings:\n%s", got)
	}
}

// give creates objects as the administrator.
func give(t *testing.T, objects ...client.Object) {
	t.Helper()
	admin, err := client.New(plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRight waits until RBAC gives the user a right: it acts on what is stored a
// moment later.
func awaitRight(t *testing.T, user string, right authorizationv1.ResourceAttributes) {
	t.Helper()
	admin, err := client.New(plane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right}}
		err := admin.Create(ctx, review)
		return review.Status.Allowed, err
	})
	if err != nil {
		t.Fatalf("%s has no right to %s: %v", user, right.Verb, err)
	}
}
