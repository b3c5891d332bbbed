package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unguarded are the resources that shape mesh traffic as a route does and that gammaguard
// does not guard, by group. RBAC closes them: see docs/unguarded.md.
var Unguarded = []struct{ Group, Resource string }{
	{"networking.istio.io", "virtualservices"},
	{"networking.istio.io", "destinationrules"},
	{"networking.istio.io", "serviceentries"},
	{"networking.istio.io", "envoyfilters"},
	{"networking.istio.io", "sidecars"},
	{"kuma.io", "meshhttproutes"},
	{"kuma.io", "meshtcproutes"},
	{"linkerd.io", "serviceprofiles"},
	{"cilium.io", "ciliumenvoyconfigs"},
	{"cilium.io", "ciliumclusterwideenvoyconfigs"},
	{"consul.hashicorp.com", "servicerouters"},
	{"consul.hashicorp.com", "servicesplitters"},
	{"consul.hashicorp.com", "serviceresolvers"},
	{"gateway.networking.k8s.io", "backendtlspolicies"},
	{"gateway.networking.x-k8s.io", "xbackendtrafficpolicies"},
}

// maxWriters is how many subjects are named.
const maxWriters = 20

// unguarded reports who may write what shapes mesh traffic and is not guarded, by the roles
// and bindings that the user may read.
func (c *Cluster) unguarded(ctx context.Context, groups *metav1.APIGroupList) (Check, error) {
	const name = "not guarded"
	served, err := c.servedUnguarded(groups)
	if err != nil {
		return Check{}, err
	}
	if len(served) == 0 {
		return Check{name, OK, "the cluster serves no other API that shapes mesh traffic"}, nil
	}
	writers, unread := c.writers(ctx, served)
	var named []string
	for _, subject := range slices.Sorted(maps.Keys(writers)) {
		which := strings.Join(slices.Sorted(maps.Keys(writers[subject])), ", ")
		if len(writers[subject]) == len(served) {
			which = "all of them"
		}
		named = append(named, subject+" ("+which+")")
	}
	if more := len(named) - maxWriters; more > 0 {
		named = append(named[:maxWriters], fmt.Sprintf("and %d more", more))
	}
	details := strings.Join(served, ", ") + " shape mesh traffic and need no grant (see docs/unguarded.md); "
	result := OK
	switch {
	case len(named) > 0:
		result = Warn
		details += "may write them: " + strings.Join(named, ", ")
	case len(unread) == 0:
		details += "only the system may write them"
	default:
		details += "who may write them cannot be determined"
	}
	if len(unread) > 0 {
		details += "; you cannot read " + strings.Join(unread, ", ")
		if result == OK {
			result = Unclear
		}
	}
	return Check{name, result, details}, nil
}

// servedUnguarded returns those of Unguarded that the cluster serves, as "resource.group".
func (c *Cluster) servedUnguarded(groups *metav1.APIGroupList) ([]string, error) {
	var served []string
	for _, group := range groups.Groups {
		if !slices.ContainsFunc(Unguarded, func(of struct{ Group, Resource string }) bool { return of.Group == group.Name }) {
			continue
		}
		for _, v := range group.Versions {
			resources, err := c.discovery.ServerResourcesForGroupVersion(v.GroupVersion)
			if err != nil {
				return nil, fmt.Errorf("ask what %s has: %w", v.GroupVersion, err)
			}
			for _, of := range Unguarded {
				if of.Group == group.Name && slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == of.Resource }) {
					served = append(served, of.Resource+"."+of.Group)
				}
			}
		}
	}
	slices.Sort(served)
	return slices.Compact(served), nil
}

// writers returns who may write which of the resources, and which kinds of RBAC could not be
// read. The keys read "User dev in namespace shop".
func (c *Cluster) writers(ctx context.Context, resources []string) (by map[string]map[string]bool, unread []string) {
	by = map[string]map[string]bool{}
	read := func(resource string) []rbacv1.ClusterRole {
		// Roles and ClusterRoles have alike what is read of them.
		objects, ok := listAs[rbacv1.ClusterRole](ctx, c, resource)
		if !ok {
			unread = append(unread, resource)
		}
		return objects
	}
	written := map[string][]string{} // by kind, namespace and name of the role
	for kind, resource := range map[string]string{"ClusterRole": "clusterroles", "Role": "roles"} {
		for _, role := range read(resource) {
			for _, of := range resources {
				if slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return writes(&rule, of) }) {
					key := kind + " " + role.Namespace + "/" + role.Name
					written[key] = append(written[key], of)
				}
			}
		}
	}
	for _, resource := range []string{"clusterrolebindings", "rolebindings"} {
		bindings, ok := listAs[rbacv1.RoleBinding](ctx, c, resource)
		if !ok {
			unread = append(unread, resource)
		}
		for i := range bindings {
			binding := &bindings[i]
			key := binding.RoleRef.Kind + " /" + binding.RoleRef.Name
			if binding.RoleRef.Kind == "Role" {
				key = "Role " + binding.Namespace + "/" + binding.RoleRef.Name
			}
			for _, subject := range writersOf(binding) {
				for _, of := range written[key] {
					if by[subject] == nil {
						by[subject] = map[string]bool{}
					}
					by[subject][of] = true
				}
			}
		}
	}
	slices.Sort(unread)
	return by, unread
}

// writes reports whether the rule allows writing the resource, "resource.group".
func writes(rule *rbacv1.PolicyRule, of string) bool {
	resource, group, _ := strings.Cut(of, ".")
	has := func(values []string, wanted ...string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return v == "*" || slices.Contains(wanted, v) })
	}
	return has(rule.APIGroups, group) && has(rule.Resources, resource) && has(rule.Verbs, "create", "update", "patch")
}

// writersOf returns the subjects of the binding in words, without those of Kubernetes itself.
func writersOf(binding *rbacv1.RoleBinding) []string {
	where := ""
	if binding.Namespace != "" {
		where = " in namespace " + binding.Namespace
	}
	var subjects []string
	for _, subject := range binding.Subjects {
		own := strings.HasPrefix(subject.Name, "system:") && !everybody(subject.Name)
		name := subject.Name
		if subject.Kind == rbacv1.ServiceAccountKind {
			own = subject.Namespace == metav1.NamespaceSystem && strings.HasPrefix(binding.Name, "system:")
			name = subject.Namespace + "/" + subject.Name
		}
		if !own {
			subjects = append(subjects, subject.Kind+" "+name+where)
		}
	}
	return subjects
}

// everybody reports whether the group is one that users or Pods are in without being named.
func everybody(group string) bool {
	return group == "system:authenticated" || group == "system:unauthenticated" || strings.HasPrefix(group, "system:serviceaccount")
}

// listAs lists all objects of a resource of RBAC; it is not ok where the user may not.
func listAs[T any](ctx context.Context, c *Cluster, resource string) (objects []T, ok bool) {
	list, err := c.objects.Resource(rbacv1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, false
	}
	for i := range list.Items {
		var object T
		if runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &object) != nil {
			return objects, false
		}
		objects = append(objects, object)
	}
	return objects, true
}
