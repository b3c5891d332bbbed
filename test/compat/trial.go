package compat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// Result is what came of a release that was tried without a fault.
type Result struct {
	Release
	// Versions are those in which each kind of route is served; each was tried.
	Versions map[mesh.RouteKind][]string
	// Refused is what the API server says of the definitions that it refuses, by name.
	Refused map[string]string
}

// trial is a release that is being tried.
type trial struct {
	client    client.Client
	dynamic   dynamic.Interface
	namespace string
	// endpoints are the kinds and versions that are served.
	endpoints []endpoint
}

// An endpoint is a kind of route in one of its versions.
type endpoint struct {
	kind    mesh.RouteKind
	version string
	// status says that it has the subresource, without which no status can be written in
	// this version: GRPCRoute v1alpha2 of Gateway API v1.1 lacks it.
	status bool
}

func (e endpoint) String() string { return string(e.kind) + " " + e.version }

// name is that of the endpoint's route, and of the Service that it is on.
func (e endpoint) name() string { return e.kind.Resource() + "-" + e.version }

// Try installs the release in place of what the cluster has of the Gateway API, while
// gammaguard runs in front of it, and has routes of every kind, in each version that is
// served, admitted, mutated, refused, and marked, while versions stop and start being
// served. The error names what is not as it should be.
func Try(ctx context.Context, cp *bed.ControlPlane, g *guard.Guard, r Release) (*Result, error) {
	refused, err := r.Install(ctx, cp)
	if err != nil {
		return nil, err
	}
	t := &trial{namespace: strings.ReplaceAll("compat-"+r.Version+"-"+r.Channel, ".", "-")}
	if t.client, err = cp.Client(apiextensionsv1.AddToScheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(cp.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if t.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	result := &Result{Release: r, Versions: map[mesh.RouteKind][]string{}, Refused: refused}
	if err := t.discover(ctx); err != nil {
		return nil, err
	}
	for _, e := range t.endpoints {
		result.Versions[e.kind] = append(result.Versions[e.kind], e.version)
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"admit", t.admit},
		{"refuse", t.refuse},
		{"mark", t.mark},
		{"be ready", g.Ready},
		{"let go", t.remove},
	} {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: gammaguard does not %s as it should: %w", r, step.what, err)
		}
	}
	if strings.Contains(g.Log(), "panic") {
		return nil, fmt.Errorf("%s: there is a panic in gammaguard's log", r)
	}
	return result, nil
}

// discover reads in the definitions which endpoints are served, and waits until they are.
func (t *trial) discover(ctx context.Context) error {
	for _, kind := range mesh.RouteKinds() {
		var definition apiextensionsv1.CustomResourceDefinition
		err := t.client.Get(ctx, client.ObjectKey{Name: definitionOf(kind)}, &definition)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		for _, v := range definition.Spec.Versions {
			if v.Served {
				t.endpoints = append(t.endpoints, endpoint{kind, v.Name, v.Subresources != nil && v.Subresources.Status != nil})
			}
		}
	}
	return t.areServed(ctx, t.endpoints, true)
}

// definitionOf is the name of the definition of a kind.
func definitionOf(kind mesh.RouteKind) string { return kind.Resource() + "." + mesh.GatewayGroup }

// areServed waits until the endpoints are served, or are not.
func (t *trial) areServed(ctx context.Context, endpoints []endpoint, want bool) error {
	return each(ctx, endpoints, func(e endpoint) (bool, error) {
		_, err := t.routes(e, t.namespace).List(ctx, metav1.ListOptions{})
		if want || err != nil && !apierrors.IsNotFound(err) {
			return err == nil, err
		}
		return err != nil, nil
	})
}

// each waits until the condition is done for each endpoint.
func each(ctx context.Context, endpoints []endpoint, condition func(e endpoint) (done bool, err error)) error {
	var errs []error
	for _, e := range endpoints {
		if err := eventually(ctx, func() (bool, error) { return condition(e) }); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e, err))
		}
	}
	return errors.Join(errs...)
}

func (t *trial) routes(e endpoint, namespace string) dynamic.ResourceInterface {
	return t.dynamic.Resource(schema.GroupVersionResource{Group: mesh.GatewayGroup, Version: e.version, Resource: e.kind.Resource()}).Namespace(namespace)
}

// create creates a route on a Service, whose parentRef lacks the group.
func (t *trial) create(ctx context.Context, e endpoint, namespace, service string) (*unstructured.Unstructured, error) {
	spec := map[string]any{
		"parentRefs": []any{map[string]any{"kind": mesh.ServiceKind, "name": service}},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": service, "port": int64(80)}}}},
	}
	if e.kind == mesh.TLSRoute {
		spec["hostnames"] = []any{"shop.example"}
	}
	return t.routes(e, namespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": mesh.GatewayGroup + "/" + e.version, "kind": string(e.kind),
		"metadata": map[string]any{"name": e.name()}, "spec": spec,
	}}, metav1.CreateOptions{})
}

// admit has a route of each endpoint stored, with the group of the parentRef set.
func (t *trial) admit(ctx context.Context) error {
	for _, namespace := range []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: t.namespace, Labels: map[string]string{mesh.GrantLabel: string(mesh.GrantAll)}}},
		{ObjectMeta: metav1.ObjectMeta{Name: t.ungranted()}},
	} {
		if err := t.client.Create(ctx, namespace); err != nil {
			return err
		}
	}
	if err := t.services(ctx, func(service *corev1.Service) error { return t.client.Create(ctx, service) }); err != nil {
		return err
	}
	return each(ctx, t.endpoints, func(e endpoint) (bool, error) {
		route, err := t.create(ctx, e, t.namespace, e.name())
		if err != nil {
			return true, err
		}
		parents, _, err := unstructured.NestedSlice(route.Object, "spec", "parentRefs")
		if err == nil && parents[0].(map[string]any)["group"] != "" {
			err = fmt.Errorf("stored with parentRefs %v", parents)
		}
		return true, err
	})
}

func (t *trial) ungranted() string { return t.namespace + "-ungranted" }

// services does something with the Service of each endpoint.
func (t *trial) services(ctx context.Context, do func(*corev1.Service) error) error {
	return each(ctx, t.endpoints, func(e endpoint) (bool, error) {
		return true, do(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: e.name()},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.Protocol(e.kind.Transport())}}},
		})
	})
}

// refuse has routes of each endpoint refused: without a grant, and without a Service.
func (t *trial) refuse(ctx context.Context) error {
	return each(ctx, t.endpoints, func(e endpoint) (bool, error) {
		for namespace, rule := range map[string]string{t.ungranted(): "(grant-missing)", t.namespace: "(parent-not-found)"} {
			if _, err := t.create(ctx, e, namespace, "missing"); err == nil || !strings.Contains(err.Error(), rule) {
				return true, fmt.Errorf("want a refusal by %s, got %w", rule, err)
			}
		}
		return true, nil
	})
}

// remove deletes the routes, and their Services.
func (t *trial) remove(ctx context.Context) error {
	return errors.Join(
		each(ctx, t.endpoints, func(e endpoint) (bool, error) {
			return true, t.routes(e, t.namespace).Delete(ctx, e.name(), metav1.DeleteOptions{})
		}),
		t.services(ctx, func(service *corev1.Service) error { return t.client.Delete(ctx, service) }),
	)
}
