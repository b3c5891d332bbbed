package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
)

// cluster writes to an API server as its administrator, without a rate limit.
type cluster struct {
	client.WithWatch
	etcd string
	// has is what was seeded so far, and bound are the Services with routes.
	has   layout
	bound map[int]bool
}

func newCluster(plane *bed.ControlPlane) (*cluster, error) {
	c, err := plane.Client(gatewayv1.Install)
	return &cluster{WithWatch: c, etcd: plane.EtcdURL, bound: map[int]bool{}}, err
}

func (c *cluster) create(ctx context.Context, objects ...object) error {
	for _, o := range objects {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(encode(o)); err != nil {
			return err
		}
		if err := c.Create(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// parallel calls f with the numbers below n, several at a time.
func parallel(n int, f func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	return group.Wait()
}

// prepare makes the namespaces, and what is wrong or special in them.
func (c *cluster) prepare(ctx context.Context, count, sharing int) error {
	names := []string{shared, rivals}
	for i := range count {
		names = append(names, namespaceName(i))
	}
	for _, name := range names {
		err := c.create(ctx, namespace(name, "all"),
			service(name, "headless", object{"clusterIP": "None", "ports": httpPort}),
			service(name, "external", object{"type": "ExternalName", "externalName": "example.test"}))
		if err != nil {
			return err
		}
	}
	err := c.create(ctx, namespace(ungranted, "none"), service(ungranted, serviceName(0), nil),
		service(shared, sharedService, nil), endpointSlice(shared, sharedService))
	if err != nil {
		return err
	}
	err = parallel(sharing, func(i int) error {
		return c.create(ctx, plainRoute(shared, fmt.Sprintf("route-%06d", i), sharedService, i))
	})
	if err != nil {
		return err
	}
	return parallel(contested, func(i int) error {
		name := serviceName(i)
		return c.create(ctx, service(rivals, name, nil), endpointSlice(rivals, name),
			route("GRPCRoute", rivals, "holder-"+name, parent(name, 80), rule(-1, name)))
	})
}

// grow adds what the cluster lacks of a layout.
func (c *cluster) grow(ctx context.Context, to layout) error {
	from := c.has
	c.has = to
	const batch = 40 // etcd takes 128 writes at once, and a Service is three
	add := func(from, to int, entriesOf func(i int) []entry) error {
		return parallel((to-from+batch-1)/batch, func(n int) error {
			var entries []entry
			for i := from + n*batch; i < min(to, from+(n+1)*batch); i++ {
				entries = append(entries, entriesOf(i)...)
			}
			return c.restore(ctx, entries)
		})
	}
	err := add(from.services, to.services, to.serviceEntries)
	if err == nil {
		err = add(from.routes, to.routes, func(i int) []entry { return []entry{to.routeEntry(i)} })
	}
	for i := from.routes; i < to.routes; i++ {
		c.bound[i%to.services] = true
	}
	if err != nil {
		return err
	}
	return c.caughtUp(ctx, to.routes)
}

// entry is an object as etcd holds it.
type entry struct {
	key    string
	object object
}

// restore writes objects to etcd, as one who restores a backup would: the API
// server takes half an hour for 20,000 Services, as it counts all addresses in use
// for each. It reads what it serves from there, and its watches see it.
func (c *cluster) restore(ctx context.Context, entries []entry) error {
	var puts []object
	for _, e := range entries {
		puts = append(puts, object{"requestPut": object{"key": []byte("/registry/" + e.key), "value": encode(e.object)}})
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcd+"/v3/kv/txn", bytes.NewReader(encode(object{"success": puts})))
	if err != nil {
		return err
	}
	_, err = do(http.DefaultClient, request)
	return err
}

// caughtUp waits until the API server's watches have seen what was restored. A
// route that is written now, on a Gateway and so of no concern, comes last there.
func (c *cluster) caughtUp(ctx context.Context, mark int) error {
	name := fmt.Sprintf("last-%d", mark)
	if err := c.create(ctx, route("HTTPRoute", rivals, name, object{"name": "edge"}, rule(-1, serviceName(0)))); err != nil {
		return err
	}
	// A read that may be old is answered from what the watches have brought.
	old := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}
	return await(ctx, 5*time.Minute, func() (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: rivals, Name: name}, &gatewayv1.HTTPRoute{}, old)
		return err == nil, client.IgnoreNotFound(err)
	})
}

type object = map[string]any

// layout is what the cluster holds: Services spread over namespaces, and routes
// spread over the Services. All names follow from numbers.
type layout struct{ namespaces, services, routes int }

