package standing

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// cluster is a cache and the API server behind it: routes that each have a Service of
// their own and one backend more.
type cluster struct {
	namespaces, each int
	routes           map[kube.RouteKey]*kube.Route
	// missing are Services that do not exist, and gone routes that only the cache has.
	missing map[mesh.ServiceKey]bool
	gone    map[kube.RouteKey]bool
	// lists and gets count the reads of routes; failing is what they answer. Single reads
	// are made side by side.
	lists, gets int
	failing     error
	// stale is what the API server's cache has of any route, if that is older.
	stale []byte
	mu    sync.Mutex
}

func newCluster(namespaces, each int) *cluster {
	c := &cluster{
		namespaces: namespaces, each: each,
		routes: map[kube.RouteKey]*kube.Route{}, missing: map[mesh.ServiceKey]bool{}, gone: map[kube.RouteKey]bool{},
	}
	for n := range namespaces {
		for r := range each {
			key := keyOf(n, r)
			route, err := mesh.DecodeRoute(textOf(key))
			if err != nil {
				panic(err)
			}
			c.routes[key] = &kube.Route{AttachedRoute: *route.Attached(nil)}
		}
	}
	return c
}

func keyOf(namespace, route int) kube.RouteKey {
	return kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: fmt.Sprintf("namespace-%04d", namespace), Name: fmt.Sprintf("route-%05d", route)}
}

func textOf(key kube.RouteKey) []byte {
	return fmt.Appendf(nil, `{"kind":"HTTPRoute","metadata":{"namespace":%q,"name":%q,"generation":1},"spec":{
"parentRefs":[{"group":"","kind":"Service","name":%q,"port":80}],"rules":[{"backendRefs":[{"name":%q,"port":80}]}]}}`,
		key.Namespace, key.Name, key.Name, key.Name+"-backend")
}

// parent is the Service that the route is on, and backend its backend.
func parent(key kube.RouteKey) mesh.ServiceKey {
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: key.Namespace, Name: key.Name}
}

func backend(key kube.RouteKey) mesh.ServiceKey {
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: key.Namespace, Name: key.Name + "-backend"}
}

func (c *cluster) WaitForSync(context.Context) error   { return nil }
func (c *cluster) Route(key kube.RouteKey) *kube.Route { return c.routes[key] }

func (c *cluster) Routes() iter.Seq[*kube.Route] {
	return func(yield func(*kube.Route) bool) {
		for _, route := range c.routes {
			if !yield(route) {
				return
			}
		}
	}
}

func (c *cluster) RoutesInNamespace(namespace string) []*kube.Route {
	var routes []*kube.Route
	for r := range c.each {
		if route := c.routes[kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: namespace, Name: keyOf(0, r).Name}]; route != nil {
			routes = append(routes, route)
		}
	}
	return routes
}

// Do implements mesh.Reader.
func (c *cluster) Do(read mesh.Read) (answer mesh.Answer) {
	key := read.Service
	switch read.Kind {
	case mesh.ReadNamespace:
		answer.Namespace = &mesh.Namespace{Name: read.Namespace}
	case mesh.ReadService:
		if c.missing[key] {
			return mesh.Answer{Err: mesh.ErrNotFound}
		}
		answer.Service = &mesh.Service{Key: key, Ports: []mesh.Port{{Number: 80, Protocol: "TCP"}}}
	case mesh.ReadEndpoints:
		answer.HasEndpoints = true
	case mesh.ReadRoutes:
		if route := c.routes[kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: key.Namespace, Name: key.Name}]; route != nil {
			answer.AttachedRoutes = []*mesh.AttachedRoute{&route.AttachedRoute}
		}
	}
	return answer
}

// api is the cluster's API server.
type api struct{ *cluster }

func (a api) Routes(_ context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error {
	a.lists++
	if a.failing != nil {
		return a.failing
	}
	for r := range a.each {
		key := kube.RouteKey{Kind: kind, Namespace: namespace, Name: keyOf(0, r).Name}
		if a.routes[key] == nil || a.gone[key] {
			continue
		}
		if err := each(textOf(key)); err != nil {
			return err
		}
	}
	return nil
}

func (a api) RouteObject(_ context.Context, _ mesh.RouteKind, namespace, name string) ([]byte, error) {
	a.mu.Lock()
	a.gets++
	a.mu.Unlock()
	key := kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: namespace, Name: name}
	switch {
	case a.failing != nil:
		return nil, a.failing
	case a.routes[key] == nil || a.gone[key]:
		return nil, mesh.ErrNotFound
	}
	return textOf(key), nil
}

func (a api) CachedRouteObject(ctx context.Context, kind mesh.RouteKind, namespace, name string) ([]byte, error) {
	if a.stale != nil {
		return a.stale, nil
	}
	return a.RouteObject(ctx, kind, namespace, name)
}

// begin returns an auditor that has judged every route of the cluster.
func begin(t testing.TB, c *cluster) *auditor {
	t.Helper()
	engine, err := validate.New(rules.Catalogue(), &validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	if err != nil {
		t.Fatal(err)
	}
	a := newAuditor(c, api{c}, Options{Judge: creation.Judge{Engine: engine}, Log: logr.Discard()})
	a.begin()
	a.all(t)
	return a
}

// all judges all that is due.
func (a *auditor) all(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(a.due.order) > 0 {
		if a.audit(ctx); ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
}

// happens has the change dispatched, and all judged that it bears on.
func (a *auditor) happens(t testing.TB, change kube.Change) {
	t.Helper()
	a.inbox.changed(change)
	a.dispatch(a.inbox.take())
	a.all(t)
}
