package cluster

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// The names of what gives gammaguard's ServiceAccount its permissions, and of the policies that limit them.
const (
	ownRole       = "gammaguard-webhook" // of the ClusterRole and the ClusterRoleBinding
	accountPolicy = "gammaguard-service-account"
	eventsPolicy  = "gammaguard-events"
)

// permissions reports a role or a binding that is gone, without which no replica becomes ready.
func (i *installation) permissions() {
	for _, resource := range []string{"clusterroles", "clusterrolebindings"} {
		var object rbacv1.ClusterRole // of either, only whether it exists matters
		if result, lack := i.read(rbacv1.SchemeGroupVersion.WithResource(resource), "", ownRole, &object); result == Fail {
			i.add("permissions", Warn, "%s: unless you renamed it, gammaguard cannot read what it needs; apply the overlay again", lack)
			return
		}
	}
}

// statusNames reports names in status that the configuration sets and that the policies do not have: the API server refuses to write them.
func (i *installation) statusNames() {
	if i.configuration == nil {
		return
	}
	status := &i.configuration.Status
	for _, of := range []struct {
		policy, refuses string
		names           []string
	}{
		{accountPolicy, "what gammaguard writes into the status of routes", slices.Concat([]string{status.ControllerName}, status.FormerControllerNames)},
		{eventsPolicy, "gammaguard's Events", []string{status.ConflictReason}},
	} {
		var policy admissionv1.ValidatingAdmissionPolicy
		if result, _ := i.read(admissionv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies"), "", of.policy, &policy); result != OK {
			continue // without it, nothing is refused
		}
		lacking := slices.DeleteFunc(slices.Clone(of.names), func(name string) bool {
			return slices.ContainsFunc(policy.Spec.Variables, func(v admissionv1.Variable) bool { return strings.Contains(v.Expression, "'"+name+"'") })
		})
		if len(lacking) > 0 {
			i.add("names in status", Fail, "ValidatingAdmissionPolicy %s does not have %s of the configuration, so the API server refuses %s: see Names in status in docs/configuration.md",
				of.policy, strings.Join(lacking, ", "), of.refuses)
		}
	}
}
