package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestRights holds what gammaguard's ServiceAccount may do to a list.
func TestRights(t *testing.T) {
	kinds := func(subresource string) string { return strings.Join(resources(mesh.RouteKinds(), subresource), ",") }
	everywhere := []string{
		"get,list,watch namespaces,services",
		"get,list,watch serviceimports.multicluster.x-k8s.io",
		"list,watch endpointslices.discovery.k8s.io",
		"list,watch referencegrants.gateway.networking.k8s.io",
		"get serviceentries.networking.istio.io",
		"get meshservices.kuma.io",
		"get egressnetworks,servers,unmeshednetworks.policy.linkerd.io",
		"get serviceprofiles.linkerd.io",
		"get,list,watch " + kinds("") + ".gateway.networking.k8s.io",
		"patch " + kinds("/status") + ".gateway.networking.k8s.io",
		"create,patch events.events.k8s.io",
		"get validatingadmissionpolicies.admissionregistration.k8s.io gammaguard-route-grants",
		"get validatingadmissionpolicybindings.admissionregistration.k8s.io gammaguard-route-grants-audit,gammaguard-route-grants-enforce," +
			"gammaguard-route-grants-unlabeled,gammaguard-route-grants-warn",
		"get,update clusterrolebindings.rbac.authorization.k8s.io gammaguard-serving",
		"bind clusterroles.rbac.authorization.k8s.io gammaguard-serving",
	}
	atHome := []string{
		"create leases.coordination.k8s.io in gammaguard-system",
		"get,update leases.coordination.k8s.io gammaguard-webhook in gammaguard-system",
		"create events in gammaguard-system",
	}
	certManager := []string{"get certificates.cert-manager.io gammaguard-serving-cert in gammaguard-system"}
	selfManaged := []string{
		"list,watch,update secrets gammaguard-webhook-cert in gammaguard-system",
		"get,list,watch,update mutatingwebhookconfigurations,validatingwebhookconfigurations.admissionregistration.k8s.io gammaguard",
	}
	for _, folder := range overlays {
		want := slices.Concat(everywhere, atHome, certManager)
		if folder == "overlays/self-managed" {
			want = slices.Concat(everywhere, atHome, selfManaged)
		}
		got := rights(t, render(t, folder))
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}

// TestRightsOfReports holds what the component adds to a list.
func TestRightsOfReports(t *testing.T) {
	role := manifest[rbacv1.ClusterRole](t, "components/openreports/rbac.yaml", 0)
	binding := manifest[rbacv1.ClusterRoleBinding](t, "components/openreports/rbac.yaml", 1)
	got := rights(t, []client.Object{role, binding})
	if diff := cmp.Diff([]string{"list,create,patch,delete reports.openreports.io"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// rights returns the rules that are bound to the ServiceAccount.
func rights(t *testing.T, objects []client.Object) []string {
	t.Helper()
	rules := map[rbacv1.RoleRef][]rbacv1.PolicyRule{}
	for _, object := range objects {
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			rules[rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}] = role.Rules
		case *rbacv1.Role:
			rules[rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}] = role.Rules
		}
	}
	account := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "gammaguard-webhook", Namespace: "gammaguard-system"}}
	var all []string
	add := func(ref rbacv1.RoleRef, subjects []rbacv1.Subject, where string) {
		if diff := cmp.Diff(account, subjects); diff != "" {
			t.Errorf("subjects of the binding of %s (-want +got):\n%s", ref.Name, diff)
		}
		for _, rule := range rules[ref] {
			if len(rule.APIGroups) != 1 {
				t.Errorf("%s: a rule is to speak of one group: %v", ref.Name, rule.APIGroups)
			}
			text := strings.Join(rule.Verbs, ",") + " " + strings.Join(rule.Resources, ",")
			text = strings.TrimSuffix(text+"."+strings.Join(rule.APIGroups, ","), ".")
			all = append(all, strings.TrimSpace(text+" "+strings.Join(rule.ResourceNames, ","))+where)
		}
	}
	for _, object := range objects {
		switch binding := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			if binding.Name == ServingBinding { // gammaguard adds itself
				if len(binding.Subjects) > 0 || binding.RoleRef.Name != ServingBinding {
					t.Errorf("%s binds %v to %s", binding.Name, binding.Subjects, binding.RoleRef.Name)
				}
				continue
			}
			add(binding.RoleRef, binding.Subjects, "")
		case *rbacv1.RoleBinding:
			add(binding.RoleRef, binding.Subjects, " in "+binding.Namespace)
		}
	}
	return all
}
