package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// marks are the HTTPRoutes of a namespace with an entry in their status, as a watch
// shows them. One caller at a time waits for them.
type marks struct {
	events <-chan watch.Event
	marked map[string]bool
}

// watch follows the HTTPRoutes of a namespace from a resourceVersion on, until the
// context ends. Without one it begins with all that is there.
func (c *cluster) watch(ctx context.Context, namespace, since string) (*marks, error) {
	from := &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: since}}
	w, err := c.Watch(ctx, &gatewayv1.HTTPRouteList{}, from)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, w.Stop)
	return &marks{w.ResultChan(), map[string]bool{}}, nil
}

// await waits until the condition holds of the routes that are marked.
func (m *marks) await(ctx context.Context, patience time.Duration, condition func(marked map[string]bool) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !condition(m.marked) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d routes are marked: %w", len(m.marked), ctx.Err())
		case event, open := <-m.events:
			if !open {
				return errors.New("the watch ended")
			}
			if route, ok := event.Object.(*gatewayv1.HTTPRoute); ok {
				delete(m.marked, route.Name)
				if len(route.Status.Parents) > 0 {
					m.marked[route.Name] = true
				}
			}
		}
	}
	return nil
}

// conflicts applies routes that lose their port, one after another, until there
// are enough or done is closed, and returns how long each took to be marked.
func (c *cluster) conflicts(ctx context.Context, m *marks, run string, enough int, done <-chan struct{}) (Latency, error) {
	var took []float64
	for i := range enough {
		select {
		case <-done:
			return latency(took), nil
		default:
		}
		name := fmt.Sprintf("loser-%s-%05d", run, i)
		start := time.Now()
		if err := c.create(ctx, plainRoute(rivals, name, serviceName(i%contested), i)); err != nil {
			return Latency{}, err
		}
		if err := m.await(ctx, time.Minute, func(marked map[string]bool) bool { return marked[name] }); err != nil {
			return Latency{}, fmt.Errorf("wait until route %s is marked: %w", name, err)
		}
		took = append(took, float64(time.Since(start).Microseconds())/1e3)
	}
	return latency(took), nil
}

func latency(took []float64) Latency {
	slices.Sort(took)
	return Latency{Samples: len(took), P50: quantile(took, 0.5), P99: quantile(took, 0.99)}
}

// mass changes the grant of the first namespace and waits until all its routes are
// marked, or none, and the standing audit has as many findings.
func (c *cluster) mass(ctx context.Context, g *guard.Guard, grant string, m *marks, routes, want int) (mass Mass, err error) {
	start := time.Now()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(0)}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {"gammaguard.dev/grant": %q}}}`, grant))
	if err := c.Patch(ctx, object, patch); err != nil {
		return Mass{}, err
	}
	mass.Routes = routes
	var group errgroup.Group
	group.Go(func() error {
		err := await(ctx, time.Minute, func() (bool, error) {
			n, err := findings(ctx, g, "grant-missing")
			return n == float64(want), err
		})
		mass.AuditedSeconds = time.Since(start).Seconds()
		return err
	})
	group.Go(func() error {
		err := m.await(ctx, 5*time.Minute, func(marked map[string]bool) bool { return len(marked) == want })
		mass.Seconds = time.Since(start).Seconds()
		return err
	})
	if err := group.Wait(); err != nil {
		return Mass{}, fmt.Errorf("grant %s, %d routes: %w", grant, routes, err)
	}
	return mass, nil
}

// status measures the reconciler.
func (b *bench) status(ctx context.Context, g *guard.Guard, l layout, s *Status) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conflicting, err := b.cluster.watch(ctx, rivals, "")
	if err != nil {
		return err
	}
	run := fmt.Sprint(l.routes)
	if s.Idle, err = b.cluster.conflicts(ctx, conflicting, run+"-idle", b.plan.conflicts, nil); err != nil {
		return err
	}
	var all metav1.PartialObjectMetadataList
	all.APIVersion, all.Kind = gatewayv1.GroupVersion.String(), "HTTPRouteList"
	if err := b.cluster.List(ctx, &all, client.InNamespace(namespaceName(0))); err != nil {
		return err
	}
	routes := len(all.Items)
	withdrawn, err := b.cluster.watch(ctx, namespaceName(0), all.ResourceVersion)
	if err != nil {
		return err
	}
	settled, busy := make(chan struct{}), make(chan error)
	go func() {
		var err error
		s.Busy, err = b.cluster.conflicts(ctx, conflicting, run+"-busy", 100_000, settled)
		busy <- err
	}()
	s.Withdrawn, err = b.cluster.mass(ctx, g, "none", withdrawn, routes, routes)
	close(settled)
	if busyErr := <-busy; err == nil {
		err = busyErr
	}
	if err != nil {
		return err
	}
	s.Returned, err = b.cluster.mass(ctx, g, "all", withdrawn, routes, 0)
	progress("  marked after %.0f ms (p99) when idle, %.0f ms in a mass event of %d routes that settled in %.1f s and %.1f s back",
		s.Idle.P99, s.Busy.P99, routes, s.Withdrawn.Seconds, s.Returned.Seconds)
	return err
}
