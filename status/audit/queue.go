package audit

import (
	"hash/maphash"
	"iter"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

const (
	// debounce is for how long changes are collected before a namespace is judged.
	debounce = time.Second
	// A namespace that was judged rests restFactor times as long as that took, and at most
	// maxRest, so that one in which something always changes takes little of a processor, and
	// the metric is right within a minute.
	restFactor = 20
	maxRest    = 30 * time.Second
)

type (
	namespaceQueue = workqueue.TypedRateLimitingInterface[string]
	// priorityQueue is what is used of a priorityqueue.PriorityQueue: no other has both.
	priorityQueue interface {
		AddWithOpts(opts priorityqueue.AddOpts, namespaces ...string)
	}

	// routeIndex finds the routes that there are.
	routeIndex interface {
		Routes() iter.Seq[*kube.Route]
		RoutesInNamespace(namespace string) []*kube.Route
	}

	// fingerprint stands for a read: two that share one cost a look that finds nothing new.
	fingerprint uint64
)

// seed is for the fingerprints of this process.
var seed = maphash.MakeSeed()

func fingerprintOf(read *mesh.Read) fingerprint {
	normal := *read
	if normal.Kind == mesh.ReadEndpoints {
		normal.Kind = mesh.ReadService // a change of either is one of the Service
	}
	return fingerprint(maphash.Comparable(seed, normal))
}

// home is the namespace that the answer to the read comes from.
func home(read *mesh.Read) string {
	if read.Namespace != "" {
		return read.Namespace
	}
	return read.Service.Namespace
}

// enqueuer queues the namespaces whose routes a change in the cache may concern.
type enqueuer struct {
	routes routeIndex

	mu         sync.Mutex
	queue      priorityQueue // nil while the process does not lead
	namespaces map[string]*namespace
	// settled is set once every namespace was judged after the start.
	settled bool
}

// namespace is what is known of a namespace with routes.
type namespace struct {
	// pendingSince is since when a change waits to be judged, and processingSince since when one of those that
	// are being judged did; zero where there is none.
	pendingSince, processingSince time.Time
	// foreign are the reads of other namespaces by which its routes were judged.
	foreign map[fingerprint]struct{}
	// seen: it was judged before. rests is until when it is not judged again.
	seen  bool
	rests time.Time
}

func newEnqueuer(routes routeIndex) *enqueuer {
	return &enqueuer{routes: routes, namespaces: map[string]*namespace{}}
}

// start begins to queue: all namespaces with routes first.
func (e *enqueuer) start(queue priorityQueue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = queue
	for route := range e.routes.Routes() {
		e.add(route.Namespace, 0)
	}
}

func (e *enqueuer) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = nil
}

// changed handles a change in the cache. It is fast: it only looks up and queues.
func (e *enqueuer) changed(change kube.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.queue == nil || change.StatusOnly {
		return
	}
	homes, reads := map[string]bool{}, []fingerprint{}
	for _, read := range answered(&change) {
		homes[home(&read)] = true
		reads = append(reads, fingerprintOf(&read))
	}
	for name, n := range e.namespaces {
		if homes[name] || n.reads(reads) {
			e.add(name, debounce)
		}
	}
	if name := change.Route.Namespace; name != "" {
		e.add(name, debounce)
	}
}

func (n *namespace) reads(answered []fingerprint) bool {
	for _, read := range answered {
		if _, reads := n.foreign[read]; reads {
			return true
		}
	}
	return false
}

// answered returns the reads that are no longer answered as before.
func answered(change *kube.Change) (reads []mesh.Read) {
	switch {
	case change.Route != kube.RouteKey{}:
		for _, key := range change.Services {
			for _, namespace := range []string{change.Route.Namespace, ""} {
				reads = append(reads, mesh.Read{Kind: mesh.ReadRoutes, Service: key, Namespace: namespace})
			}
		}
		return reads
	case change.Namespace != "":
		reads = append(reads, mesh.Read{Kind: mesh.ReadNamespace, Namespace: change.Namespace})
	case change.Grants != "":
		reads = append(reads, mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: change.Grants})
	case change.Endpoints != mesh.ServiceKey{}:
		reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: change.Endpoints})
	}
	for _, key := range change.Services {
		reads = append(reads, mesh.Read{Kind: mesh.ReadService, Service: key})
	}
	return reads
}

// add queues the namespace.
func (e *enqueuer) add(name string, after time.Duration) {
	n := e.namespaces[name]
	if n == nil {
		n = &namespace{}
		e.namespaces[name] = n
	}
	if n.pendingSince.IsZero() {
		n.pendingSince = time.Now()
		e.queue.AddWithOpts(priorityqueue.AddOpts{After: max(after, time.Until(n.rests))}, name)
	}
}

// begin takes note that the namespace is being judged, and reports whether that is for the first time.
func (e *enqueuer) begin(name string) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.namespaces[name]
	if n == nil {
		return false
	}
	if n.processingSince.IsZero() { // else the last try failed
		n.processingSince = n.pendingSince
	}
	n.pendingSince = time.Time{}
	return !n.seen
}

// done takes note that the namespace was judged, and reports whether it was the last one
// after the start.
func (e *enqueuer) done(name string, s *seen, took time.Duration) (settled bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.namespaces[name]
	if n == nil {
		return false
	}
	n.processingSince, n.foreign, n.seen = time.Time{}, s.foreign, true
	n.rests = time.Now().Add(min(restFactor*took, maxRest))
	if n.pendingSince.IsZero() && len(e.routes.RoutesInNamespace(name)) == 0 {
		delete(e.namespaces, name)
	}
	if e.settled || !e.oldest().IsZero() {
		return false
	}
	e.settled = true
	return true
}

// oldest is since when a change has waited to be judged; zero where there is none.
func (e *enqueuer) oldest() (oldest time.Time) {
	for _, n := range e.namespaces {
		for _, since := range []time.Time{n.pendingSince, n.processingSince} {
			if !since.IsZero() && (oldest.IsZero() || since.Before(oldest)) {
				oldest = since
			}
		}
	}
	return oldest
}

// age returns for how long a change has waited to be judged, and whether the process leads.
func (e *enqueuer) age() (age time.Duration, leads bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if oldest := e.oldest(); !oldest.IsZero() {
		age = time.Since(oldest)
	}
	return age, e.queue != nil
}
