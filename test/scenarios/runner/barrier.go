package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// barrier waits until gammaguard has seen all that was done before: it changes a
// route of each kind, a Service and a Namespace, so that routes get an entry in
// their status or lose it, and waits until they have. Watches keep the order of
// events, and status is written in that order.
type barrier struct {
	client client.Client
	// fault is why the routes have an entry, if faulty.
	fault  fault
	faulty bool
}

// fault is a rule that marks routes, and the Service on which it does; a
// configuration may turn some rules off.
type fault struct{ rule, service string }

var faults = []fault{{"parent-not-found", absent}, {"parent-external-name", external}, {"parent-headless", headless}}

// The Services, each named after what it is. One more changes from valid to faulty
// and back.
const valid, absent, external, headless, toggled = "valid", "absent", "external", "headless", "toggled"

const (
	// The namespaces: that of the Services and of most routes, and one that changes.
	barrierNamespace, barrierOther = "scenario-barrier", "scenario-barrier-other"
	// barrierTimeout bounds one passage.
	barrierTimeout = 20 * time.Second
)

// begin prepares for another configuration: the next passage makes the routes
// faulty.
func (b *barrier) begin(ctx context.Context, c *config.GuardConfiguration) error {
	b.fault, b.faulty = fault{}, true
	for _, f := range faults {
		if !slices.Contains([]config.RuleAction{"off", "audit"}, c.Rules[f.rule]) {
			b.fault = f
			break
		}
	}
	if b.fault.service == "" {
		return nil // no rule marks what has no valid parent
	}
	objects := []map[string]any{
		namespace(barrierNamespace, barrierLabels(mesh.Enforce)), namespace(barrierOther, barrierLabels(mesh.Audit)),
		service(valid, valid), service(external, external), service(headless, headless),
	}
	for _, object := range append(objects, b.watched()...) {
		if err := b.apply(ctx, object); err != nil {
			return err
		}
	}
	return b.pass(ctx, c)
}

// watched returns the routes that stay as they are.
func (b *barrier) watched() []map[string]any {
	return []map[string]any{
		routeOn(toggled, barrierNamespace, "service", mesh.HTTPRoute),
		routeOn(b.fault.service, barrierOther, "namespace", mesh.HTTPRoute),
	}
}

// pass waits until all that was done before has been seen.
func (b *barrier) pass(ctx context.Context, c *config.GuardConfiguration) error {
	if b.fault.service == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	b.faulty = !b.faulty
	target, mode := valid, mesh.Audit
	if b.faulty {
		target, mode = b.fault.service, mesh.Enforce
	}
	err := ignoreNotThere(b.client.Delete(ctx, &unstructured.Unstructured{Object: service(toggled, target)}))
	if err == nil && target != absent {
		err = b.apply(ctx, service(toggled, target))
	}
	if err == nil {
		err = b.apply(ctx, namespace(barrierOther, barrierLabels(mode)))
	}
	if err != nil {
		return err
	}
	routes := b.watched()
	for _, kind := range mesh.RouteKinds() {
		route := routeOn(target, barrierNamespace, "route", kind)
		if err := b.apply(ctx, route); err != nil {
			return err
		}
		routes = append(routes, route)
	}
	for _, object := range routes {
		route := &unstructured.Unstructured{Object: object}
		err := poll(ctx, barrierTimeout, func(ctx context.Context) (bool, error) {
			if err := b.client.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return false, err
			}
			entries, err := ownEntries(route, &c.Status)
			return (len(entries) > 0) == b.faulty, err
		})
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", route.GetKind(), route.GetNamespace(), route.GetName(), err)
		}
	}
	return nil
}

func (b *barrier) apply(ctx context.Context, object map[string]any) error {
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: object})
	return b.client.Apply(ctx, configuration, client.FieldOwner("scenarios"), client.ForceOwnership)
}

// barrierLabels are those of a namespace in which routes are granted everything.
func barrierLabels(mode mesh.Mode) map[string]any {
	return map[string]any{mesh.GrantLabel: string(mesh.GrantAll), mesh.ModeLabel: string(mode)}
}

func namespace(name string, labels map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}}
}

// service returns a Service that is valid, external or headless, with a port for
// each kind of routes, so that they do not conflict.
func service(name, is string) map[string]any {
	var ports []any
	for i, kind := range mesh.RouteKinds() {
		protocol := "TCP"
		if kind == mesh.UDPRoute {
			protocol = "UDP"
		}
		ports = append(ports, map[string]any{"name": fmt.Sprint("p", i+1), "port": int64(i + 1), "protocol": protocol})
	}
	spec := map[string]any{"ports": ports}
	switch is {
	case external:
		spec["type"], spec["externalName"] = "ExternalName", "example.com"
	case headless:
		spec["clusterIP"] = "None"
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"namespace": barrierNamespace, "name": name}, "spec": spec,
	}
}

// routeOn returns a route on a Service of the barrier's.
func routeOn(service, namespace, name string, kind mesh.RouteKind) map[string]any {
	port := int64(1 + slices.Index(mesh.RouteKinds(), kind))
	spec := map[string]any{
		"parentRefs": []any{map[string]any{"group": "", "kind": "Service", "namespace": barrierNamespace, "name": service, "port": port}},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": service, "port": port}}}},
	}
	if kind == mesh.TLSRoute {
		spec["hostnames"] = []any{"barrier.example.com"}
	}
	return map[string]any{
		"apiVersion": mesh.GatewayGroup + "/v1", "kind": string(kind),
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}
}

// rivals returns the routes that are of one kind and on Services of one name. The
// API server keeps the second in which each was created, and no more.
func rivals(scenario *Scenario) map[manifest.Key]bool {
	on := map[string]map[manifest.Key]bool{}
	for _, document := range scenario.Documents() {
		var route struct {
			Spec gatewayv1.CommonRouteSpec `json:"spec"`
		}
		if !document.IsRoute() || json.Unmarshal(document.JSON, &route) != nil {
			continue
		}
		for _, ref := range route.Spec.ParentRefs {
			at := document.Key.Kind + " on " + string(ref.Name)
			if on[at] == nil {
				on[at] = map[manifest.Key]bool{}
			}
			on[at][document.Key] = true
		}
	}
	rivals := map[manifest.Key]bool{}
	for _, keys := range on {
		if len(keys) > 1 {
			maps.Copy(rivals, keys)
		}
	}
	return rivals
}

// grow waits until the document's route, if it is created now, is younger than all
// its rivals.
func (s *apiSession) grow(ctx context.Context, document *Document) error {
	if !s.rivals[document.Key] {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(s.youngest.Add(time.Second))):
	}
	s.youngest = time.Now().Truncate(time.Second)
	return nil
}
