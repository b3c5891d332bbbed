package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// barrier tells when gammaguard has seen all that was done before: it changes an
// object of each kind that gammaguard watches, and waits until the status that
// follows from the change is there. Watches keep the order of events, and status
// is settled in the order of events, so that whatever was done before has been
// seen then.
type barrier struct {
	client client.Client
	// round counts how often it was passed.
	round int64
}

// The namespaces that hold the objects: the second one loses and gets its grant.
const (
	barrierNamespace        = "scenario-barrier"
	barrierGrantedNamespace = "scenario-barrier-granted"
)

// barrierTimeout bounds one passage.
const barrierTimeout = 20 * time.Second

// create creates a Service and, for each kind, a route on it. None of them does
// ever attach.
func (b *barrier) create(ctx context.Context) error {
	objects := []map[string]any{
		namespace(barrierNamespace, mesh.GrantAll), namespace(barrierGrantedNamespace, mesh.GrantAll),
		service("routes", 1), service("service", 1),
		routeOn(barrierNamespace, "service", mesh.HTTPRoute), routeOn(barrierGrantedNamespace, "none", mesh.HTTPRoute),
	}
	for _, kind := range mesh.RouteKinds() {
		objects = append(objects, routeOn(barrierNamespace, "routes", kind))
	}
	for _, object := range objects {
		if err := b.client.Create(ctx, &unstructured.Unstructured{Object: object}); err != nil {
			return fmt.Errorf("create the barrier's %s: %w", object["kind"], err)
		}
	}
	return nil
}

// namespace returns a namespace in which gammaguard writes status, whatever its
// configuration.
func namespace(name string, grant mesh.Grant) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": name, "labels": map[string]any{mesh.GrantLabel: string(grant), mesh.ModeLabel: string(mesh.Enforce)},
	}}
}

func service(name string, port int64) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": barrierNamespace, "name": name},
		"spec": map[string]any{"ports": []any{map[string]any{"port": port}}},
	}
}

// routeOn returns a route on the Service of the same name.
func routeOn(namespace, name string, kind mesh.RouteKind) map[string]any {
	route := map[string]any{
		"apiVersion": mesh.GatewayGroup + "/v1", "kind": string(kind),
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"parentRefs": []any{map[string]any{"group": "", "kind": "Service", "name": name, "port": int64(1)}},
			"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": name, "port": int64(1)}}}},
		},
	}
	if kind == mesh.TLSRoute {
		route["spec"].(map[string]any)["hostnames"] = []any{"barrier.example.com"} //nolint:forcetypeassert // it was made above
	}
	return route
}

// pass waits until all that was done before has been seen.
func (b *barrier) pass(ctx context.Context, scenario *Scenario) error {
	b.round++
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	kinds := []mesh.RouteKind{mesh.HTTPRoute}
	for _, document := range scenario.documents() {
		if kind := mesh.RouteKind(document.Key.Kind); document.IsRoute() && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	controller := scenario.Config.Status.ControllerName
	for _, kind := range kinds {
		if err := b.byRoute(ctx, kind, controller); err != nil {
			return fmt.Errorf("wait until gammaguard sees a %s: %w", kind, err)
		}
	}
	if err := b.byService(ctx, controller); err != nil {
		return fmt.Errorf("wait until gammaguard sees a Service: %w", err)
	}
	if err := b.byNamespace(ctx, controller); err != nil {
		return fmt.Errorf("wait until gammaguard sees a Namespace: %w", err)
	}
	return nil
}

// byRoute has a route name another port that its Service does not have.
func (b *barrier) byRoute(ctx context.Context, kind mesh.RouteKind, controller string) error {
	route := &unstructured.Unstructured{Object: routeOn(barrierNamespace, "routes", kind)}
	port := 2 + b.round%60000
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/parentRefs/0/port", "value": %d}]`, port)
	if err := b.client.Patch(ctx, route, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		return err
	}
	generation := route.GetGeneration()
	return b.await(ctx, route, controller, func(reason string, observed int64) bool { return reason != "" && observed >= generation })
}

// byService gives the Service the port that its route names, or takes it away.
func (b *barrier) byService(ctx context.Context, controller string) error {
	port, want := int64(1), ""
	if b.round%2 == 0 {
		port, want = 2, desired.NoMatchingParent
	}
	object := &unstructured.Unstructured{Object: service("service", port)}
	patch, err := json.Marshal(map[string]any{"spec": object.Object["spec"]})
	if err != nil {
		return err
	}
	if err := b.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	return b.await(ctx, &unstructured.Unstructured{Object: routeOn(barrierNamespace, "service", mesh.HTTPRoute)}, controller,
		func(reason string, _ int64) bool { return reason == want })
}

// byNamespace takes the grant from the namespace, or gives it back. Its route has
// no Service either way.
func (b *barrier) byNamespace(ctx context.Context, controller string) error {
	grant, want := mesh.GrantAll, desired.NoMatchingParent
	if b.round%2 == 0 {
		grant, want = mesh.GrantNone, desired.NamespaceNotGranted
	}
	object := &unstructured.Unstructured{Object: namespace(barrierGrantedNamespace, grant)}
	patch, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	if err := b.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	return b.await(ctx, &unstructured.Unstructured{Object: routeOn(barrierGrantedNamespace, "none", mesh.HTTPRoute)}, controller,
		func(reason string, _ int64) bool { return reason == want })
}

// await waits until the route's entry has the wanted reason and generation: none
// and zero where there is no entry.
func (b *barrier) await(ctx context.Context, route *unstructured.Unstructured, controller string, done func(reason string, observed int64) bool) error {
	return poll(ctx, barrierTimeout, func(ctx context.Context) (bool, error) {
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
			return false, err
		}
		text, err := route.MarshalJSON()
		if err != nil {
			return false, err
		}
		entries, err := entriesOf(text, controller)
		if err != nil || len(entries) == 0 || len(entries[0].Conditions) == 0 {
			return err == nil && done("", 0), err
		}
		condition := entries[0].Conditions[0]
		return done(condition.Reason, condition.ObservedGeneration), nil
	})
}
