package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
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
	if err := gatewayv1.Install(scheme.Scheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(plane.Config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
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
	err := parallel((to.services-from.services+batch-1)/batch, func(n int) error {
		var entries []entry
		for i := from.services + n*batch; i < min(to.services, from.services+(n+1)*batch); i++ {
			entries = append(entries, to.serviceEntries(i)...)
		}
		return c.restore(ctx, entries)
	})
	if err != nil {
		return err
	}
	err = parallel((to.routes-from.routes+batch-1)/batch, func(n int) error {
		var entries []entry
		for i := from.routes + n*batch; i < min(to.routes, from.routes+(n+1)*batch); i++ {
			entries = append(entries, to.routeEntry(i))
		}
		return c.restore(ctx, entries)
	})
	for i := from.routes; i < to.routes; i++ {
		c.bound[i%to.services] = true
	}
	return errors.Join(err, c.caughtUp(ctx, to.routes))
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
