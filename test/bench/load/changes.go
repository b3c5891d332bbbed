package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// audited waits until the standing audit has judged all that it knows of.
func audited(ctx context.Context, g *guard.Guard) error {
	err := awaitMetrics(ctx, g, func(metrics map[string]float64) bool {
		age, leads := metrics["gammaguard_stored_findings_age_seconds"]
		return leads && age == 0
	})
	if err != nil {
		return fmt.Errorf("wait until every route was judged: %w", err)
	}
	return nil
}

// findings returns how many findings of a rule the standing audit has on HTTPRoutes.
func findings(metrics map[string]float64, rule string) (n float64) {
	for sample, value := range metrics {
		if strings.HasPrefix(sample, "gammaguard_stored_findings{") && strings.Contains(sample, `kind="HTTPRoute"`) &&
			strings.Contains(sample, fmt.Sprintf("rule=%q", rule)) {
			n += value
		}
	}
	return n
}

// changes makes changes, and measures how long the standing audit takes to show each.
type changes struct {
	*cluster
	guard *guard.Guard
	// base are the metrics while nothing is wrong.
	base map[string]float64
	seen []Change
}

// step is a change that bears on so many routes, and after which there are more findings
// of a rule than at the start, by that number. On a backend there is one for each of the two
// rules of a plain route.
type step struct {
	what   string
	routes int
	rule   string
	more   int
	change func() error
}

// step makes a change, and waits until the audit shows it.
func (c *changes) step(ctx context.Context, s *step) error {
	start := time.Now()
	if err := s.change(); err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	n, want := 0.0, findings(c.base, s.rule)+float64(s.more)
	err := awaitMetrics(ctx, c.guard, func(metrics map[string]float64) bool {
		n = findings(metrics, s.rule)
		return n == want
	})
	if err != nil {
		return fmt.Errorf("%s: %g findings of %s, want %g: %w", s.what, n, s.rule, want, err)
	}
	i := slices.IndexFunc(c.seen, func(change Change) bool { return change.What == s.what })
	if i < 0 {
		i, c.seen = len(c.seen), append(c.seen, Change{What: s.what})
	}
	c.seen[i].since(start)
	c.seen[i].Routes = max(c.seen[i].Routes, s.routes)
	return nil
}

// make makes changes around a Service, each after the audit shows the one before, while
// there is a consumer route on it.
func (c *changes) make(ctx context.Context, service int, steps []step) error {
	consumer := plainRoute(rivals, "audited-consumer", serviceName(service), everything)
	consumer.Home, consumer.Matches = home(service), []int{everything}
	if err := c.create(ctx, consumer, "HTTPRoute"); err != nil {
		return err
	}
	for i := range steps {
		if err := c.step(ctx, &steps[i]); err != nil {
			return err
		}
	}
	return c.Delete(ctx, consumer.route())
}

// patching returns a change of an object by a JSON merge patch.
func (c *changes) patching(ctx context.Context, object client.Object, format string, args ...any) func() error {
	return func() error {
		return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...)))
	}
}

func (c *changes) creating(ctx context.Context, kind string, o object) func() error {
	return func() error { return c.create(ctx, o, kind) }
}

func (c *changes) deleting(ctx context.Context, object client.Object) func() error {
	return func() error { return c.Delete(ctx, object) }
}

