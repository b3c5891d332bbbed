package cluster

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Installed are the resources of which an installation creates some, by group; those of
// cert-manager only if it is used.
var Installed = []struct{ Group, Resource string }{
	{"", "namespaces"},
	{"", "serviceaccounts"},
	{"", "services"},
	{"", "configmaps"},
	{"", "secrets"},
	{"apps", "deployments"},
	{"policy", "poddisruptionbudgets"},
	{"scheduling.k8s.io", "priorityclasses"},
	{"networking.k8s.io", "networkpolicies"},
	{"rbac.authorization.k8s.io", "roles"},
	{"rbac.authorization.k8s.io", "rolebindings"},
	{"rbac.authorization.k8s.io", "clusterroles"},
	{"rbac.authorization.k8s.io", "clusterrolebindings"},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies"},
	{"admissionregistration.k8s.io", "validatingadmissionpolicybindings"},
	{"cert-manager.io", "issuers"},
	{"cert-manager.io", "certificates"},
}

// rights checks whether the user may create what an installation consists of.
func (c *Cluster) rights(ctx context.Context, options PreflightOptions) (Check, error) {
	const name = "your permissions"
	var lacking []string
	for _, of := range Installed {
		if of.Group == "cert-manager.io" && !options.CertManager || of.Resource == "secrets" && options.CertManager {
			continue
		}
		may, err := c.may(ctx, "create", of.Group, of.Resource)
		if err != nil {
			return Check{}, err
		}
		if !may {
			lacking = append(lacking, of.Resource)
		}
	}
	if len(lacking) > 0 {
		return Check{name, Fail, "you cannot create " + strings.Join(lacking, ", ")}, nil
	}
	escalate, err := c.may(ctx, "escalate", "rbac.authorization.k8s.io", "clusterroles")
	switch {
	case err != nil:
		return Check{}, err
	case !escalate:
		return Check{name, Unclear, "you can create the objects; for the roles, you need the rights in them too, or the verb escalate"}, nil
	}
	return Check{name, OK, "you can create all objects"}, nil
}

// may asks the API server whether the user may use the verb on all objects of the resource.
func (c *Cluster) may(ctx context.Context, verb, group, resource string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource}},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	answer, err := c.objects.Resource(authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")).
		Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether you may %s %s: %w", verb, resource, err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, review)
	return review.Status.Allowed, err
}
