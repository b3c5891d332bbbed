package webhook

import (
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gammaguard/gammaguard/internal/version"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Metrics counts what the webhooks do. All label values come from fixed sets, but for the
// namespaces, which are bounded in number.
type Metrics struct {
	requests *prometheus.CounterVec
	findings *prometheus.CounterVec
	changes  *prometheus.CounterVec
	reads    *prometheus.CounterVec
	// unreadable counts objects of the caches, which the webhooks judge by.
	unreadable *prometheus.CounterVec
	duration   *prometheus.HistogramVec

	mu sync.Mutex
	// named are the namespaces that are label values: of findings, and apart from these, so
	// that others leave room for them, of findings that an exemption lowers.
	named, exempted map[string]bool
}

// maxNamespaces is how many namespaces are label values, and otherNamespaces is the value
// for all others: not a valid name.
const (
	maxNamespaces   = 500
	otherNamespaces = "_other"
)

// NewMetrics returns the metrics, registered.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		named: map[string]bool{}, exempted: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_webhook_requests_total",
			Help: "Admission requests by webhook, route kind, operation, verdict (admit, mutate, deny, error, malformed), and whether the caller was authenticated by a client certificate.",
		}, []string{"webhook", "kind", "operation", "verdict", "authenticated"}),
		findings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_findings_total",
			Help: "Findings of the validating webhook by rule, effect (deny, warn, audit, off), why the effect is less severe than the action of the rule (update, dry-run, mode, exemption, annotation, mutation), namespace (_other beyond the first 500, and where it does not exist), and whether the caller was authenticated by a client certificate.",
		}, []string{"rule", "effect", "downgraded", "namespace", "authenticated"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_mutations_total",
			Help: "Fields that mutations set, or left as they were, by mutation, why it was left (empty: it was set; controller, exemption, mode), and namespace (_other beyond the first 500, and where it does not exist).",
		}, []string{"mutation", "withheld", "namespace"}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_live_reads_total",
			Help: "Live reads from the API server that confirm a denial or a mutation, by kind and result (found, not-found, error, and limited: not made, because callers caused too many).",
		}, []string{"kind", "result"}),
		unreadable: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gammaguard_unreadable_objects_total",
			Help: "Stored objects that could not be read in part or whole, each time that one was received, by kind. gammaguard acts as if they did not exist.",
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
	for _, collector := range []prometheus.Collector{info, m.requests, m.findings, m.changes, m.reads, m.unreadable, m.duration} {
		if err := registry.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// request counts a request; r is nil if it is not a valid AdmissionReview.
func (m *Metrics) request(webhook string, req *http.Request, r *review, result outcome) {
	kind, operation := "other", "other"
	if r != nil {
		kind = r.kind()
		switch r.Operation {
		case operationCreate, operationUpdate:
			operation = r.Operation
		}
	}
	m.requests.WithLabelValues(webhook, kind, operation, string(result), strconv.FormatBool(Authenticated(req))).Inc()
}

// finding counts a finding in a namespace that exists, or in none that is known.
func (m *Metrics) finding(r *review, namespace string, f *validate.Finding) {
	values := m.named
	if f.Downgraded == validate.DowngradedByExemption {
		values = m.exempted
	}
	m.findings.WithLabelValues(f.Rule, string(f.Effect), string(f.Downgraded), m.namespace(values, namespace), strconv.FormatBool(r.authenticated)).Inc()
}

// mutations counts the changes of a route, made or not, in a namespace that exists, or in none
// that is known.
func (m *Metrics) mutations(namespace string, plan *mutate.Plan) {
	for i := range plan.Changes {
		m.changes.WithLabelValues(plan.Changes[i].ID, string(plan.Withheld()), m.namespace(m.named, namespace)).Inc()
	}
}

// namespace returns the label value for a namespace, of at most maxNamespaces values.
func (m *Metrics) namespace(values map[string]bool, name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case values[name]:
	case len(values) == maxNamespaces || len(validation.IsDNS1123Label(name)) > 0:
		return otherNamespaces
	default:
		values[name] = true
	}
	return name
}

// limited counts a live read that was not made.
func (m *Metrics) limited(kind string) { m.reads.WithLabelValues(kind, "limited").Inc() }

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
