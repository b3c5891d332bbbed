//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// testRBAC proves that no rule of gammaguard's RBAC is superfluous, in two steps
// for each permission that a rule gives: a verb on a resource, by name where the
// rule has names.
//
// First, gammaguard used the permission in the tests before, as the API server's
// audit log tells. Second, with all rules but this one, the API server's own
// authorizer denies it. So without the rule a request of these tests is forbidden,
// and the tests fail over that.
func testRBAC(t *testing.T, overlays []*overlay) {
	var grants []grant
	used := map[string]bool{}
	for _, o := range overlays {
		if len(o.requests) == 0 {
			t.Fatalf("%s was not tested, which tells what is used", o.path)
		}
		for _, g := range render(t, o.path) {
			if !slices.ContainsFunc(grants, func(other grant) bool { return g.String() == other.String() }) {
				grants = append(grants, g)
			}
			for _, p := range g.permissions() {
				if slices.ContainsFunc(o.requests, p.usedBy) {
					used[g.String()+p.String()] = true
				}
			}
		}
	}
	t.Cleanup(func() {
		mustKubectl(t, "", "delete", "clusterroles,clusterrolebindings", "-l", testLabel)
		mustKubectl(t, "", "delete", "namespace", system)
	})
	for i, g := range grants {
		for _, p := range g.permissions() {
			if !used[g.String()+p.String()] {
				t.Errorf("%s gives %s, which no request used", g.role, p)
			}
		}
		deniedWithout(t, fmt.Sprintf("without-rule-%d", i), g, slices.Delete(slices.Clone(grants), i, i+1))
	}
}

// grant is one rule of a role that gammaguard's ServiceAccount has: everywhere, or
// in one namespace.
type grant struct {
	role, namespace string
	rule            rbacv1.PolicyRule
}

func (g grant) String() string { return fmt.Sprint(g.role, g.namespace, g.rule) }

// permission is a verb on a resource.
type permission struct {
	namespace, verb, group, resource, subresource, name string
}

func (p permission) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %s.%s %s %s", p.verb, strings.TrimSuffix(p.resource+"/"+p.subresource, "/"), p.group, p.name, p.namespace), " ")
}

// usedBy reports whether the request needed the permission, and was not forbidden.
func (p permission) usedBy(event auditv1.Event) bool {
	o := event.ObjectRef
	if o == nil || event.ResponseStatus == nil || event.ResponseStatus.Code == http.StatusForbidden {
		return false
	}
	if p.verb == "bind" { // no request has this verb: an update of the binding of that name needs it
		return event.Verb == "update" && o.Resource == "clusterrolebindings" && o.Name == p.name
	}
	return p.verb == event.Verb && p.group == o.APIGroup && p.resource == o.Resource && p.subresource == o.Subresource &&
		(p.name == "" || p.name == o.Name) && (p.namespace == "" || p.namespace == o.Namespace)
}

// permissions returns each permission that the rule gives.
func (g grant) permissions() []permission {
	var all []permission
	names := g.rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range g.rule.APIGroups {
		for _, full := range g.rule.Resources {
			resource, subresource, _ := strings.Cut(full, "/")
			for _, verb := range g.rule.Verbs {
				for _, name := range names {
					all = append(all, permission{g.namespace, verb, group, resource, subresource, name})
				}
			}
		}
	}
	return all
}

// render returns the rules of the roles that the overlay binds to gammaguard's
// ServiceAccount.
func render(t *testing.T, path string) []grant {
	t.Helper()
	type object struct {
		Kind     string
		Metadata metav1.ObjectMeta
		Rules    []rbacv1.PolicyRule
		RoleRef  rbacv1.RoleRef
		Subjects []rbacv1.Subject
	}
	var objects []object
	for _, document := range strings.Split(mustKubectl(t, "", "kustomize", path), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	var grants []grant
	for _, binding := range objects {
		if !slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == "gammaguard-webhook" }) {
			continue
		}
		for _, role := range objects {
			if role.Kind != binding.RoleRef.Kind || role.Metadata.Name != binding.RoleRef.Name {
				continue
			}
			for _, rule := range role.Rules {
				grants = append(grants, grant{role.Kind + " " + role.Metadata.Name, binding.Metadata.Namespace, rule})
			}
		}
	}
	if len(grants) == 0 {
		t.Fatalf("%s binds no roles to gammaguard", path)
	}
	return grants
}

// deniedWithout fails unless the API server denies each permission of a rule to a
// user who has all the others.
func deniedWithout(t *testing.T, user string, without grant, others []grant) {
	t.Helper()
	client, err := kubernetes.NewForConfig(clientConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	giveAll(t, client, user, others)
	allowed := func(p permission) bool {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: p.namespace, Verb: p.verb, Group: p.group, Version: "*", Resource: p.resource, Subresource: p.subresource, Name: p.name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	// The authorizer knows the new roles once it allows what they give.
	for _, g := range others {
		waitFor(t, "the authorizer knows the roles", 20*time.Second, func() error {
			if !allowed(g.permissions()[0]) {
				return fmt.Errorf("%s is denied", g.permissions()[0])
			}
			return nil
		})
	}
	for _, p := range without.permissions() {
		if allowed(p) {
			t.Errorf("%s is allowed without the rule of %s: another rule gives it too", p, without.role)
		}
	}
}

// giveAll gives a user the rules, by a role for each namespace and one for the
// cluster.
func giveAll(t *testing.T, client kubernetes.Interface, user string, grants []grant) {
	t.Helper()
	byNamespace := map[string][]rbacv1.PolicyRule{}
	for _, g := range grants {
		byNamespace[g.namespace] = append(byNamespace[g.namespace], g.rule)
	}
	meta := metav1.ObjectMeta{Name: user, Labels: map[string]string{testLabel: "rbac"}}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	for namespace, rules := range byNamespace {
		var err error
		if namespace == "" {
			_, err = client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
			if err == nil {
				ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}
				_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
			}
		} else {
			mustKubectl(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n", "apply", "-f", "-")
			_, err = client.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
			if err == nil {
				ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}
				_, err = client.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// testLabel marks what testRBAC makes.
const testLabel = "gammaguard.test/made-by"
