package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// marks notes when a watch shows that a route of a namespace is marked.
type marks struct {
	mu   sync.Mutex
	seen map[string]chan struct{}
	// now are the HTTPRoutes that are marked at present.
	now map[string]bool
}

// count returns how many routes are marked.
func (m *marks) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.now)
}

// note takes note of a route's state, and wakes up who waits for its first mark.
func (m *marks) note(name string, marked bool) {
	first := m.of(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !marked {
		delete(m.now, name)
		return
	}
	m.now[name] = true
	select {
	case <-first:
	default:
		close(first)
	}
}

// of returns a channel that is closed once the route is marked.
func (m *marks) of(name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[name] == nil {
		m.seen[name] = make(chan struct{})
	}
	return m.seen[name]
}

// watch follows the HTTPRoutes of a namespace until the context ends.
func (c *cluster) watch(ctx context.Context, namespace string) (*marks, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host+httpRoutesIn(namespace)+"?watch=true", nil)
	if err != nil {
		return nil, err
	}
	response, err := c.client.Do(request) //nolint:bodyclose // by the goroutine below
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("watch: %s", response.Status), response.Body.Close())
	}
	m := &marks{seen: map[string]chan struct{}{}, now: map[string]bool{}}
	go func() {
		defer response.Body.Close() //nolint:errcheck // the context has ended
		events := json.NewDecoder(bufio.NewReader(response.Body))
		for {
			var event struct {
				Object struct {
					Metadata struct {
						Name string `json:"name"`
					} `json:"metadata"`
					Status struct {
						Parents []struct {
							ControllerName string `json:"controllerName"`
						} `json:"parents"`
					} `json:"status"`
				} `json:"object"`
			}
			if events.Decode(&event) != nil {
				return
			}
			m.note(event.Object.Metadata.Name, len(event.Object.Status.Parents) > 0)
		}
	}()
	return m, nil
}

// conflicts applies routes that lose their port, one after another, until there
// are enough or done is closed, and returns how long each took to be marked.
func (c *cluster) conflicts(ctx context.Context, m *marks, run string, enough, contested int, done <-chan struct{}) (Latency, error) {
	var took []float64
	for i := range enough {
		select {
		case <-done:
			return latency(took), nil
		default:
		}
		name := fmt.Sprintf("loser-%s-%05d", run, i)
		service := serviceName(i % contested)
		o := route("HTTPRoute", rivals, name, []object{parent(service, 80)}, []object{rule(i, service), rule(-1, service)})
		marked := m.of(name)
		start := time.Now()
		if err := c.create(ctx, httpRoutesIn(rivals), o); err != nil {
			return Latency{}, err
		}
		select {
		case <-marked:
		case <-time.After(time.Minute):
			return Latency{}, fmt.Errorf("route %s was not marked within a minute", name)
		}
		took = append(took, float64(time.Since(start).Microseconds())/1e3)
	}
	return latency(took), nil
}

func latency(took []float64) Latency {
	slices.Sort(took)
	return Latency{Samples: len(took), P50: quantile(took, 0.5), P99: quantile(took, 0.99), Most: quantile(took, 1)}
}

// The metrics that tell what the reconciler has done.
const (
	looks   = `gammaguard_status_reconciles_total`
	written = `gammaguard_status_writes_total{result="written"}`
)

// awaitMetric polls the metrics until the condition holds.
func awaitMetric(ctx context.Context, url string, condition func(map[string]float64) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		values, err := numbers(ctx, url)
		if err != nil {
			return err
		}
		if condition(values) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// mass changes the grant of a namespace and waits until a watch shows that all its
// routes are marked, or none.
func (b *bench) mass(ctx context.Context, g *running, namespace, grant string, m *marks, routes int) (Mass, error) {
	before, err := numbers(ctx, g.MetricsURL)
	if err != nil {
		return Mass{}, err
	}
	cpu, err := cpuTime(g.PID())
	if err != nil {
		return Mass{}, err
	}
	want := 0
	if grant == "none" {
		want = routes
	}
	start := time.Now()
	if err := b.cluster.grant(ctx, namespace, grant); err != nil {
		return Mass{}, err
	}
	stop := b.cluster.every(10*time.Second, func() {
		b.cluster.tell("  grant %s: %d of %d routes are marked after %s", grant, m.count(), routes, time.Since(start).Round(time.Second))
	})
	defer stop()
	for m.count() != want {
		if time.Since(start) > 5*time.Minute {
			return Mass{}, fmt.Errorf("grant %s: %d of %d routes are marked after five minutes", grant, m.count(), routes)
		}
		select {
		case <-ctx.Done():
			return Mass{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	took := time.Since(start)
	after, err := numbers(ctx, g.MetricsURL)
	if err != nil {
		return Mass{}, err
	}
	spent, err := cpuTime(g.PID())
	return Mass{
		Routes: routes, Seconds: took.Seconds(), Writes: int(after[written] - before[written]), CPUSeconds: (spent - cpu).Seconds(),
	}, err
}

// status measures the reconciler in a process that has just started.
func (b *bench) status(ctx context.Context, g *running, l layout) (*Status, error) {
	s := &Status{ColdSeconds: g.coldSeconds, ColdWrites: g.coldWrites, ColdCPUSeconds: g.coldCPU}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := b.cluster.watch(watching, rivals)
	if err != nil {
		return nil, err
	}
	all, err := b.cluster.watch(watching, namespaceName(0))
	if err != nil {
		return nil, err
	}
	b.cluster.tell("  conflicts while idle")
	never := make(chan struct{})
	run := fmt.Sprint(l.routes)
	if s.Idle, err = b.cluster.conflicts(ctx, m, run+"-idle", b.conflicts, contested, never); err != nil {
		return nil, err
	}
	b.cluster.tell("  a mass event, and conflicts meanwhile")
	routes := 0
	for i := range l.routes {
		if l.seeded(i)["metadata"].(object)["namespace"] == namespaceName(0) { //nolint:forcetypeassert // see route
			routes++
		}
	}
	settled := make(chan struct{})
	var wg sync.WaitGroup
	var busyErr error
	wg.Go(func() {
		s.Busy, busyErr = b.cluster.conflicts(ctx, m, run+"-busy", 100000, contested, settled)
	})
	s.Withdrawn, err = b.mass(ctx, g, namespaceName(0), "none", all, routes)
	close(settled)
	wg.Wait()
	if err := errors.Join(err, busyErr); err != nil {
		return nil, err
	}
	s.Returned, err = b.mass(ctx, g, namespaceName(0), "all", all, routes)
	return s, err
}
