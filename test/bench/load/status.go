package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// watch follows the HTTPRoutes of a namespace from a resourceVersion on, until the
// context ends. Without one it begins with all that is there.
func (c *cluster) watch(ctx context.Context, namespace, since string) (watch.Interface, error) {
	return c.Watch(ctx, &gatewayv1.HTTPRouteList{}, &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: since}})
}

// follow reads a watch until it has shown what is waited for.
func follow(w watch.Interface, shown func(name string, marked bool) bool) error {
	for event := range w.ResultChan() {
		if route, ok := event.Object.(*gatewayv1.HTTPRoute); ok && shown(route.Name, len(route.Status.Parents) > 0) {
			return nil
		}
	}
	return errors.New("the watch ended before")
}

// conflict applies a route that loses its port, and waits until it is marked.
func (c *cluster) conflict(ctx context.Context, w watch.Interface, name string, i int, took *Latency) error {
	start := time.Now()
	if err := c.create(ctx, plainRoute(rivals, name, serviceName(i%contested), i), "HTTPRoute"); err != nil {
		return err
	}
	if err := follow(w, func(shown string, marked bool) bool { return marked && shown == name }); err != nil {
		return fmt.Errorf("wait until route %s is marked: %w", name, err)
	}
	took.since(start)
	return nil
}

// routesIn lists the HTTPRoutes of a namespace.
func (c *cluster) routesIn(ctx context.Context, namespace string) (*metav1.PartialObjectMetadataList, error) {
	routes := &metav1.PartialObjectMetadataList{}
	routes.APIVersion, routes.Kind = gatewayv1.GroupVersion.String(), "HTTPRouteList"
	return routes, c.List(ctx, routes, client.InNamespace(namespace))
}

// mass changes the grant of the first namespace, and waits until all its routes are
// marked, or none, and the standing audit shows it.
func (c *changes) mass(ctx context.Context, grant string, marked bool) (mass Mass, err error) {
	routes, err := c.routesIn(ctx, namespaceName(0))
	if err != nil {
		return mass, err
	}
	w, err := c.watch(ctx, namespaceName(0), routes.ResourceVersion)
	if err != nil {
		return mass, err
	}
	waiting := sets.New[string]()
	for i := range routes.Items {
		waiting.Insert(routes.Items[i].Name)
	}
	mass.Routes = len(waiting)
	change := step{what: "the mass event", routes: mass.Routes, rule: "grant-missing"}
	if marked {
		change.more = mass.Routes
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(0)}}
	change.change = c.patching(ctx, namespace, `{"metadata": {"labels": {"gammaguard.dev/grant": %q}}}`, grant)
	start := time.Now()
	var group errgroup.Group
	group.Go(func() error { return c.step(ctx, &change) })
	group.Go(func() error {
		defer func() { mass.Seconds = time.Since(start).Seconds() }()
		return follow(w, func(name string, is bool) bool {
			if is == marked {
				waiting.Delete(name)
			} else {
				waiting.Insert(name)
			}
			return len(waiting) == 0
		})
	})
	if err := group.Wait(); err != nil {
		return mass, fmt.Errorf("grant %s, %d routes, of which %d are not as they should be: %w", grant, mass.Routes, len(waiting), err)
	}
	return mass, nil
}

// status measures the reconciler.
func (b *bench) status(ctx context.Context, c *changes, s *Status) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	conflicting, err := b.watch(ctx, rivals, "")
	if err != nil {
		return err
	}
	for i := range b.plan.conflicts {
		if err := b.conflict(ctx, conflicting, fmt.Sprintf("loser-%d-idle-%05d", b.has.routes, i), i, &s.Idle); err != nil {
			return err
		}
	}
	busy, settled := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		for i := 0; busy.Err() == nil; i++ {
			if err := b.conflict(ctx, conflicting, fmt.Sprintf("loser-%d-busy-%05d", b.has.routes, i), i, &s.Busy); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() (err error) {
		defer settled()
		s.Withdrawn, err = c.mass(ctx, "none", true)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	s.Returned, err = c.mass(ctx, "all", false)
	progress("  marked after %.0f ms (p99) when idle, %.0f ms in a mass event of %d routes that settled in %.1f s and %.1f s back",
		s.Idle.P99, s.Busy.P99, s.Withdrawn.Routes, s.Withdrawn.Seconds, s.Returned.Seconds)
	return err
}
