package standing

import (
	"sync"
	"time"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// changes are what happened in the cluster since they were last taken.
type changes struct {
	// reads are those that are no longer answered as before.
	reads map[mesh.Read]struct{}
	// namespaces are those whose labels changed.
	namespaces map[string]struct{}
	// routes are those that changed, with the Services that they are or were on.
	routes map[kube.RouteKey][]mesh.ServiceKey
}

func newChanges() *changes {
	return &changes{map[mesh.Read]struct{}{}, map[string]struct{}{}, map[kube.RouteKey][]mesh.ServiceKey{}}
}

// inbox collects changes for the auditor while the process leads.
type inbox struct {
	wake chan struct{}

	mu      sync.Mutex
	pending *changes // nil while it is closed
	// waits is since when a change is pending, and judges since when one of those was that
	// were taken; zero where there is none.
	waits, judges time.Time
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// open begins to collect: from now on, all routes are being judged.
func (i *inbox) open() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending, i.waits, i.judges = newChanges(), time.Time{}, time.Now()
}

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pending = nil
}

// take returns what was collected.
func (i *inbox) take() *changes {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.pending
	i.pending = newChanges()
	if i.judges.IsZero() {
		i.judges = i.waits
	}
	i.waits = time.Time{}
	return taken
}

// judged takes note that all that was taken has been judged.
func (i *inbox) judged() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.judges = time.Time{}
}

// age returns since when a change has waited to be judged, zero where there is none, and
// whether the inbox is open.
func (i *inbox) age() (since time.Time, open bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.judges.IsZero() {
		return i.waits, i.pending != nil
	}
	return i.judges, i.pending != nil
}

// changed collects a change in the cache. It is fast.
func (i *inbox) changed(change kube.Change) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.pending == nil {
		return
	}
	i.pending.add(change)
	if i.waits.IsZero() {
		i.waits = time.Now()
	}
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (c *changes) add(change kube.Change) {
	switch {
	case change.Route != kube.RouteKey{}:
		c.routes[change.Route] = append(c.routes[change.Route], change.Services...)
	case change.Namespace != "":
		c.namespaces[change.Namespace] = struct{}{}
		c.reads[mesh.Read{Kind: mesh.ReadNamespace, Namespace: change.Namespace}] = struct{}{}
	case change.Grants != "":
		c.reads[mesh.Read{Kind: mesh.ReadReferenceGrants, Namespace: change.Grants}] = struct{}{}
	case change.Endpoints != mesh.ServiceKey{}:
		c.reads[service(change.Endpoints)] = struct{}{}
	}
	if change.Route == (kube.RouteKey{}) {
		for _, key := range change.Services {
			c.reads[service(key)] = struct{}{}
		}
	}
}

// moved adds that the routes of a namespace on the Services changed.
func (c *changes) moved(namespace string, services []mesh.ServiceKey) {
	for _, key := range services {
		for _, namespace := range []string{namespace, ""} {
			c.reads[mesh.Read{Kind: mesh.ReadRoutes, Service: key, Namespace: namespace}] = struct{}{}
		}
	}
}

// service is the read of a Service, or of its endpoints: they are not told apart.
func service(key mesh.ServiceKey) mesh.Read {
	return mesh.Read{Kind: mesh.ReadService, Service: key}
}

// home is the namespace that the answer to the read comes from.
func home(read *mesh.Read) string {
	if read.Namespace != "" {
		return read.Namespace
	}
	return read.Service.Namespace
}
