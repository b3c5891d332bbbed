package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// spread is how many routes all over the namespaces share the Service with those of its own.
const spread = 2000

// changes makes changes, and measures how long the standing audit takes to show each.
type changes struct {
	*cluster
	guard *guard.Guard
	// base are the findings by rule while nothing is wrong.
	base map[string]float64
	// order are the kinds of changes, and took how long each took, in milliseconds.
	order []string
	took  map[string][]float64
	// routes are how many routes the kind bears on.
	routes map[string]int
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

// make makes the changes, each after the audit shows the one before.
func (c *changes) make(ctx context.Context, steps []step) error {
	for i := range steps {
		if err := c.step(ctx, &steps[i]); err != nil {
			return fmt.Errorf("%s: %w", steps[i].what, err)
		}
	}
	return nil
}

func (c *changes) step(ctx context.Context, s *step) error {
	if _, known := c.base[s.rule]; !known {
		n, err := findings(ctx, c.guard, s.rule)
		if err != nil {
			return err
		}
		c.base[s.rule] = n
	}
	start := time.Now()
	if err := s.change(); err != nil {
		return err
	}
	n, want := 0.0, c.base[s.rule]+float64(s.more)
	err := await(ctx, 2*time.Minute, func() (_ bool, err error) {
		n, err = findings(ctx, c.guard, s.rule)
		return n == want, err
	})
	if err != nil {
		return fmt.Errorf("%g findings of %s, want %g: %w", n, s.rule, want, err)
	}
	if c.took[s.what] == nil {
		c.order = append(c.order, s.what)
	}
	c.took[s.what] = append(c.took[s.what], float64(time.Since(start).Microseconds())/1e3)
	c.routes[s.what] = max(c.routes[s.what], s.routes)
	return nil
}

// patching returns a change of an object by a JSON merge patch.
func (c *changes) patching(ctx context.Context, object client.Object, format string, args ...any) func() error {
	return func() error {
		return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...)))
	}
}

func (c *changes) creating(ctx context.Context, kind string, o object) func() error {
	return func() error { return c.create(ctx, encode(kind, o)) }
}

func (c *changes) deleting(ctx context.Context, object client.Object) func() error {
	return func() error { return c.Delete(ctx, object) }
}

// ofService makes every kind of change around one Service, and takes it back.
func (c *changes) ofService(ctx context.Context, namespace string, i int) error {
	name, routes := serviceName(i), c.bound[i]
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	service, slice := &corev1.Service{ObjectMeta: meta}, &discoveryv1.EndpointSlice{ObjectMeta: meta}
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "audited"}}
	o := object{Namespace: namespace, Name: name}
	gone := object{Namespace: namespace, Name: "audited", Parent: missing, Backend: name, Port: 80, Matches: []int{everything}}
	none := o
	none.IP = "None"
	const parent, ports, consumers = "parent-not-found", "parent-port-not-found", "the consumer annotation of a Service"
	return c.make(ctx, []step{
		{"a route is created", 1, parent, 1, c.creating(ctx, "HTTPRoute", gone)},
		{"a route is edited", 1, "parent-headless", 1, c.patching(ctx, route, `{"spec": {"parentRefs": [{"group": "", "kind": "Service", "name": %q}]}}`, headless)},
		{"a route is deleted", 1, "parent-headless", 0, c.deleting(ctx, route)},
		{"the ports of a Service", routes + 1, ports, routes + 1, c.patching(ctx, service, `{"spec": {"ports": [{"name": "http", "port": 81}]}}`)},
		{"the ports of a Service", routes + 1, ports, 0, c.patching(ctx, service, `{"spec": {"ports": [{"name": "http", "port": 80}]}}`)},
		{"the type of a Service", routes + 1, "parent-external-name", routes + 1, c.patching(ctx, service, `{"spec": {"type": "ExternalName", "externalName": "example.test"}}`)},
		{"the type of a Service", routes + 1, "parent-external-name", 0, c.patching(ctx, service, `{"spec": {"type": "ClusterIP", "externalName": null}}`)},
		{"a Service is deleted", routes + 1, parent, routes + 1, c.deleting(ctx, service)},
		{"a headless Service is created", routes + 1, "parent-headless", routes + 1, c.creating(ctx, "Service", none)},
		{"a Service is deleted", routes + 1, parent, routes + 1, c.deleting(ctx, service)},
		{"a Service is created", routes + 1, parent, 0, c.creating(ctx, "Service", o)},
		{"an EndpointSlice is deleted", routes + 1, "backend-no-endpoints", 2*routes + 1, c.deleting(ctx, slice)},
		{"an EndpointSlice is created", routes + 1, "backend-no-endpoints", 0, c.creating(ctx, "EndpointSlice", o)},
		{consumers, routes + 1, "consumer-refused", 1, c.patching(ctx, service, consumersFrom, `"nobody=here"`)},
		{consumers, routes + 1, "consumer-refused", 0, c.patching(ctx, service, consumersFrom, "null")},
	})
}