// ofService is every kind of change around one Service, and back.
func (c *changes) ofService(ctx context.Context, i int) []step {
	namespace, name, routes := home(i), serviceName(i), c.bound[i]
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	service, slice := &corev1.Service{ObjectMeta: meta}, &discoveryv1.EndpointSlice{ObjectMeta: meta}
	o := object{Namespace: namespace, Name: name}
	gone := object{Namespace: namespace, Name: "audited", Parent: missing, Backend: name, Port: 80, Matches: []int{everything}}
	route := gone.route()
	none := o
	none.IP = "None"
	const parent, ports, consumers = "parent-not-found", "parent-port-not-found", "the consumer annotation of a Service"
	const renamed, restored = `{"spec": {"type": "ExternalName", "externalName": "example.test"}}`, `{"spec": {"type": "ClusterIP", "externalName": null}}`
	return []step{
		{"a route is created", 1, parent, 1, c.creating(ctx, "HTTPRoute", gone)},
		{"a route is edited", 1, "parent-headless", 1, c.patching(ctx, route, `{"spec": {"parentRefs": [{"group": "", "kind": "Service", "name": %q}]}}`, headless)},
		{"a route is deleted", 1, "parent-headless", 0, c.deleting(ctx, route)},
		{"the ports of a Service", routes + 1, ports, routes + 1, c.patching(ctx, service, `{"spec": {"ports": [{"name": "http", "port": 81}]}}`)},
		{"the ports of a Service", routes + 1, ports, 0, c.patching(ctx, service, `{"spec": {"ports": [{"name": "http", "port": 80}]}}`)},
		{"the type of a Service", routes + 1, "parent-external-name", routes + 1, c.patching(ctx, service, renamed)},
		{"the type of a Service", routes + 1, "parent-external-name", 0, c.patching(ctx, service, restored)},
		{"a Service is deleted", routes + 1, parent, routes + 1, c.deleting(ctx, service)},
		{"a headless Service is created", routes + 1, "parent-headless", routes + 1, c.creating(ctx, "Service", none)},
		{"a Service is deleted", routes + 1, parent, routes + 1, c.deleting(ctx, service)},
		{"a Service is created", routes + 1, parent, 0, c.creating(ctx, "Service", o)},
		{"an EndpointSlice is deleted", routes + 1, "backend-no-endpoints", 2*routes + 1, c.deleting(ctx, slice)},
		{"an EndpointSlice is created", routes + 1, "backend-no-endpoints", 0, c.creating(ctx, "EndpointSlice", o)},
		{consumers, routes + 1, "consumer-refused", 1, c.patching(ctx, service, consumersFrom, `"nobody=here"`)},
		{consumers, routes + 1, "consumer-refused", 0, c.patching(ctx, service, consumersFrom, "null")},
	}
}

// consumersFrom sets whose routes a Service, or those of a namespace, may have.
const consumersFrom = `{"metadata": {"annotations": {"gammaguard.dev/consumer-routes-from": %s}}}`

// ofMany is changes that bear on many routes, and back: of a namespace's labels, and of a
// Service that routes all over the cluster share.
func (c *changes) ofMany(ctx context.Context, namespace string, routes int) []step {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: shared, Name: sharedService}}
	label := func(label, value string) func() error {
		return c.patching(ctx, object, `{"metadata": {"labels": {"gammaguard.dev/%s": %q}}}`, label, value)
	}
	const grant, consumers = "the grant of a namespace", "the consumer annotation of a namespace"
	const endpoints = "the endpoints of a Service that routes of all namespaces share"
	return []step{
		{grant, routes, "grant-missing", routes, label("grant", "none")},
		{grant, routes, "grant-missing", 0, label("grant", "all")},
		{consumers, routes + 1, "consumer-refused", 1, c.patching(ctx, object, consumersFrom, `"nobody=here"`)},
		{consumers, routes + 1, "consumer-refused", 0, c.patching(ctx, object, consumersFrom, "null")},
		{endpoints, sharing + spread, "backend-no-endpoints", 2*sharing + spread, c.deleting(ctx, slice)},
		{endpoints, sharing + spread, "backend-no-endpoints", 0, c.creating(ctx, "EndpointSlice", sharedObject)},
	}
}

// spread is how many routes all over the namespaces share the Service with those of its own.
const spread = 2000

// audit measures the standing audit.
func (b *bench) audit(ctx context.Context, c *changes, l layout) error {
	const at = 1 // the namespace, and the first of its Services
	for i := range b.plan.changes {
		service := at + i*namespaces%l.services
		if err := c.make(ctx, service, c.ofService(ctx, service)); err != nil {
			return err
		}
	}
	spreading := func(i int) object {
		o := plainRoute(namespaceName(i%namespaces), fmt.Sprintf("spread-%06d", i), sharedService, i)
		o.Home, o.Matches = shared, []int{i}
		return o
	}
	err := parallel(ctx, writers, spread, func(ctx context.Context, i int) error { return c.create(ctx, spreading(i), "HTTPRoute") })
	if err != nil {
		return err
	}
	// Status writes nothing in mode audit: what is measured is not the writing of thousands of marks.
	mode := func(value string) error {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(at)}}
		return c.patching(ctx, namespace, `{"metadata": {"labels": {"gammaguard.dev/mode": %s}}}`, value)()
	}
	if err := mode(`"audit"`); err != nil {
		return err
	}
	if err := audited(ctx, c.guard); err != nil {
		return err
	}
	routes, err := c.routesIn(ctx, namespaceName(at))
	if err != nil {
		return err
	}
	for range b.plan.changes {
		if err := c.make(ctx, at, c.ofMany(ctx, namespaceName(at), len(routes.Items))); err != nil {
			return err
		}
	}
	if err := mode("null"); err != nil {
		return err
	}
	return parallel(ctx, writers, spread, func(ctx context.Context, i int) error { return c.Delete(ctx, spreading(i).route()) })
}
