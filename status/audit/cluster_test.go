package audit

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

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
	// consumers are routes more, on a Service of another namespace.
	consumers map[kube.RouteKey]mesh.ServiceKey
	// missing are Services that do not exist.
	missing map[mesh.ServiceKey]bool
	// lists counts the lists of routes; failing is what they answer.
	lists   int
	failing error
}

func newCluster(namespaces, each int) *cluster {
	c := &cluster{
		namespaces: namespaces, each: each,
		routes: map[kube.RouteKey]*kube.Route{}, missing: map[mesh.ServiceKey]bool{}, consumers: map[kube.RouteKey]mesh.ServiceKey{},
	}
	for n := range namespaces {
		for r := range each {
			key := keyOf(n, r)
			route, err := mesh.DecodeRoute(textOf(key, parent(key)))
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

func textOf(key kube.RouteKey, on mesh.ServiceKey) []byte {
	return fmt.Appendf(nil, `{"kind":"HTTPRoute","metadata":{"namespace":%q,"name":%q,"generation":1},"spec":{
"parentRefs":[{"group":"","kind":"Service","namespace":%q,"name":%q,"port":80}],"rules":[{"backendRefs":[{"name":%q,"port":80}]}]}}`,
		key.Namespace, key.Name, on.Namespace, on.Name, key.Name+"-backend")
}

// parent is the Service that the route is on, and backend its backend.
func parent(key kube.RouteKey) mesh.ServiceKey {
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: key.Namespace, Name: key.Name}
}

func backend(key kube.RouteKey) mesh.ServiceKey {
	return mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: key.Namespace, Name: key.Name + "-backend"}
}

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
		if a.routes[key] == nil {
			continue
		}
		if err := each(textOf(key, parent(key))); err != nil {
			return err
		}
	}
	for key, service := range a.consumers {
		if key.Namespace == namespace {
			return each(textOf(key, service))
		}
	}
	return nil
}

// audit is a reconciler and its queue, of which all has been judged.
type audit struct {
	*reconciler
	*cluster
	waiting map[string]bool
	after   time.Duration // the longest that a namespace was told to wait
}

// AddWithOpts implements priorityQueue.
func (a *audit) AddWithOpts(opts priorityqueue.AddOpts, namespaces ...string) {
	for _, name := range namespaces {
		a.waiting[name] = true
	}
	a.after = max(a.after, opts.After)
}

// begin returns an audit that has judged every route of the cluster.
func begin(t testing.TB, c *cluster) *audit {
	t.Helper()
	engine, err := validate.New(rules.Catalog(), &validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantAll}})
	if err != nil {
		t.Fatal(err)
	}
	a := &audit{newReconciler(c, api{c}, creation.Judge{Engine: engine}), c, map[string]bool{}, 0}
	a.enqueuer.start(a)
	a.all(t)
	return a
}

// all judges all that is queued.
func (a *audit) all(t testing.TB) {
	t.Helper()
	for len(a.waiting) > 0 {
		for namespace := range a.waiting {
			delete(a.waiting, namespace)
			if _, err := a.Reconcile(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// happens has the change dispatched, and all judged that it bears on.
func (a *audit) happens(t testing.TB, change kube.Change) {
	t.Helper()
	a.enqueuer.changed(change)
	a.all(t)
}
