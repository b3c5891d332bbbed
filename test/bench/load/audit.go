package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// findings returns how many findings of a rule the standing audit has on HTTPRoutes.
func findings(ctx context.Context, g *guard.Guard, rule string) (n float64, err error) {
	values, err := numbers(ctx, g.MetricsURL)
	for sample, value := range values {
		if strings.HasPrefix(sample, "gammaguard_stored_findings{") && strings.Contains(sample, `kind="HTTPRoute"`) &&
			strings.Contains(sample, fmt.Sprintf("rule=%q", rule)) {
			n += value
		}
	}
	return n, err
}

// audited waits until the standing audit has judged all that it knows of.
func audited(ctx context.Context, g *guard.Guard) error {
	return await(ctx, 5*time.Minute, func() (bool, error) {
		values, err := numbers(ctx, g.MetricsURL)
		age, leads := values["gammaguard_stored_findings_age_seconds"]
		return leads && age == 0, err
	})
}

// unaudited measures a process that does not audit.
func (b *bench) unaudited(ctx context.Context, rest *Rest) (err error) {
	g, err := guard.Start(ctx, b.plane, guard.Options{Unregistered: true, Args: []string{"--shutdown-delay", "0s", "--disable-standing-audit"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	if _, err := b.looked(ctx, g); err != nil {
		return err
	}
	return b.rest(ctx, g, rest)
}

// rest measures a process that has nothing to do.
func (b *bench) rest(ctx context.Context, g *guard.Guard, r *Rest) (err error) {
	if r.HeapMiB, err = heap(ctx, g.PprofURL); err != nil {
		return err
	}
	if r.RSSMiB, err = settledMemory(ctx, g.PID()); err != nil {
		return err
	}
	r.Seconds = b.plan.rest.Seconds()
	before, err := cpuTime(g.PID())
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(b.plan.rest):
	}
	after, err := cpuTime(g.PID())
	r.CPUMillis = float64((after - before).Microseconds()) / 1e3
	return err
}

// String reads "12 ms of CPU in 60 s, 200 MiB, heap 72.0 MiB".
func (r Rest) String() string {
	return fmt.Sprintf("%.0f ms of CPU in %.0f s, %.0f MiB, heap %.1f MiB", r.CPUMillis, r.Seconds, r.RSSMiB, r.HeapMiB)
}
