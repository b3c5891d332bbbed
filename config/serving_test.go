package config

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestServingIsNoted: in each overlay, gammaguard has the binding by which the webhooks
// begin to refuse.
func TestServingIsNoted(t *testing.T) {
	for _, folder := range overlays {
		args := only[*appsv1.Deployment](t, render(t, folder), "").Spec.Template.Spec.Containers[0].Args
		if !slices.Contains(args, "--serving-binding="+ServingBinding) {
			t.Errorf("%s: nobody notes that gammaguard has served: %v", folder, args)
		}
	}
}

// TestRegistrationsComeLast: kubectl applies the webhook configurations after all that
// they need.
func TestRegistrationsComeLast(t *testing.T) {
	for _, folder := range overlays {
		objects := render(t, folder)
		if n := len(objects); len(registrations(objects)) != 2 || len(registrations(objects[n-2:])) != 2 {
			t.Errorf("%s: the last objects are %s and %s", folder, objects[n-2].GetName(), objects[n-1].GetName())
		}
	}
}

func registrations(objects []client.Object) []client.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(object client.Object) bool {
		switch object.(type) {
		case *admissionv1.ValidatingWebhookConfiguration, *admissionv1.MutatingWebhookConfiguration:
			return false
		}
		return true
	})
}
