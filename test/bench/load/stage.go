package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// bench is one run.
type bench struct {
	*options
	plane   *bed.ControlPlane
	cluster *cluster
	// binary is the gammaguard-webhook that all stages run.
	binary string
}

// prepare fills the cluster with what does not grow.
func (b *bench) prepare(ctx context.Context) error {
	if err := guard.Install(ctx, b.plane); err != nil {
		return err
	}
	built, err := bed.BuildCommand(ctx, "gammaguard-webhook")
	if err != nil {
		return err
	}
	// A copy, lest a build meanwhile make it another one.
	dir, err := b.plane.TempDir("load")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	b.binary = filepath.Join(dir, "gammaguard-webhook")
	if err := os.WriteFile(b.binary, data, 0o700); err != nil { //nolint:gosec // a program
		return err
	}
	return b.cluster.found(ctx, layoutOf(b.routes[0]).namespaces, b.sharing, contested)
}

// running is a guard that has settled over the cluster.
type running struct {
	*guard.Guard
	pprof                string
	coldSeconds, coldCPU float64
	coldWrites           int
}

// start starts the guard and waits until it has looked at every Service.
func (b *bench) start(ctx context.Context) (*running, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	began := time.Now()
	g, err := guard.Start(ctx, b.plane, guard.Options{
		Binary: b.binary, Unregistered: true,
		Args: []string{"--pprof-bind-address", address, "--shutdown-delay", "0s"},
	})
	if err != nil {
		return nil, err
	}
	r := &running{Guard: g, pprof: "http://" + address}
	// Every Service with routes is looked at once.
	want := float64(len(b.cluster.bound) + 1 + contested)
	var last map[string]float64
	err = awaitMetric(ctx, g.MetricsURL, func(now map[string]float64) bool { last = now; return now[looks] >= want })
	if err != nil {
		return nil, errors.Join(err, g.Kill())
	}
	r.coldSeconds, r.coldWrites = time.Since(began).Seconds(), int(last[written])
	spent, err := cpuTime(g.PID())
	r.coldCPU = spent.Seconds()
	return r, err
}

// stage measures with so many routes in the cluster.
func (b *bench) stage(ctx context.Context, l layout) (_ *Stage, err error) {
	b.cluster.tell("%d routes on %d Services", l.routes, l.services)
	if err := b.cluster.grow(ctx, l); err != nil {
		return nil, err
	}
	// The API server is busy with what was restored for a while after its watches have seen it.
	idle, err := quiet(ctx, 2*time.Minute)
	if err != nil {
		return nil, err
	}
	b.cluster.tell("  the machine is %.0f %% idle", 100*idle)
	g, err := b.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Stop()) }()
	stage := &Stage{Routes: l.routes, Services: l.services, IdleBefore: idle, ReadySeconds: g.ReadyAfter.Seconds()}
	bytes, err := heap(ctx, g.pprof)
	if err != nil {
		return nil, err
	}
	stage.HeapMiB = bytes / (1 << 20)
	if stage.RSSMiB, stage.PeakMiB, err = settledMemory(ctx, g.PID()); err != nil {
		return nil, err
	}
	b.cluster.tell("  ready after %.2f s, settled after %.2f s with %d writes; %.0f MiB, heap %.0f MiB", stage.ReadySeconds, g.coldSeconds, g.coldWrites, stage.RSSMiB, stage.HeapMiB)
	if err := b.requests(ctx, g, l, stage); err != nil {
		return nil, err
	}
	if stage.LoadedMiB, _, err = memory(g.PID()); err != nil {
		return nil, err
	}
	if l.routes < 1000 {
		return stage, nil
	}
	if stage.Status, err = b.status(ctx, g, l); err != nil {
		return nil, err
	}
	s := stage.Status
	b.cluster.tell("  marked after %.0f ms (p99) when idle, %.0f ms in a mass event of %d routes that settled in %.1f s and, mended, in %.1f s",
		s.Idle.P99, s.Busy.P99, s.Withdrawn.Routes, s.Withdrawn.Seconds, s.Returned.Seconds)
	return stage, nil
}

// requests compares the webhooks with the floor.
func (b *bench) requests(ctx context.Context, g *running, l layout, stage *Stage) error {
	floorDir, err := os.MkdirTemp("", "gammaguard-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(floorDir) //nolint:errcheck // under the system's folder for such
	bundle, err := selfsigned.New("127.0.0.1")
	if err != nil {
		return err
	}
	if err := bundle.WriteDir(floorDir); err != nil {
		return err
	}
	f, err := startFloor(ctx, floorDir)
	if err != nil {
		return err
	}
	defer f.stop()
	floorTarget := newTarget(f.url, bundle.CA, f.cmd.Process.Pid, b.plan.clients)
	floorTarget.admitsAll = true
	for _, kind := range []struct {
		name, path string
		traffic    traffic
		admitsAll  bool
	}{
		{someBad, "/validate", traffic{layout: l, bad: 0.05}, false},
		{someBadOthersWarned, "/validate", traffic{layout: l, bad: 0.05, warned: true}, false},
		{mutatingSomeBad, "/mutate", traffic{layout: l, bad: 0.05}, true},
		{noneBad, "/validate", traffic{layout: l}, false},
		{allWarned, "/validate", traffic{layout: l, warned: true}, false},
		{fmt.Sprintf(crowded+" that %d routes share", b.sharing), "/validate", traffic{layout: l, shared: true}, false},
	} {
		target := newTarget(g.URL+kind.path, g.CA, g.PID(), b.plan.clients)
		target.admitsAll = kind.admitsAll
		c, err := compare(ctx, b.plan, target, floorTarget, kind.traffic.reviews(5000))
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		c.Traffic = kind.name
		stage.Webhook = append(stage.Webhook, c)
		b.cluster.tell("  %s: CPU %.0f us, floor %.0f, ratio %.2f; p99 %.0f us, floor %.0f, ratio %.2f",
			c.Traffic, c.CPU.Guard, c.CPU.Floor, c.CPU.Ratio, c.P99.Guard, c.P99.Floor, c.P99.Ratio)
	}
	return nil
}
