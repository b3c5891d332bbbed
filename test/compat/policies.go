package compat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

const (
	// developer is a user who may change namespaces, and grants nothing.
	developer = "compat-developer"
	account   = "system:serviceaccount:gammaguard-system:gammaguard-webhook"
)

// TryPolicies has the policies of config/overlays/self-managed, which is installed, refuse
// what they are there for, and admit the rest. No gammaguard needs to run.
func TryPolicies(ctx context.Context, cp *bed.ControlPlane) error {
	admin, err := cp.Client()
	if err != nil {
		return err
	}
	named := metav1.ObjectMeta{Name: developer}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"update"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: developer},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: developer}},
		},
	} {
		if err := admin.Create(ctx, object); err != nil {
			return err
		}
	}
	var namespace corev1.Namespace
	if err := admin.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, &namespace); err != nil {
		return err
	}
	var webhooks admissionregistrationv1.ValidatingWebhookConfiguration
	if err := admin.Get(ctx, client.ObjectKey{Name: "gammaguard"}, &webhooks); err != nil {
		return err
	}
	label := func(key, value string) client.Object {
		labelled := namespace.DeepCopy()
		labelled.Labels[key] = value
		return labelled
	}
	registered := func(change func(*admissionregistrationv1.ValidatingWebhook)) client.Object {
		changed := webhooks.DeepCopy()
		change(&changed.Webhooks[0])
		return changed
	}
	ignore := admissionregistrationv1.Ignore
	return errors.Join(
		updated(ctx, cp, developer, label("team", "shop"), ""),
		updated(ctx, cp, developer, label(mesh.GrantLabel, string(mesh.GrantAll)), "gammaguard-grants"),
		updated(ctx, cp, account, registered(func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.CABundle = nil }), ""),
		updated(ctx, cp, account, registered(func(w *admissionregistrationv1.ValidatingWebhook) { w.FailurePolicy = &ignore }), "gammaguard-ca-bundle"),
	)
}

// updated has a user update the object in a dry run, and waits until the policy refuses
// it. Without a policy, it must be admitted.
func updated(ctx context.Context, cp *bed.ControlPlane, user string, object client.Object, policy string) error {
	config := rest.CopyConfig(cp.Config)
	config.Impersonate.UserName = user
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	return eventually(ctx, func() (bool, error) {
		err := c.Update(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
		if policy == "" {
			return true, err
		}
		if err == nil || !strings.Contains(err.Error(), "'"+policy+"'") {
			return false, fmt.Errorf("%s updates %T %s: want a refusal by the policy %s, got %w", user, object, object.GetName(), policy, err)
		}
		return true, nil
	})
}
