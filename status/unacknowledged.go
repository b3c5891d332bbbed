package status

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

const (
	// patience is for how long a mesh may take to answer.
	patience = time.Minute
	// maxNamespaces is how many namespaces are label values at a time, and otherNamespaces is
	// the value for all others, as in gammaguard_stored_findings.
	maxNamespaces   = 500
	otherNamespaces = "_other"
)

// unacknowledged is gammaguard_routes_unacknowledged. It is counted when it is asked for: what
// it takes is in the cache.
type unacknowledged struct {
	desc  *prometheus.Desc
	cache routes
	// answers are what is known of a route's.
	answers func(*kube.Route) (mesh.Acknowledgements, time.Time)
	policy  *validate.Policy
	// leads is closed once the process leads.
	leads <-chan struct{}

	mu sync.Mutex
	// named are the namespaces that are label values.
	named map[string]bool
}

// routes is what is used of a kube.Cache.
type routes interface {
	Routes() iter.Seq[*kube.Route]
	HasSynced() bool
}

// unanswered are the labels of a count.
type unanswered struct {
	namespace string
	kind      mesh.RouteKind
	state     mesh.Acknowledgement
}

func newUnacknowledged(cache routes, policy *validate.Policy, leads <-chan struct{}) *unacknowledged {
	return &unacknowledged{
		cache: cache, answers: (*kube.Route).Acknowledged, policy: policy, leads: leads, named: map[string]bool{},
		desc: prometheus.NewDesc("gammaguard_routes_unacknowledged",
			fmt.Sprintf("Number of routes with a mesh parent that gammaguard finds no fault with, and that no other controller has accepted in status.parents for more than a minute, by namespace (_other beyond %d namespaces with such routes), route kind, and state: unanswered, stale, or refused. None while no controller has answered about any mesh parent in the cluster: the mesh may not write status. Only the leader reports them.", maxNamespaces),
			[]string{"namespace", "kind", "state"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (u *unacknowledged) Describe(descs chan<- *prometheus.Desc) { descs <- u.desc }

// Collect implements prometheus.Collector.
func (u *unacknowledged) Collect(metrics chan<- prometheus.Metric) {
	select {
	case <-u.leads:
	default:
		return
	}
	if !u.cache.HasSynced() {
		return
	}
	for labels, n := range u.count(time.Now()) {
		metrics <- prometheus.MustNewConstMetric(u.desc, prometheus.GaugeValue, float64(n), labels.namespace, string(labels.kind), labels.state.String())
	}
}

// count counts the routes that have waited for longer than patience. There are none where no
// route has an answer: some meshes never write any.
func (u *unacknowledged) count(now time.Time) map[unanswered]int {
	counts, namespaces, answered := map[unanswered]int{}, map[string]bool{}, false
	for route := range u.cache.Routes() {
		answers, since := u.answers(route)
		for i := range route.Parents {
			answered = answered || answers.Of(i) != mesh.Unanswered && route.IsMeshParent(i)
		}
		if now.Sub(since) < patience {
			continue
		}
		if state := u.state(route, answers); state != mesh.Applied {
			counts[unanswered{route.Namespace, route.Kind, state}]++
			namespaces[route.Namespace] = true
		}
	}
	if !answered {
		clear(counts)
		clear(namespaces)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.named, func(name string, _ bool) bool { return !namespaces[name] })
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if len(u.named) < maxNamespaces {
			u.named[name] = true
		}
	}
	bounded := map[unanswered]int{}
	for labels, n := range counts {
		if !u.named[labels.namespace] {
			labels.namespace = otherNamespaces
		}
		bounded[labels] += n
	}
	return bounded
}

// state is that of the mesh parent which is the furthest from being applied. Those that the
// mesh ignores, or that an entry of ours marks as refused, do not count.
func (u *unacknowledged) state(route *kube.Route, answers mesh.Acknowledgements) mesh.Acknowledgement {
	state := mesh.Applied
	for i := range route.Parents {
		if answers.Of(i) >= state || !route.IsMeshParent(i) || marked(route, i) {
			continue
		}
		if key := route.Parents[i].Service(route.Namespace); !u.policy.Ignores(&route.AttachedRoute, key) {
			state = answers.Of(i)
		}
	}
	return state
}

// marked reports whether an entry of ours says that the parentRef has no effect.
func marked(route *kube.Route, ref int) bool {
	return slices.ContainsFunc(route.Entries, func(entry kube.Entry) bool {
		return entry.ParentRef.Same(&route.Parents[ref]) && slices.ContainsFunc(entry.Conditions, func(c metav1.Condition) bool {
			return c.Type == desired.Accepted && c.Status == metav1.ConditionFalse
		})
	})
}
