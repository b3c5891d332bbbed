package webhook

import (
	"errors"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/version"
)

// Metrics counts what the webhooks do. All label values come from fixed sets.
type Metrics struct {
	requests *prometheus.CounterVec
	findings *prometheus.CounterVec
	reads    *prometheus.CounterVec
	// unreadable counts objects of the caches, which the webhooks judge by.
	unreadable *prometheus.CounterVec
	duration   *prometheus.HistogramVec
}

// NewMetrics returns the metrics, registered.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_webhook_requests_total",
			Help: "Admission requests by webhook, route kind, operation and verdict (admit, mutate, deny, error, malformed).",
		}, []string{"webhook", "kind", "operation", "verdict"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_findings_total",
			Help: "Findings of the validating webhook by rule and effect (deny, warn, audit, off).",
		}, []string{"rule", "effect"}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_live_reads_total",
			Help: "Live reads from the API server that confirm a denial or a mutation, by kind and result (found, not-found, error).",
		}, []string{"kind", "result"}),
		unreadable: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_unreadable_objects_total",
			Help: "Stored objects that could not be read in part or whole, each time that one was received, by kind. They count as absent.",
		}, []string{"kind"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "gammaguard_webhook_duration_seconds",
			Help:    "Latency of admission requests in seconds, by webhook.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"webhook"}),
	}
	built := version.Get()
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gammaguard_build_info", Help: "Always 1. The labels say what gammaguard was built from.",
		ConstLabels: prometheus.Labels{"version": built.Version, "commit": built.Commit, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
	for _, collector := range []prometheus.Collector{info, m.requests, m.findings, m.reads, m.unreadable, m.duration} {
		if err := registry.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// request counts a request; r is nil if it is not a valid AdmissionReview.
func (m *Metrics) request(webhook string, r *review, result outcome) {
	kind, operation := "other", "other"
	if r != nil {
		kind = r.kind()
		switch r.Operation {
		case operationCreate, operationUpdate:
			operation = r.Operation
		}
	}
	m.requests.WithLabelValues(webhook, kind, operation, string(result)).Inc()
}

func (m *Metrics) finding(f *validate.Finding) {
	m.findings.WithLabelValues(f.Rule, string(f.Effect)).Inc()
}

func (m *Metrics) observe(webhook string, took time.Duration) {
	m.duration.WithLabelValues(webhook).Observe(took.Seconds())
}

// Read counts a live read; it is a live.Observer.
func (m *Metrics) Read(kind string, err error) {
	result := "found"
	switch {
	case errors.Is(err, mesh.ErrNotFound):
		result = "not-found"
	case err != nil:
		result = "error"
	}
	m.reads.WithLabelValues(kind, result).Inc()
}

// Unreadable counts a stored object that could not be read.
func (m *Metrics) Unreadable(kind string) { m.unreadable.WithLabelValues(kind).Inc() }