// consumersFrom sets whose routes a Service, or those of a namespace, may have.
const consumersFrom = `{"metadata": {"annotations": {"gammaguard.dev/consumer-routes-from": %s}}}`

// withConsumer has a consumer route on the Service while f runs.
func (c *changes) withConsumer(ctx context.Context, namespace string, service int, f func() error) error {
	o := object{
		Namespace: rivals, Name: "audited-consumer", Home: namespace,
		Parent: serviceName(service), Backend: serviceName(service), Port: 80, Matches: []int{everything},
	}
	if err := c.create(ctx, encode("HTTPRoute", o)); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return c.Delete(ctx, &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}})
}

// ofMany makes changes that bear on many routes: of a namespace's labels, and of a Service
// that routes all over the cluster share.
func (c *changes) ofMany(ctx context.Context, namespace string) error {
	var all metav1.PartialObjectMetadataList
	all.APIVersion, all.Kind = gatewayv1.GroupVersion.String(), "HTTPRouteList"
	if err := c.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return err
	}
	routes := len(all.Items)
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: shared, Name: sharedService}}
	label := func(label, value string) func() error {
		return c.patching(ctx, object, `{"metadata": {"labels": {"gammaguard.dev/%s": %q}}}`, label, value)
	}
	const grant, consumers = "the grant of a namespace", "the consumer annotation of a namespace"
	const endpoints = "the endpoints of a Service that routes of all namespaces share"
	return c.make(ctx, []step{
		{grant, routes, "grant-missing", routes, label("grant", "none")},
		{grant, routes, "grant-missing", 0, label("grant", "all")},
		{consumers, routes + 1, "consumer-refused", 1, c.patching(ctx, object, consumersFrom, `"nobody=here"`)},
		{consumers, routes + 1, "consumer-refused", 0, c.patching(ctx, object, consumersFrom, "null")},
		{endpoints, sharing + spread, "backend-no-endpoints", 2*sharing + spread, c.deleting(ctx, slice)},
		{endpoints, sharing + spread, "backend-no-endpoints", 0, c.creating(ctx, "EndpointSlice", sharedObject)},
	})
}

// audit measures the standing audit.
func (b *bench) audit(ctx context.Context, g *guard.Guard, l layout, s *Stage) error {
	c := &changes{b.cluster, g, map[string]float64{}, nil, map[string][]float64{}, map[string]int{}}
	const at = 1 // the namespace, and the first of its Services
	for i := range b.plan.changes {
		service := at + i*l.namespaces%l.services
		err := c.withConsumer(ctx, namespaceName(at), service, func() error { return c.ofService(ctx, namespaceName(at), service) })
		if err != nil {
			return err
		}
	}
	// Status writes nothing in mode audit: what is measured is not the writing of thousands of marks.
	mode := func(value string) error {
		return c.patching(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(at)}}, `{"metadata": {"labels": {"gammaguard.dev/mode": %s}}}`, value)()
	}
	spreading := func(i int) object {
		return object{
			Namespace: namespaceName(i % l.namespaces), Name: fmt.Sprintf("spread-%06d", i),
			Home: shared, Parent: sharedService, Backend: sharedService, Port: 80, Matches: []int{i},
		}
	}
	if err := parallel(spread, func(i int) error { return c.creating(ctx, "HTTPRoute", spreading(i))() }); err != nil {
		return err
	}
	if err := mode(`"audit"`); err != nil {
		return err
	}
	if err := audited(ctx, g); err != nil {
		return err
	}
	for range b.plan.changes / 5 {
		err := c.withConsumer(ctx, namespaceName(at), at, func() error { return c.ofMany(ctx, namespaceName(at)) })
		if err != nil {
			return err
		}
	}
	if err := mode("null"); err != nil {
		return err
	}
	for _, what := range c.order {
		s.Audit.Changes = append(s.Audit.Changes, Change{what, c.routes[what], latency(c.took[what])})
	}
	mass := latency([]float64{1e3 * s.Status.Withdrawn.AuditedSeconds, 1e3 * s.Status.Returned.AuditedSeconds})
	s.Audit.Changes = append(s.Audit.Changes, Change{"the mass event", s.Status.Withdrawn.Routes, mass})
	for _, change := range s.Audit.Changes {
		progress("  audit right again after %s (%d routes): %.0f ms, p99 %.0f ms", change.What, change.Routes, change.P50, change.P99)
	}
	return parallel(spread, func(i int) error {
		o := spreading(i)
		return c.Delete(ctx, &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}})
	})
}
