//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clientConfig returns an administrator's.
func clientConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", clusterFile(t, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// writes are all that gammaguard may write, beside what every ServiceAccount may.
var writes = []string{
	"gateway.networking.k8s.io/grpcroutes/status", "gateway.networking.k8s.io/httproutes/status",
	"gateway.networking.k8s.io/tcproutes/status", "gateway.networking.k8s.io/tlsroutes/status",
	"gateway.networking.k8s.io/udproutes/status",
	"events.k8s.io/events",
	"/events",
	"coordination.k8s.io/leases",
	"coordination.k8s.io/leases gammaguard-webhook",
	"rbac.authorization.k8s.io/clusterrolebindings gammaguard-serving",
	"rbac.authorization.k8s.io/clusterroles gammaguard-serving", // bind
	"gammaguard.dev/webhooks",                                   // there are none
}

// inSystem says that gammaguard may write it in its own namespace alone.
func inSystem(permission string) bool {
	return permission == "/events" || strings.Contains(permission, "/leases") || strings.HasPrefix(permission, "/secrets")
}

// selfManagedWrites are what it may write beside, where it manages its own
// certificate: objects by name.
var selfManagedWrites = []string{
	"/secrets " + certificateSecret,
	"admissionregistration.k8s.io/mutatingwebhookconfigurations gammaguard",
	"admissionregistration.k8s.io/validatingwebhookconfigurations gammaguard",
}

// testPermissions looks at what kubectl auth can-i --list shows of gammaguard's
// ServiceAccount.
func (o *overlay) testPermissions(t *testing.T) {
	for _, namespace := range []string{system, "shop"} {
		for _, rule := range rulesOf(t, namespace) {
			for _, permission := range permissions(rule) {
				allowed := slices.Contains(writes, permission) || !o.certManager && slices.Contains(selfManagedWrites, permission)
				allowed = allowed && (namespace == system || !inSystem(permission))
				switch {
				case allowed, strings.HasPrefix(permission, "authorization.k8s.io/self"), strings.HasPrefix(permission, "authentication.k8s.io/self"):
				case len(writing(rule.Verbs)) > 0:
					t.Errorf("in namespace %s, gammaguard may %s %s", namespace, strings.Join(writing(rule.Verbs), ", "), permission)
				case strings.HasPrefix(permission, "/secrets"), strings.Contains(permission, "*"):
					t.Errorf("in namespace %s, gammaguard may read %s", namespace, permission)
				}
			}
		}
	}
}

// rulesOf returns what gammaguard's ServiceAccount may do in a namespace.
func rulesOf(t *testing.T, namespace string) []authorizationv1.ResourceRule {
	t.Helper()
	config := clientConfig(t)
	config.Impersonate = rest.ImpersonationConfig{UserName: serviceAccount, Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:" + system, "system:authenticated",
	}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if review.Status.Incomplete || len(review.Status.ResourceRules) == 0 {
		t.Fatalf("incomplete: %+v", review.Status)
	}
	return review.Status.ResourceRules
}

// permissions returns what the rule is about: "group/resource", or
// "group/resource name".
func permissions(rule authorizationv1.ResourceRule) []string {
	var all []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if len(rule.ResourceNames) == 0 {
				all = append(all, group+"/"+resource)
			}
			for _, name := range rule.ResourceNames {
				all = append(all, fmt.Sprintf("%s/%s %s", group, resource, name))
			}
		}
	}
	return all
}

// writing returns the verbs that are not for reading.
func writing(verbs []string) []string {
	return slices.DeleteFunc(slices.Clone(verbs), func(verb string) bool {
		return verb == "get" || verb == "list" || verb == "watch"
	})
}
