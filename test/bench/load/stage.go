// Command load measures what gammaguard costs: the built webhook process under
// AdmissionReviews over TLS, beside a webhook that only decodes and admits, and
// the status reconciler in it, over a real API server with up to 100,000 routes.
//
// It writes what it found as JSON, as docs/performance.md, and as docs/measurements.md, which says how to read
// it. Linux only: it reads /proc.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// bench is one run.
type bench struct {
	*cluster
	plane *bed.ControlPlane
	plan  plan
}

// stage measures with so many routes in the cluster.
func (b *bench) stage(ctx context.Context, l layout) (*Stage, error) {
	progress("%d routes on %d Services", l.routes, l.services)
	if err := b.grow(ctx, l); err != nil {
		return nil, err
	}
	// The API server is busy with what was restored for a while after its watches have seen it.
	if err := quiet(ctx, 2*time.Minute); err != nil {
		return nil, err
	}
	s := &Stage{Routes: l.routes, Services: l.services}
	if l.routes >= 1000 {
		s.Status, s.Audit = &Status{}, &Audit{}
		err := b.run(ctx, func(p *process) (err error) {
			s.Audit.Without, err = rest(ctx, p.Guard, b.plan.rest)
			return err
		}, "--disable-standing-audit")
		if err != nil {
			return nil, fmt.Errorf("without the standing audit: %w", err)
		}
	}
	return s, b.run(ctx, func(p *process) error { return b.measure(ctx, p, l, s) })
}

// process is a gammaguard that has looked at every Service with routes once.
type process struct {
	*guard.Guard
	began  time.Time
	looked time.Duration
	writes int
}

// run runs gammaguard, and measures it.
func (b *bench) run(ctx context.Context, measure func(p *process) error, args ...string) (err error) {
	g, err := guard.Start(ctx, b.plane, guard.Options{Unregistered: true, Args: append(args, "--shutdown-delay", "0s")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	p := &process{Guard: g, began: time.Now().Add(-g.ReadyAfter)}
	err = awaitMetrics(ctx, g, func(metrics map[string]float64) bool {
		p.writes = int(metrics[`gammaguard_status_writes_total{result="written"}`])
		return metrics[`gammaguard_status_reconciles_total`] >= float64(len(b.bound)+1+contested)
	})
	if err != nil {
		return fmt.Errorf("wait until every Service was looked at: %w", err)
	}
	p.looked = time.Since(p.began)
	return measure(p)
}

// measure measures a process: at rest, then under requests, and, if there are enough
// routes, its status and its standing audit.
func (b *bench) measure(ctx context.Context, p *process, l layout, s *Stage) error {
	if err := audited(ctx, p.Guard); err != nil {
		return err
	}
	first := time.Since(p.began)
	with, err := rest(ctx, p.Guard, b.plan.rest)
	if err != nil {
		return err
	}
	s.ReadySeconds, s.HeapMiB, s.RSSMiB = p.ReadyAfter.Seconds(), with.HeapMiB, with.RSSMiB
	progress("  ready after %.2f s, settled after %.2f s, audited after %.2f s", s.ReadySeconds, p.looked.Seconds(), first.Seconds())
	progress("  at rest: %+v", with)
	if !*auditOnly {
		if s.Webhook, err = b.requests(ctx, p, l); err != nil {
			return err
		}
	}
	if s.LoadedMiB, err = memory(p.PID()); err != nil || s.Status == nil {
		return err
	}
	progress("  at rest without audit: %+v", s.Audit.Without)
	s.Status.ColdSeconds, s.Status.ColdWrites = p.looked.Seconds(), p.writes
	s.Audit.FirstSeconds, s.Audit.With = first.Seconds(), with
	c := &changes{cluster: b.cluster, guard: p.Guard}
	if c.base, err = numbers(ctx, p.MetricsURL); err != nil {
		return err
	}
	if !*auditOnly {
		if err := b.status(ctx, c, s.Status); err != nil {
			return err
		}
	}
	if err := b.audit(ctx, c, l); err != nil {
		return err
	}
	s.Audit.Changes = c.seen
	for _, change := range c.seen {
		progress("  audit right again after %s (%d routes): %.0f ms, p99 %.0f ms", change.What, change.Routes, change.P50, change.P99)
	}
	return nil
}

// denialPace is how many requests a second are sent where one in twenty is denied: of more, a
// replica rations the live reads that one API server may cause.
const denialPace = 2000

// requests compares the webhooks with the floor.
func (b *bench) requests(ctx context.Context, p *process, l layout) (comparisons []Comparison, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	url, pid, err := startFloor(ctx, p.Kubeconfig)
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
		{updated, "/validate", traffic{layout: l, updates: true}},
		{crowded, "/validate", traffic{layout: l, shared: true}},
	} {
		floor.confirms = kind.path == "/validate" // the mutating webhook denies nothing
		pace := rate.Inf
		if floor.confirms && kind.traffic.bad > 0 {
			pace = denialPace
		}
		target := newTarget(p.URL+kind.path, p.PID(), kind.path == "/mutate")
		c, err := compare(ctx, b.plan, pace, target, floor, kind.traffic.reviews(5000))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		c.Traffic = kind.name
		comparisons = append(comparisons, c)
		progress("  %s: CPU %.0f us, floor %.0f, ratio %.2f; p99 ratios %s", c.Traffic, c.CPU.Guard, c.CPU.Floor, c.CPU.Ratio, c.P99s())
	}
	return comparisons, nil
}

//go:generate go run . -render -out ../../../docs/performance
