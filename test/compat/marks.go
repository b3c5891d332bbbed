package compat

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// mark has the Services of the routes go and come back, and the status follow. In between,
// one version of each kind that has several is not served.
func (t *trial) mark(ctx context.Context) error {
	first, others := t.split()
	return inOrder(
		func() error { return t.serve(ctx, first, false) },
		func() error {
			return t.services(ctx, func(service *corev1.Service) error { return t.client.Delete(ctx, service) })
		},
		func() error { return t.wantReason(ctx, others, "NoMatchingParent") },
		func() error { return t.serve(ctx, first, true) },
		func() error {
			return t.services(ctx, func(service *corev1.Service) error { return t.client.Create(ctx, service) })
		},
		func() error { return t.wantReason(ctx, t.endpoints, "") },
	)
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// split takes the version that gammaguard prefers from each kind that has others in which
// it can write status.
func (t *trial) split() (first, others []endpoint) {
	byKind := map[mesh.RouteKind][]endpoint{}
	for _, e := range t.endpoints {
		byKind[e.kind] = append(byKind[e.kind], e)
	}
	for _, all := range byKind {
		slices.SortFunc(all, func(a, b endpoint) int { return version.CompareKubeAwareVersionStrings(b.version, a.version) })
		if len(all) > 1 && all[1].status {
			first, all = append(first, all[0]), all[1:]
		}
		others = append(others, all...)
	}
	return first, others
}

// serve has the endpoints served, or not served, by their definitions.
func (t *trial) serve(ctx context.Context, endpoints []endpoint, served bool) error {
	for _, e := range endpoints {
		var definition apiextensionsv1.CustomResourceDefinition
		if err := t.client.Get(ctx, client.ObjectKey{Name: definitionOf(e.kind)}, &definition); err != nil {
			return err
		}
		index := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == e.version })
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/versions/%d/served", "value": %t}]`, index, served)
		if err := t.client.Patch(ctx, &definition, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
			return err
		}
	}
	return t.areServed(ctx, endpoints, served)
}

// wantReason waits until gammaguard's entries in the status of each route have the
// reason; with none, until there is no entry.
func (t *trial) wantReason(ctx context.Context, endpoints []endpoint, want string) error {
	return each(ctx, endpoints, func(e endpoint) (bool, error) {
		route, err := t.routes(e, t.namespace).Get(ctx, e.name(), metav1.GetOptions{})
		if err != nil {
			return true, err
		}
		parents, _, err := unstructured.NestedSlice(route.Object, "status", "parents")
		got := ""
		for _, parent := range parents {
			if entry := parent.(map[string]any); entry["controllerName"] == desired.ControllerName {
				got = fmt.Sprint(entry["conditions"].([]any)[0].(map[string]any)["reason"])
			}
		}
		if err == nil && got != want {
			return false, fmt.Errorf("reason %q in status, want %q", got, want)
		}
		return true, err
	})
}
