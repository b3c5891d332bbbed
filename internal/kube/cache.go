package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/mesh"
)

// Options says what a Cache keeps.
type Options struct {
	// Mesh is the profile that classifies parentRefs; nil for the specification.
	Mesh *mesh.Profile
	// ControllerName tells our own entries in routes' status from others'. Empty:
	// none are ours.
	ControllerName string
	// FormerControllerNames tell entries that were written under another
	// ControllerName, and are ours to remove.
	FormerControllerNames []string
	// DiscoveryInterval is how often the cache asks which kinds are served while that
	// does not change; zero is 30 seconds. After a change, it asks sooner.
	DiscoveryInterval time.Duration
	// MaxStaleness is how old the cache may get before it is Stale; zero is no bound. A
	// watch lasts a third of it, since its end tells that it was alive.
	MaxStaleness time.Duration
	// Unreadable, if set, is called with each stored object that cannot be read in
	// part or whole, each time that it comes: a route's status entry of ours then
	// counts as stale, any other object as absent.
	Unreadable func(kind, namespace, name string, err error)
}

// Cache is a mesh.Reader of a running cluster, kept up to date by watches. It is
// safe for concurrent use.
type Cache struct {
	options   Options
	client    *client
	listeners []func(Change)

	tables map[resource]*table
	// routes are the tables of the route kinds.
	routes []*table
	// attachments are the routes by Service.
	attachments attachments
	backends    backends
	endpoints   endpoints

	mu sync.RWMutex
	// feeds are the running watches by resource, nil before the kinds that the API
	// server serves are known. Only the goroutine of Start writes it.
	feeds map[resource]*feed
	// discoveryError is why it is not known what is served.
	discoveryError error
	// synced is set once all was listed. What is installed later unsets nothing.
	synced atomic.Bool
	// freshUntil is until when the cache is not stale, whatever happens; nil if that is
	// not known. Every request asks.
	freshUntil atomic.Pointer[time.Time]
	// unserved is written to where something may no longer be served.
	unserved chan struct{}
}

var _ mesh.Reader = (*Cache)(nil)

// New returns a cache that is empty until Start runs.
func New(config *rest.Config, options Options) (*Cache, error) {
	if options.DiscoveryInterval == 0 {
		options.DiscoveryInterval = 30 * time.Second
	}
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	c := &Cache{
		options: options, client: client, unserved: make(chan struct{}, 1),
		attachments: attachments{services: map[mesh.ServiceKey][]*mesh.AttachedRoute{}},
		backends:    backends{services: map[mesh.ServiceKey][]*mesh.AttachedRoute{}},
		endpoints:   endpoints{slices: map[mesh.ServiceKey]int{}},
	}
	c.tables = c.newTables()
	for _, kind := range mesh.RouteKinds() {
		c.routes = append(c.routes, c.tables[routeResource(kind)])
	}
	return c, nil
}

// NeedLeaderElection says that every replica needs its cache.
func (c *Cache) NeedLeaderElection() bool { return false }

// Start fills the cache and keeps it up to date until the context ends. Errors of
// the API server are tried again and never returned; NotSynced tells them.
func (c *Cache) Start(ctx context.Context) error {
	c.run(ctx)
	return nil
}

// HasSynced reports whether all that was served at the start was listed once.
func (c *Cache) HasSynced() bool { return c.NotSynced() == nil }

// NotSynced returns nil once all that was served at the start was listed, and
// until then an error that says what is missing and why.
func (c *Cache) NotSynced() error {
	if c.synced.Load() {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.feeds == nil {
		if c.discoveryError != nil {
			return fmt.Errorf("ask which kinds are served: %w", c.discoveryError)
		}
		return fmt.Errorf("not yet known which kinds are served")
	}
	var waiting []string
	for _, feed := range c.feeds {
		if reason := feed.waiting(); reason != "" {
			waiting = append(waiting, reason)
		}
	}
	if len(waiting) == 0 {
		c.synced.Store(true)
		return nil
	}
	slices.Sort(waiting)
	return fmt.Errorf("not yet listed: %s", strings.Join(waiting, "; "))
}

// WaitForSync waits until HasSynced. It returns the context's error, and what is
// missing, if that ends first.
func (c *Cache) WaitForSync(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := c.NotSynced()
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), missing)
		case <-tick.C:
		}
	}
}

// RouteVersion returns the version in which routes of the kind are read, the best
// that is served, or nothing where none is known to be served.
func (c *Cache) RouteVersion(kind mesh.RouteKind) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if feed := c.feeds[routeResource(kind)]; feed != nil {
		return feed.version
	}
	return ""
}

// Do implements mesh.Reader. Routes of one namespace come the oldest first.
func (c *Cache) Do(read mesh.Read) (answer mesh.Answer) {
	switch read.Kind {
	case mesh.ReadNamespace:
		namespace, ok := c.tables[namespaceResource].Get(read.Namespace)
		if !ok {
			return mesh.Answer{Err: mesh.ErrNotFound}
		}
		answer.Namespace = namespace.(*mesh.Namespace)
	case mesh.ReadService:
		answer.Service, answer.Err = c.service(read.Service)
	case mesh.ReadEndpoints:
		if read.Service.Kind != mesh.ServiceKind {
			return mesh.Answer{Err: mesh.ErrUnknown} // implementations need not keep EndpointSlices (GEP-1748)
		}
		answer.HasEndpoints = c.endpoints.has(read.Service)
	case mesh.ReadReferenceGrants:
		for _, grant := range c.tables[referenceGrants].by(byNamespace, read.Namespace) {
			answer.ReferenceGrants = append(answer.ReferenceGrants, grant.(*referenceGrant).ReferenceGrant)
		}
	case mesh.ReadRoutes:
		answer.AttachedRoutes = c.attachments.of(read.Service, read.Namespace)
	default:
		answer.Err = mesh.ErrUnknown
	}
	return answer
}

func (c *Cache) service(key mesh.ServiceKey) (*mesh.Service, error) {
	resource := serviceResource
	if key.Kind == mesh.ServiceImportKind {
		resource = serviceImports
	}
	if service, ok := c.tables[resource].Get(tableKey(key.Namespace, key.Name)); ok {
		return service.(*mesh.Service), nil
	}
	if resource == serviceImports && !c.serves(serviceImports) {
		return nil, mesh.ErrNotServed
	}
	return nil, mesh.ErrNotFound
}
