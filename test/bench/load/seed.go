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
	// Age is how many seconds later than the first it was created.
	Age int
	// Old is the route that an update changes.
	Old *object
}

// Created is when what etcd holds was created.
func (o object) Created() string {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(o.Age) * time.Second).Format(time.RFC3339)
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

// plainRoute is an HTTPRoute with two rules and nothing wrong.
func plainRoute(namespace, name, service string, i int) object {
	return object{Namespace: namespace, Name: name, Parent: service, Backend: service, Port: 80, Matches: []int{i, everything}}
}

// route names the HTTPRoute.
func (o object) route() *gatewayv1.HTTPRoute {
	return &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
}

// layout is what the cluster holds: Services spread over namespaces, and routes
// spread over the Services. All names follow from numbers.
type layout struct{ services, routes int }

// namespaces is the number of namespaces that Services are spread over, sharing that of
// the routes that share one Service, and contested that of the Services whose port a
// GRPCRoute holds.
const namespaces, sharing, contested = 20, 1000, 50

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
func routeName(i int) string     { return fmt.Sprintf("route-%06d", i) }

// home is the namespace of the Service with the number, and of its routes.
func home(service int) string { return namespaceName(service % namespaces) }

// service returns what etcd holds of the Service with the number: itself, its
// address and its EndpointSlice, by their keys.
func (l layout) service(i int) map[string][]byte {
	o := object{Namespace: home(i), Name: serviceName(i), IP: fmt.Sprintf("10.96.%d.%d", 100+i/250, 1+i%250)}
	path := o.Namespace + "/" + o.Name
	return map[string][]byte{
		"ipaddresses/" + o.IP:    encode("IPAddress", o),
		"services/specs/" + path: encode("Service", o),
		"endpointslices/" + path: encode("EndpointSlice", o),
	}
}

// route returns what etcd holds of the route with the number.
func (l layout) route(i int) map[string][]byte {
	o := l.object(i)
	return map[string][]byte{"gateway.networking.k8s.io/httproutes/" + o.Namespace + "/" + o.Name: encode("HTTPRoute", o)}
}

// object is the route with the number. No two are of the same age, and the numbers say nothing
// about it.
func (l layout) object(i int) object {
	service := i % l.services
	o := plainRoute(home(service), routeName(i), serviceName(service), i)
	o.Age = int(uint32(i) * 2654435761 >> 8) //nolint:gosec // spread over half a year
	return o
}

// cluster writes to an API server as its administrator, without a rate limit.
type cluster struct {
	client.WithWatch
	etcd string
	// has is what was seeded so far, and bound are the numbers of routes by Service.
	has   layout
	bound map[int]int
}

// create creates an object of each kind.
func (c *cluster) create(ctx context.Context, o object, kinds ...string) error {
	for _, kind := range kinds {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(encode(kind, o)); err != nil {
			return err
		}
		if err := c.Create(ctx, u); err != nil {
			return fmt.Errorf("%s %s/%s: %w", kind, o.Namespace, o.Name, err)
		}
	}
	return nil
}

// parallel calls f with the numbers below n, so many at a time, until one fails.
func parallel(ctx context.Context, limit, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return f(ctx, i)
		})
	}
	return group.Wait()
}

// writers write to the cluster at the same time.
const writers = 16

// prepare makes the namespaces, and what is wrong or special in them.
func (c *cluster) prepare(ctx context.Context) error {
	names := []string{shared, rivals}
	for i := range namespaces {
		names = append(names, namespaceName(i))
	}
	for _, name := range names {
		err := errors.Join(
			c.create(ctx, object{Namespace: name, Grant: "all"}, "Namespace"),
			c.create(ctx, object{Namespace: name, Name: headless, IP: "None"}, "Service"),
			c.create(ctx, object{Namespace: name, Name: external}, "ExternalName"))
		if err != nil {
			return err
		}
	}
	return errors.Join(
		c.create(ctx, object{Namespace: ungranted, Name: serviceName(0), Grant: "none"}, "Namespace", "Service"),
		c.create(ctx, sharedObject, "Service", "EndpointSlice"),
		parallel(ctx, writers, sharing, func(ctx context.Context, i int) error {
			return c.create(ctx, plainRoute(shared, routeName(i), sharedService, i), "HTTPRoute")
		}),
		parallel(ctx, writers, contested, func(ctx context.Context, i int) error {
			o := plainRoute(rivals, serviceName(i), serviceName(i), i)
			o.Matches = []int{everything}
			return c.create(ctx, o, "Service", "EndpointSlice", "GRPCRoute")
		}))
}

// grow adds what the cluster lacks of a layout.
func (c *cluster) grow(ctx context.Context, to layout) error {
	from := c.has
	c.has = to
	const batch = 40 // etcd takes 128 writes at once, and a Service is three
	add := func(from, to int, entriesOf func(i int) map[string][]byte) error {
		return parallel(ctx, writers, (to-from+batch-1)/batch, func(ctx context.Context, n int) error {
			entries := map[string][]byte{}
			for i := from + n*batch; i < min(to, from+(n+1)*batch); i++ {
				maps.Copy(entries, entriesOf(i))
			}
			return c.restore(ctx, entries)
		})
	}
	for i := from.routes; i < to.routes; i++ {
		c.bound[i%to.services]++
	}
	if err := add(from.services, to.services, to.service); err != nil {
		return err
	}
	if err := add(from.routes, to.routes, to.route); err != nil {
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
	if err := c.create(ctx, object{Namespace: rivals, Name: name, Backend: sharedService, Matches: []int{everything}}, "HTTPRoute"); err != nil {
		return err
	}
	// A read that may be old is answered from what the watches have brought.
	old := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}
	return await(ctx, 20*time.Millisecond, 5*time.Minute, func() (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: rivals, Name: name}, &gatewayv1.HTTPRoute{}, old)
		return err == nil, client.IgnoreNotFound(err)
	})
}