const (
	// ungranted is a namespace without a grant, shared the one of the Service that
	// many routes share, and rivals the one where routes conflict.
	ungranted, shared, rivals = "load-ungranted", "load-shared", "load-rivals"
	sharedService             = "busy"
)

func namespaceName(i int) string { return fmt.Sprintf("load-%03d", i) }
func serviceName(i int) string   { return fmt.Sprintf("service-%05d", i) }

// at returns the namespace of the Service with the number.
func (l layout) at(service int) string { return namespaceName(service % l.namespaces) }

func namespace(name, grant string) object {
	return object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name, "labels": object{"gammaguard.dev/grant": grant}}}
}

var httpPort = []object{{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}}

// service returns a Service; without a spec, one with port 80.
func service(namespace, name string, spec object) object {
	if spec == nil {
		spec = object{"selector": object{"app": name}, "ports": httpPort}
	}
	return object{"apiVersion": "v1", "kind": "Service", "metadata": metadata(namespace, name, nil), "spec": spec}
}

func endpointSlice(namespace, name string) object {
	return object{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata":    metadata(namespace, name, object{"kubernetes.io/service-name": name}),
		"addressType": "IPv4", "ports": []object{{"name": "http", "port": 8080}}, "endpoints": []object{{"addresses": []string{"10.0.0.1"}}},
	}
}

// route returns a route on a Service of its own namespace.
func route(kind, namespace, name string, parent object, rules ...object) object {
	return object{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": metadata(namespace, name, object{"app": name}),
		"spec": object{"parentRefs": []object{parent}, "rules": rules},
	}
}

// plainRoute returns an HTTPRoute with two rules and nothing wrong.
func plainRoute(namespace, name, service string, i int) object {
	return route("HTTPRoute", namespace, name, parent(service, 80), rule(i, service), rule(-1, service))
}

// metadata is as the API server would have completed it: what is created there gets
// its own in place of these.
func metadata(namespace, name string, labels object) object {
	return object{
		"namespace": namespace, "name": name, "labels": labels,
		"uid": namespace + "." + name, "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 1,
	}
}

// parent refers to a Service of the route's namespace; without a port where it is
// zero.
func parent(name string, port int) object {
	ref := object{"group": "", "kind": "Service", "name": name}
	if port != 0 {
		ref["port"] = port
	}
	return ref
}

// rule sends what a path and a header match, or everything, to a Service.
func rule(matched int, backend string) object {
	r := object{"backendRefs": []object{{"group": "", "kind": "Service", "name": backend, "port": 80, "weight": 1}}}
	if matched >= 0 {
		r["matches"] = []object{{
			"path":    object{"type": "PathPrefix", "value": "/items/" + strconv.Itoa(matched)},
			"headers": []object{{"type": "Exact", "name": "x-tenant", "value": "tenant-" + strconv.Itoa(matched)}},
		}}
		r["filters"] = []object{{"type": "RequestHeaderModifier", "requestHeaderModifier": object{"set": []object{{"name": "x-rule", "value": strconv.Itoa(matched)}}}}}
	}
	return r
}

// serviceEntries returns what etcd holds of the Service with the number: itself,
// its address and its EndpointSlice.
func (l layout) serviceEntries(i int) []entry {
	namespace, name := l.at(i), serviceName(i)
	ip := fmt.Sprintf("10.96.%d.%d", 100+i/250, 1+i%250)
	address := object{
		"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
		"metadata": metadata("", ip, object{"ipaddress.kubernetes.io/ip-family": "IPv4", "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}),
		"spec":     object{"parentRef": object{"group": "", "resource": "services", "namespace": namespace, "name": name}},
	}
	return []entry{
		{"ipaddresses/" + ip, address},
		{"services/specs/" + namespace + "/" + name, service(namespace, name, object{
			"type": "ClusterIP", "clusterIP": ip, "clusterIPs": []string{ip}, "ipFamilies": []string{"IPv4"}, "ipFamilyPolicy": "SingleStack",
			"sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "selector": object{"app": name}, "ports": httpPort,
		})},
		{"endpointslices/" + namespace + "/" + name, endpointSlice(namespace, name)},
	}
}

// routeEntry returns what etcd holds of the route with the number.
func (l layout) routeEntry(i int) entry {
	namespace, name := l.at(i%l.services), fmt.Sprintf("route-%06d", i)
	return entry{"gateway.networking.k8s.io/httproutes/" + namespace + "/" + name, plainRoute(namespace, name, serviceName(i%l.services), i)}
}

func encode(o object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // maps of strings, numbers and bytes
	}
	return data
}
