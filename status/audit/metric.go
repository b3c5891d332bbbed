package audit

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// maxNamespaces is how many namespaces are label values at a time, and otherNamespaces is
// the value for all others, as in gammaguard_findings_total.
const (
	maxNamespaces   = 500
	otherNamespaces = "_other"
)

// series are the labels of a count, besides the namespace.
type series struct {
	kind   mesh.RouteKind
	rule   string
	action validate.Action
}

// metric is gammaguard_stored_findings.
type metric struct {
	desc *prometheus.Desc

	mu sync.Mutex
	// counts are by namespace, without zeros; named are the namespaces that are label
	// values.
	counts map[string]map[series]int
	named  map[string]bool
}

func newMetric() *metric {
	return &metric{counts: map[string]map[series]int{}, named: map[string]bool{}, desc: prometheus.NewDesc("gammaguard_stored_findings",
		fmt.Sprintf("Number of findings on stored routes, if they were created now, by namespace (_other beyond %d namespaces with findings), route kind, rule, and the action of the rule, whatever the mode. Only the leader reports them.", maxNamespaces),
		[]string{"namespace", "kind", "rule", "action"}, nil)}
}

// stop forgets all counts, and takes no more.
func (m *metric) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts, m.named = nil, nil
}

// replace counts the findings in the namespace in the place of those before.
func (m *metric) replace(namespace string, counts map[series]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.counts == nil:
		return
	case len(counts) == 0:
		delete(m.counts, namespace)
		delete(m.named, namespace)
		return
	case len(m.named) < maxNamespaces:
		m.named[namespace] = true
	}
	m.counts[namespace] = counts
}

// Describe implements prometheus.Collector.
func (m *metric) Describe(descs chan<- *prometheus.Desc) { descs <- m.desc }

// Collect implements prometheus.Collector.
func (m *metric) Collect(metrics chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	others := map[series]int{}
	send := func(namespace string, s series, n int) {
		metrics <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(n), namespace, string(s.kind), s.rule, string(s.action))
	}
	for namespace, counts := range m.counts {
		for s, n := range counts {
			if m.named[namespace] {
				send(namespace, s, n)
			} else {
				others[s] += n
			}
		}
	}
	for s, n := range others {
		send(otherNamespaces, s, n)
	}
}

// age is gammaguard_stored_findings_age_seconds.
type age struct{ *enqueuer }

var ageDesc = prometheus.NewDesc("gammaguard_stored_findings_age_seconds",
	"Age in seconds of the oldest change that gammaguard_stored_findings does not include yet. Zero if it includes all changes in the caches of this replica. Only the leader reports it.", nil, nil)

// Describe implements prometheus.Collector.
func (a age) Describe(descs chan<- *prometheus.Desc) { descs <- ageDesc }

// Collect implements prometheus.Collector.
func (a age) Collect(metrics chan<- prometheus.Metric) {
	if age, leads := a.age(); leads {
		metrics <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, age.Seconds())
	}
}
