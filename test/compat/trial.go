package compat

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// Result is what came of a release.
type Result struct {
	Release
	// Versions are those in which each kind of route is served; each was tried.
	Versions map[mesh.RouteKind][]string
	// Refused is what the API server says of the definitions that it refuses, by name.
	Refused map[string]string
}

// trial is a release that is being tried.
type trial struct {
	*testing.T
	plane     *bed.ControlPlane
	client    client.Client
	namespace string
	// endpoints are the kinds and versions that are served.
	endpoints []endpoint
}

// An endpoint is a kind of route in one of its versions, by its place in the definition.
type endpoint struct {
	kind    mesh.RouteKind
	version string
	place   int
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
// served. What is not as it should be fails the test.
func Try(t *testing.T, cp *bed.ControlPlane, g *guard.Guard, r Release) *Result {
	t.Helper()
	result := &Result{Release: r, Versions: map[mesh.RouteKind][]string{}, Refused: r.Install(t, cp)}
	c, err := cp.Client(apiextensionsv1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	try := &trial{T: t, plane: cp, client: c, namespace: strings.ReplaceAll("compat-"+r.Version+"-"+r.Channel, ".", "-")}
	try.discover()
	for _, e := range try.endpoints {
		result.Versions[e.kind] = append(result.Versions[e.kind], e.version)
	}
	try.admit()
	try.refuse()
	try.mark()
	if err := g.Ready(t.Context()); err != nil {
		t.Errorf("gammaguard is not ready: %v", err)
	}
	try.remove()
	if strings.Contains(g.Log(), "panic") {
		t.Error("there is a panic in gammaguard's log")
	}
	return result
}

// discover reads in the definitions which endpoints are served, and waits until they are.
func (t *trial) discover() {
	for _, kind := range mesh.RouteKinds() {
		var definition apiextensionsv1.CustomResourceDefinition
		err := t.client.Get(t.Context(), client.ObjectKey{Name: definitionOf(kind)}, &definition)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		for i, v := range definition.Spec.Versions {
			if v.Served {
				t.endpoints = append(t.endpoints, endpoint{kind, v.Name, i, v.Subresources != nil && v.Subresources.Status != nil})
			}
		}
	}
	t.awaitServed(t.endpoints, true)
}

// definitionOf is the name of the definition of a kind.
func definitionOf(kind mesh.RouteKind) string { return kind.Resource() + "." + mesh.GatewayGroup }

// awaitServed waits until the endpoints are served, or are not.
func (t *trial) awaitServed(endpoints []endpoint, want bool) {
	t.Helper()
	for _, e := range endpoints {
		background.Eventually(t, func() string {
			routes := &unstructured.UnstructuredList{}
			routes.SetAPIVersion(mesh.GatewayGroup + "/" + e.version)
			routes.SetKind(string(e.kind) + "List")
			err := t.client.List(t.Context(), routes)
			if want && err == nil || !want && apierrors.IsNotFound(err) {
				return ""
			}
			return fmt.Sprintf("%s: want it served: %t, but listing routes: %v", e, want, err)
		})
	}
}

// route is the endpoint's route in a namespace.
func (e endpoint) route(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": mesh.GatewayGroup + "/" + e.version, "kind": string(e.kind),
		"metadata": map[string]any{"namespace": namespace, "name": e.name()},
	}}
}

// create creates the endpoint's route on a Service, with a parentRef that lacks the group.
func (t *trial) create(e endpoint, namespace, service string) (*unstructured.Unstructured, error) {
	spec := map[string]any{
		"parentRefs": []any{map[string]any{"kind": mesh.ServiceKind, "name": service}},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": service, "port": int64(80)}}}},
	}
	if e.kind == mesh.TLSRoute {
		spec["hostnames"] = []any{"shop.example"}
	}
	route := e.route(namespace)
	route.Object["spec"] = spec
	return route, t.client.Create(t.Context(), route)
}

// ungranted is a namespace without a grant.
func (t *trial) ungranted() string { return t.namespace + "-ungranted" }

// apply makes the namespaces, and a Service for each endpoint, where they are missing.
func (t *trial) apply() {
	t.Helper()
	manifests := []string{
		fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s: %s}}}", t.namespace, mesh.GrantLabel, mesh.GrantAll),
		fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", t.ungranted()),
	}
	for _, e := range t.endpoints {
		const service = "{apiVersion: v1, kind: Service, metadata: {namespace: %s, name: %s}, spec: {ports: [{port: 80, protocol: %s}]}}"
		manifests = append(manifests, fmt.Sprintf(service, t.namespace, e.name(), e.kind.Transport()))
	}
	kubectl(t, t.plane, strings.Join(manifests, "\n---\n"), "apply", "--server-side", "-f", "-")
}

// admit has a route of each endpoint stored, with the group of the parentRef set.
func (t *trial) admit() {
	t.apply()
	for _, e := range t.endpoints {
		route, err := t.create(e, t.namespace, e.name())
		if err != nil {
			t.Fatalf("%s: want it admitted: %v", e, err)
		}
		parents, _, err := unstructured.NestedSlice(route.Object, "spec", "parentRefs")
		if err != nil || parents[0].(map[string]any)["group"] != "" {
			t.Errorf("%s: stored with parentRefs %v (%v), want the group set", e, parents, err)
		}
	}
}

// refuse has routes of each endpoint refused: without a grant, and without a Service.
func (t *trial) refuse() {
	for _, e := range t.endpoints {
		for namespace, rule := range map[string]string{t.ungranted(): "(grant-missing)", t.namespace: "(parent-not-found)"} {
			if _, err := t.create(e, namespace, "missing"); err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s: want a refusal by %s, got %v", e, rule, err)
			}
		}
	}
}

// mark has the Services of the routes go and come back, and the status follow. In between,
// one version of each kind that has several is not served.
func (t *trial) mark() {
	first, others := t.split()
	t.serve(first, false)
	t.deleteServices()
	t.wantReason(others, "NoMatchingParent")
	t.serve(first, true)
	t.apply()
	t.wantReason(t.endpoints, "")
}

func (t *trial) deleteServices() {
	t.Helper()
	kubectl(t, t.plane, "", "delete", "services", "--all", "--namespace", t.namespace)
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
func (t *trial) serve(endpoints []endpoint, served bool) {
	t.Helper()
	for _, e := range endpoints {
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/versions/%d/served", "value": %t}]`, e.place, served)
		kubectl(t, t.plane, "", "patch", "crd", definitionOf(e.kind), "--type=json", "--patch", patch)
	}
	t.awaitServed(endpoints, served)
}

// wantReason waits until gammaguard's entries in the status of each route have the
// reason; with none, until there is no entry.
func (t *trial) wantReason(endpoints []endpoint, want string) {
	t.Helper()
	for _, e := range endpoints {
		background.Eventually(t, func() string {
			stored := e.route(t.namespace)
			err := t.client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored)
			var route struct {
				Status gatewayv1.RouteStatus `json:"status"`
			}
			if err == nil {
				err = runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &route)
			}
			got := ""
			for _, entry := range route.Status.Parents {
				if entry.ControllerName == desired.ControllerName {
					got = entry.Conditions[0].Reason
				}
			}
			if err == nil && got == want {
				return ""
			}
			return fmt.Sprintf("%s: reason %q in status, want %q: %v", e, got, want, err)
		})
	}
}

// remove deletes the routes, and their Services.
func (t *trial) remove() {
	for _, e := range t.endpoints {
		if err := t.client.Delete(t.Context(), e.route(t.namespace)); err != nil {
			t.Errorf("delete %s: %v", e, err)
		}
	}
	t.deleteServices()
}
