package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
)

// object is what a template of objects.tmpl is filled with.
type object struct {
	Namespace, Name string
	// Grant is a Namespace's, and IP a Service's: empty for one that the API server
	// chooses.
	Grant, IP string
	// Parent and Backend are the Services of a route, and Home is their namespace if it is
	// another; without a Parent, it is on a Gateway. Without a Port, it is on all ports.
	Parent, Backend, Home string
	Port                  int
	// Matches has a number for each rule, whose match follows from it.
	Matches []int
	// Hostnames: there are some. Requested: kubectl has made it.
	Hostnames, Requested bool
}

// everything is the number of a rule that matches every request.
const everything = -1

var (
	//go:embed objects.tmpl
	objectsText string
	objects     = template.Must(template.New("objects").Parse(objectsText))
)

// encode returns the object in JSON.
func encode(kind string, o object) []byte {
	var text, compact bytes.Buffer
	if err := errors.Join(objects.ExecuteTemplate(&text, kind, o), json.Compact(&compact, text.Bytes())); err != nil {
		panic(err) // a mistake in objects.tmpl
	}
	return compact.Bytes()
}

// plainRoute returns an HTTPRoute with two rules and nothing wrong.
func plainRoute(namespace, name, service string, i int) []byte {
	return encode("HTTPRoute", object{
		Namespace: namespace, Name: name, Parent: service, Backend: service, Port: 80, Matches: []int{i, everything},
	})
}

// layout is what the cluster holds: Services spread over namespaces, and routes
// spread over the Services. All names follow from numbers.
type layout struct{ namespaces, services, routes int }

const (
	// ungranted is a namespace without a grant, shared the one of the Service that
	// many routes share, and rivals the one where routes conflict.
	ungranted, shared, rivals = "load-ungranted", "load-shared", "load-rivals"
	sharedService             = "busy"
)

// sharedObject is the Service that many routes share, and its EndpointSlice.
var sharedObject = object{Namespace: shared, Name: sharedService}

func namespaceName(i int) string { return fmt.Sprintf("load-%03d", i) }
func serviceName(i int) string   { return fmt.Sprintf("service-%05d", i) }

// at returns the namespace of the Service with the number.
func (l layout) at(service int) string { return namespaceName(service % l.namespaces) }

// service returns what etcd holds of the Service with the number: itself, its
// address and its EndpointSlice, by their keys.
func (l layout) service(i int) map[string][]byte {
	o := object{Namespace: l.at(i), Name: serviceName(i), IP: fmt.Sprintf("10.96.%d.%d", 100+i/250, 1+i%250)}
	path := o.Namespace + "/" + o.Name
	return map[string][]byte{
		"ipaddresses/" + o.IP:    encode("IPAddress", o),
		"services/specs/" + path: encode("Service", o),
		"endpointslices/" + path: encode("EndpointSlice", o),
	}
}

// route returns what etcd holds of the route with the number.
func (l layout) route(i int) map[string][]byte {
	namespace, name := l.at(i%l.services), fmt.Sprintf("route-%06d", i)
	return map[string][]byte{
		"gateway.networking.k8s.io/httproutes/" + namespace + "/" + name: plainRoute(namespace, name, serviceName(i%l.services), i),
	}
}

// cluster writes to an API server as its administrator, without a rate limit.
type cluster struct {
	client.WithWatch
	etcd string
	// has is what was seeded so far, and bound are the numbers of routes by Service.
	has   layout
	bound map[int]int
}

func newCluster(plane *bed.ControlPlane) (*cluster, error) {
	c, err := plane.Client(gatewayv1.Install)
	return &cluster{WithWatch: c, etcd: plane.EtcdURL, bound: map[int]int{}}, err
}

func (c *cluster) create(ctx context.Context, objects ...[]byte) error {
	for _, text := range objects {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(text); err != nil {
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
func (c *cluster) prepare(ctx context.Context, namespaces int) error {
	names := []string{shared, rivals}
	for i := range namespaces {
		names = append(names, namespaceName(i))
	}
	for _, name := range names {
		err := c.create(ctx, encode("Namespace", object{Namespace: name, Grant: "all"}),
			encode("Service", object{Namespace: name, Name: headless, IP: "None"}),
			encode("ExternalName", object{Namespace: name, Name: external}))
		if err != nil {
			return err
		}
	}
	err := c.create(ctx, encode("Namespace", object{Namespace: ungranted, Grant: "none"}),
		encode("Service", object{Namespace: ungranted, Name: serviceName(0)}),
		encode("Service", sharedObject), encode("EndpointSlice", sharedObject))
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
		o := object{Namespace: rivals, Name: serviceName(i), Parent: serviceName(i), Backend: serviceName(i), Port: 80, Matches: []int{everything}}
		return c.create(ctx, encode("Service", o), encode("EndpointSlice", o), encode("GRPCRoute", o))
	})
}

// grow adds what the cluster lacks of a layout.
func (c *cluster) grow(ctx context.Context, to layout) error {
	from := c.has
	c.has = to
	const batch = 40 // etcd takes 128 writes at once, and a Service is three
	add := func(from, to int, entriesOf func(i int) map[string][]byte) error {
		return parallel((to-from+batch-1)/batch, func(n int) error {
			entries := map[string][]byte{}
			for i := from + n*batch; i < min(to, from+(n+1)*batch); i++ {
				maps.Copy(entries, entriesOf(i))
			}
			return c.restore(ctx, entries)
		})
	}
	err := add(from.services, to.services, to.service)
	if err == nil {
		err = add(from.routes, to.routes, to.route)
	}
	for i := from.routes; i < to.routes; i++ {
		c.bound[i%to.services]++
	}
	if err != nil {
		return err
	}
	return c.caughtUp(ctx)
}

// restore writes objects to etcd, as one who restores a backup would: the API
// server takes half an hour for 20,000 Services, as it counts all addresses in use
// for each. It reads what it serves from there, and its watches see it.
func (c *cluster) restore(ctx context.Context, entries map[string][]byte) error {
	var puts []any
	for key, value := range entries {
		puts = append(puts, map[string]any{"requestPut": map[string][]byte{"key": []byte("/registry/" + key), "value": value}})
	}
	body, err := json.Marshal(map[string]any{"success": puts})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcd+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = do(http.DefaultClient, request)
	return err
}

// caughtUp waits until the API server's watches have seen what was restored. A
// route that is written now, on a Gateway and so of no concern, comes last there.
func (c *cluster) caughtUp(ctx context.Context) error {
	name := fmt.Sprintf("last-%d", c.has.routes)
	if err := c.create(ctx, encode("HTTPRoute", object{Namespace: rivals, Name: name, Backend: sharedService, Matches: []int{everything}})); err != nil {
		return err
	}
	// A read that may be old is answered from what the watches have brought.
	old := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}
	return await(ctx, 5*time.Minute, func() (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: rivals, Name: name}, &gatewayv1.HTTPRoute{}, old)
		return err == nil, client.IgnoreNotFound(err)
	})
}
