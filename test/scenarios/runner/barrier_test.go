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
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
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
	b.faulty = true
	i := slices.IndexFunc(faults, func(f fault) bool {
		return !slices.Contains([]config.RuleAction{"off", "audit"}, c.Rules[f.rule])
	})
	if i < 0 {
		b.fault = fault{} // no rule marks what has no valid parent
		return nil
	}
	b.fault = faults[i]
	objects := []*unstructured.Unstructured{
		grantedNamespace(barrierNamespace, mesh.Enforce), grantedNamespace(barrierOther, mesh.Audit),
		service(valid, valid), service(external, external), service(headless, headless),
	}
	if err := b.apply(ctx, append(objects, b.watched()...)...); err != nil {
		return err
	}
	return b.pass(ctx, c)
}

// watched returns the routes that stay as they are.
func (b *barrier) watched() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
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
	changed := []*unstructured.Unstructured{grantedNamespace(barrierOther, mode)}
	if target != absent {
		changed = append(changed, service(toggled, target))
	}
	routes := b.watched()
	for _, kind := range mesh.RouteKinds() {
		route := routeOn(target, barrierNamespace, "route", kind)
		changed, routes = append(changed, route), append(routes, route)
	}
	err := ignoreNotThere(b.client.Delete(ctx, service(toggled, target)))
	if err == nil {
		err = b.apply(ctx, changed...)
	}
	if err != nil {
		return err
	}
	for _, route := range routes {
		err := poll(ctx, barrierTimeout, func(ctx context.Context) (bool, error) {
			if err := b.client.Get(ctx, client.ObjectKeyFromObject(route), route); err != nil {
				return false, err
			}
			entries, err := ownEntries(route, c)
			return (len(entries) > 0) == b.faulty, err
		})
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", route.GetKind(), route.GetNamespace(), route.GetName(), err)
		}
	}
	return nil
}

func (b *barrier) apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		configuration := client.ApplyConfigurationFromUnstructured(object)
		if err := b.client.Apply(ctx, configuration, client.FieldOwner("scenarios"), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
}

// objectf returns the object that a format of YAML describes.
func objectf(format string, args ...any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, format, args...), &o.Object); err != nil {
		panic(err) // the formats are below
	}
	return o
}

func namespace(name string) *unstructured.Unstructured {
	return objectf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, name)
}

// grantedNamespace returns a namespace in which routes are granted everything.
func grantedNamespace(name string, mode mesh.Mode) *unstructured.Unstructured {
	n := namespace(name)
	n.SetLabels(map[string]string{mesh.GrantLabel: string(mesh.GrantAll), mesh.ModeLabel: string(mode)})
	return n
}

// service returns a Service that is valid, external or headless, with a port for
// each kind of routes, so that they do not conflict.
func service(name, is string) *unstructured.Unstructured {
	spec := map[string]string{external: "type: ExternalName, externalName: example.com,", headless: "clusterIP: None,"}[is]
	return objectf(`{apiVersion: v1, kind: Service, metadata: {namespace: %s, name: %s}, spec: {%s ports: [{name: p1, port: 1},
		{name: p2, port: 2}, {name: p3, port: 3}, {name: p4, port: 4}, {name: p5, port: 5, protocol: UDP}]}}`, barrierNamespace, name, spec)
}

// routeOn returns a route on a Service of the barrier's.
func routeOn(service, namespace, name string, kind mesh.RouteKind) *unstructured.Unstructured {
	hostnames := ""
	if kind == mesh.TLSRoute {
		hostnames = "hostnames: [barrier.example.com],"
	}
	return objectf(`{apiVersion: gateway.networking.k8s.io/v1, kind: %[1]s, metadata: {namespace: %[2]s, name: %[3]s}, spec: {%[4]s
		parentRefs: [{group: "", kind: Service, namespace: %[5]s, name: %[6]s, port: %[7]d}],
		rules: [{backendRefs: [{name: %[6]s, port: %[7]d}]}]}}`,
		kind, namespace, name, hostnames, barrierNamespace, service, 1+slices.Index(mesh.RouteKinds(), kind))
}

// rivals returns the routes that are of one kind and on Services of one name. The
// API server keeps the second in which each was created, and no more.
func rivals(scenario *Scenario) map[manifest.Key]bool {
	on := map[string]map[manifest.Key]bool{}
	for _, document := range scenario.Documents() {
		var r route
		if !document.IsRoute() || json.Unmarshal(document.JSON, &r) != nil {
			continue
		}
		for _, ref := range r.Spec.ParentRefs {
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
		return nil
	}
}

// grown notes that the document's route, if it has rivals, was created by now, however long that took.
func (s *apiSession) grown(document *Document) {
	if s.rivals[document.Key] {
		s.youngest = time.Now().Truncate(time.Second)
	}
}
