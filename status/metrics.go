package status

import (
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

// The outcomes of a write, as metric gammaguard_status_writes_total counts them.
const (
	written       = "written"
	writeConflict = "conflict"
	writeFailed   = "error"
)

// metrics are the metrics of the reconciler. The gauges are kept for each Service, so
// that the cost of a change depends only on the Services it affects.
type metrics struct {
	marks      *prometheus.GaugeVec
	full       prometheus.Gauge
	writes     *prometheus.CounterVec
	reads      prometheus.Counter
	reconciles prometheus.Counter

	mu sync.Mutex
	at map[mesh.ServiceKey]*tally
}

// tally is what one Service contributes to the gauges.
type tally struct {
	marks map[series]int
	full  map[kube.RouteKey]struct{}
}

type series struct {
	kind   mesh.RouteKind
	reason string
}

func newMetrics(registerer prometheus.Registerer, contested func() float64) (*metrics, error) {
	m := &metrics{
		marks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "gammaguard_status_marks",
			Help: "Number of parentRefs that are marked in the status of their route, by route kind and reason (PartiallyConflicted for a partial conflict). Only the leader reports them.",
		}, []string{"kind", "reason"}),
		full: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "gammaguard_status_full",
			Help: "Number of routes whose status.parents has no room for an entry of gammaguard. A route on several Services can count once for each.",
		}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_status_writes_total",
			Help: "Patches of the status of routes, by result: written, conflict (retried), or error.",
		}, []string{"result"}),
		reads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gammaguard_status_reads_total",
			Help: "Live reads of routes before a write.",
		}),
		reconciles: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gammaguard_status_reconciles_total",
			Help: "Reconciliations of a Service and its routes.",
		}),
		at: map[mesh.ServiceKey]*tally{},
	}
	for _, result := range []string{written, writeConflict, writeFailed} {
		m.writes.WithLabelValues(result)
	}
	contestedGauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gammaguard_status_contested",
		Help: fmt.Sprintf("Number of routes in whose status another writer undid entries of gammaguard again and again, in the last %.0f minutes. A route on several Services can count once for each.", memory.Minutes()),
	}, contested)
	var err error
	for _, collector := range []prometheus.Collector{m.marks, m.full, m.writes, m.reads, m.reconciles, contestedGauge} {
		err = errors.Join(err, registerer.Register(collector))
	}
	return m, err
}

// add counts an entry of a route on the Service.
func (t *tally) add(kind mesh.RouteKind, condition *desired.Condition) {
	reason := condition.Reason
	if condition.Type == desired.PartiallyConflicted {
		reason = "PartiallyConflicted"
	}
	if t.marks == nil {
		t.marks = map[series]int{}
	}
	t.marks[series{kind, reason}]++
}

// addFull counts a route without room.
func (t *tally) addFull(key kube.RouteKey) {
	if t.full == nil {
		t.full = map[kube.RouteKey]struct{}{}
	}
	t.full[key] = struct{}{}
}

// replace sets what the Service contributes, and returns the routes that no longer
// have room.
func (m *metrics) replace(service mesh.ServiceKey, now *tally) (newlyFull []kube.RouteKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.at[service]
	if before == nil {
		before = &tally{}
	}
	for s, n := range now.marks {
		m.marks.WithLabelValues(string(s.kind), s.reason).Add(float64(n - before.marks[s]))
	}
	for s, n := range before.marks {
		if now.marks[s] == 0 {
			m.marks.WithLabelValues(string(s.kind), s.reason).Sub(float64(n))
		}
	}
	for key := range now.full {
		if _, known := before.full[key]; !known {
			newlyFull = append(newlyFull, key)
		}
	}
	m.full.Add(float64(len(now.full) - len(before.full)))
	if len(now.marks) == 0 && len(now.full) == 0 {
		delete(m.at, service)
	} else {
		m.at[service] = now
	}
	return newlyFull
}
