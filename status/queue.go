package status

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

type (
	serviceQueue  = workqueue.TypedRateLimitingInterface[mesh.ServiceKey]
	priorityQueue = priorityqueue.PriorityQueue[mesh.ServiceKey]
)

// The priorities of a Service in the queue. A fresh change comes before the rest of a
// mass event, before the initial reconciliation of everything, and before the events
// of our own writes.
const (
	fresh = 0
	bulk  = handler.LowPriority
)

// massThreshold is the number of Services from which a change counts as a mass event.
const massThreshold = 32

// enqueuer queues the Services that a change in the cache affects. Until the process
// is the leader, it only maintains the index of marked routes.
type enqueuer struct {
	cache  *kube.Cache
	marked markedRoutes

	mu    sync.Mutex
	queue priorityQueue // nil while the process does not lead
}

// Start sets the queue. It is called when the process becomes the leader, and queues
// all Services once the cache is complete.
func (f *enqueuer) Start(ctx context.Context, queue serviceQueue) error {
	go func() {
		if f.cache.WaitForSync(ctx) != nil {
			return
		}
		f.mu.Lock()
		f.queue = queue.(priorityQueue) //nolint:forcetypeassert // Add asks for one
		f.mu.Unlock()
		f.enqueueAll()
	}()
	return nil
}

// enqueueAll queues every Service on which a route is bound or marked.
func (f *enqueuer) enqueueAll() {
	seen := map[mesh.ServiceKey]bool{}
	for route := range f.cache.Routes() {
		for _, key := range route.Services() {
			seen[key] = true
		}
	}
	for _, key := range f.marked.services() {
		seen[key] = true
	}
	f.enqueue(seen, bulk)
}

// changed handles a change in the cache. It is fast: it only looks up and queues.
func (f *enqueuer) changed(change kube.Change) {
	seen := map[mesh.ServiceKey]bool{}
	for _, key := range change.Services {
		seen[key] = true
	}
	priority := fresh
	if f.leads() && change.Renamed != (mesh.ServiceKey{}) {
		for _, route := range f.cache.RoutesTo(change.Renamed) {
			for key := range route.ParentServices() {
				seen[key] = true
			}
		}
		if len(seen) >= massThreshold {
			priority = bulk
		}
	}
	if change.Route != (kube.RouteKey{}) {
		about, statusOnly := f.marked.update(change.Route, f.cache.Route(change.Route))
		for _, key := range about {
			seen[key] = true
		}
		if statusOnly {
			priority = bulk
		}
	}
	if f.leads() && change.Namespace != "" {
		for _, route := range f.cache.RoutesInNamespace(change.Namespace) {
			for _, key := range route.Services() {
				seen[key] = true
			}
		}
		for _, key := range f.cache.ParentsInNamespace(change.Namespace) {
			seen[key] = true
		}
		if len(seen) >= massThreshold {
			priority = bulk
		}
	}
	if change.First {
		priority = bulk
	}
	f.enqueue(seen, priority)
}

func (f *enqueuer) leads() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queue != nil
}

func (f *enqueuer) enqueue(services map[mesh.ServiceKey]bool, priority int) {
	f.mu.Lock()
	queue := f.queue
	f.mu.Unlock()
	if queue == nil || len(services) == 0 {
		return
	}
	keys := make([]mesh.ServiceKey, 0, len(services))
	for key := range services {
		keys = append(keys, key)
	}
	queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, keys...)
}
