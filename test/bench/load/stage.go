// Command load measures what gammaguard costs: the built webhook process under
// AdmissionReviews over TLS, beside a webhook that only decodes and admits, and
// the status reconciler in it, over a real API server with up to 100,000 routes.
//
// It writes what it found as JSON and as docs/performance.md, which says how to read
// it. Linux only: it reads /proc.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// bench is one run.
type bench struct {
	*options
	plane   *bed.ControlPlane
	cluster *cluster
}

// sharing is the number of routes that share one Service, and contested the number
// of Services whose port a GRPCRoute holds.
const sharing, contested = 1000, 50

// prepare fills the cluster with what does not grow.
func (b *bench) prepare(ctx context.Context) error {
	if err := guard.Install(ctx, b.plane); err != nil {
		return err
	}
	var err error
	if b.cluster, err = newCluster(b.plane); err != nil {
		return err
	}
	return b.cluster.prepare(ctx, layoutOf(b.routes[0]).namespaces)
}

// stage measures with so many routes in the cluster.
func (b *bench) stage(ctx context.Context, l layout) (_ *Stage, err error) {
	progress("%d routes on %d Services", l.routes, l.services)
	if err := b.cluster.grow(ctx, l); err != nil {
		return nil, err
	}
	// The API server is busy with what was restored for a while after its watches have seen it.
	if err := quiet(ctx, 2*time.Minute); err != nil {
		return nil, err
	}
	audit := &Audit{}
	if l.routes >= 1000 {
		if err := b.unaudited(ctx, &audit.Without); err != nil {
			return nil, fmt.Errorf("without the standing audit: %w", err)
		}
	}
	g, err := guard.Start(ctx, b.plane, guard.Options{Unregistered: true, Args: []string{"--shutdown-delay", "0s"}})
	if err != nil {
		return nil, err
	}
	began := time.Now().Add(-g.ReadyAfter)
	defer func() { err = errors.Join(err, g.Stop()) }()
	stage := &Stage{Routes: l.routes, Services: l.services, ReadySeconds: g.ReadyAfter.Seconds()}
	status := &Status{}
	if status.ColdWrites, err = b.looked(ctx, g); err != nil {
		return nil, err
	}
	status.ColdSeconds = time.Since(began).Seconds()
	if err := audited(ctx, g); err != nil {
		return nil, fmt.Errorf("wait until every route was judged: %w", err)
	}
	audit.FirstSeconds = time.Since(began).Seconds()
	if err := b.rest(ctx, g, &audit.With); err != nil {
		return nil, err
	}
	stage.HeapMiB, stage.RSSMiB = audit.With.HeapMiB, audit.With.RSSMiB
	progress("  ready after %.2f s, settled after %.2f s, audited after %.2f s", stage.ReadySeconds, status.ColdSeconds, audit.FirstSeconds)
	progress("  %s at rest; without audit: %s", audit.With, audit.Without)
	if stage.Webhook, err = b.requests(ctx, g, l); err != nil {
		return nil, err
	}
	if stage.LoadedMiB, err = memory(g.PID()); err != nil || l.routes < 1000 {
		return stage, err
	}
	stage.Status, stage.Audit = status, audit
	if err := b.status(ctx, g, l, status); err != nil {
		return nil, err
	}
	return stage, b.audit(ctx, g, l, stage)
}

// looked waits until status has looked at every Service with routes once, and returns how
// often it wrote.
func (b *bench) looked(ctx context.Context, g *guard.Guard) (writes int, err error) {
	want := float64(len(b.cluster.bound) + 1 + contested)
	err = await(ctx, 5*time.Minute, func() (bool, error) {
		values, err := numbers(ctx, g.MetricsURL)
		writes = int(values[`gammaguard_status_writes_total{result="written"}`])
		return values[`gammaguard_status_reconciles_total`] >= want, err
	})
	if err != nil {
		return 0, fmt.Errorf("wait until every Service was looked at: %w", err)
	}
	return writes, nil
}

// requests compares the webhooks with the floor.
func (b *bench) requests(ctx context.Context, g *guard.Guard, l layout) (comparisons []Comparison, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	url, pid, err := startFloor(ctx)
	if err != nil {
		return nil, err
	}
	floor := newTarget(url, pid, true)
	for _, kind := range []struct {
		name, path string
		traffic    traffic
	}{
		{someBad, "/validate", traffic{layout: l, bad: 0.05}},
		{someBadOthersWarned, "/validate", traffic{layout: l, bad: 0.05, warned: true}},
		{mutatingSomeBad, "/mutate", traffic{layout: l, bad: 0.05}},
		{noneBad, "/validate", traffic{layout: l}},
		{allWarned, "/validate", traffic{layout: l, warned: true}},
		{fmt.Sprintf(crowded+" that %d routes share", sharing), "/validate", traffic{layout: l, shared: true}},
	} {
		target := newTarget(g.URL+kind.path, g.PID(), kind.path == "/mutate")
		c, err := compare(ctx, b.plan, target, floor, kind.traffic.reviews(5000))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		c.Traffic = kind.name
		comparisons = append(comparisons, c)
		progress("  %s: CPU %.0f us, floor %.0f, ratio %.2f; p99 ratio %.2f", c.Traffic, c.CPU.Guard, c.CPU.Floor, c.CPU.Ratio, c.P99.Ratio)
	}
	return comparisons, nil
}

//go:generate go run . -render -out ../../../docs/performance
