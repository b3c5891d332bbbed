package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// uids number the objects that were restored.
var uids atomic.Int64

// cluster writes to an API server as its administrator, without a rate limit.
type cluster struct {
	client *http.Client
	host   string
	etcd   string
	tell   func(format string, args ...any)
	// has is what was seeded so far, and bound are the Services with routes.
	has   layout
	bound map[int]bool
}

func newCluster(config *rest.Config, etcd string, tell func(string, ...any)) (*cluster, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &cluster{client: client, etcd: etcd, host: strings.TrimSuffix(config.Host, "/"), tell: tell, bound: map[int]bool{}}, nil
}

// The paths of what is written.
const (
	namespaces = "/api/v1/namespaces"
	gateway    = "/apis/gateway.networking.k8s.io/v1/namespaces/"
)

func servicesIn(namespace string) string { return "/api/v1/namespaces/" + namespace + "/services" }
func slicesIn(namespace string) string {
	return "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices"
}
func httpRoutesIn(namespace string) string { return gateway + namespace + "/httproutes" }
func grpcRoutesIn(namespace string) string { return gateway + namespace + "/grpcroutes" }

func (c *cluster) create(ctx context.Context, path string, o object) error {
	return c.send(ctx, http.MethodPost, path, "application/json", encode(o))
}

// grant sets a namespace's grant.
func (c *cluster) grant(ctx context.Context, namespace, grant string) error {
	patch := encode(object{"metadata": object{"labels": object{"gammaguard.dev/grant": grant}}})
	return c.send(ctx, http.MethodPatch, namespaces+"/"+namespace, "application/merge-patch+json", patch)
}

func (c *cluster) send(ctx context.Context, method, path, contentType string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, c.host+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, answer)
	}
	return nil
}

// parallel calls f with the numbers from a range, several at a time, and says
// now and then how far it is.
func (c *cluster) parallel(what string, from, to int, f func(i int) error) error {
	const workers = 16
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex
		errs  error
		began = time.Now()
	)
	next.Store(int64(from))
	stop := c.every(5*time.Second, func() {
		c.tell("  %s: %d of %d", what, min(int(next.Load()), to)-from, to-from)
	})
	for range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= to {
					return
				}
				if err := f(i); err != nil {
					mu.Lock()
					errs = errors.Join(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	stop()
	if to-from > 1000 {
		c.tell("  %s: %d in %s", what, to-from, time.Since(began).Round(time.Second))
	}
	return errs
}

// every calls f at an interval until the returned function is called.
func (c *cluster) every(interval time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				f()
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// found makes the namespaces, and what is wrong or special in them.
func (c *cluster) found(ctx context.Context, count, sharing, contested int) error {
	names := []string{shared, rivals}
	for i := range count {
		names = append(names, namespaceName(i))
	}
	for _, name := range names {
		if err := c.create(ctx, namespaces, namespace(name, "all")); err != nil {
			return err
		}
		for _, o := range []object{headlessService(name, "headless"), externalService(name, "external")} {
			if err := c.create(ctx, servicesIn(name), o); err != nil {
				return err
			}
		}
	}
	err := errors.Join(
		c.create(ctx, namespaces, namespace(ungranted, "none")),
		c.create(ctx, servicesIn(ungranted), service(ungranted, serviceName(0))),
		c.serviceWithEndpoints(ctx, shared, sharedService),
	)
	if err != nil {
		return err
	}
	err = c.parallel("routes that share a Service", 0, sharing, func(i int) error {
		return c.create(ctx, httpRoutesIn(shared), route("HTTPRoute", shared, fmt.Sprintf("route-%06d", i),
			[]object{parent(sharedService, 80)}, []object{rule(i, sharedService), rule(-1, sharedService)}))
	})
	if err != nil {
		return err
	}
	return c.parallel("contested Services", 0, contested, func(i int) error {
		name := serviceName(i)
		return errors.Join(c.serviceWithEndpoints(ctx, rivals, name),
			c.create(ctx, grpcRoutesIn(rivals), route("GRPCRoute", rivals, "holder-"+name, []object{parent(name, 80)}, []object{rule(-1, name)})))
	})
}

func (c *cluster) serviceWithEndpoints(ctx context.Context, namespace, name string) error {
	if err := c.create(ctx, servicesIn(namespace), service(namespace, name)); err != nil {
		return err
	}
	return c.create(ctx, slicesIn(namespace), endpointSlice(namespace, name))
}

// grow adds what the cluster lacks of a layout.
func (c *cluster) grow(ctx context.Context, to layout) error {
	const perService = 3
	in := func(what string, from, to, each int, entries func(i int) []entry) error {
		step := batch / each
		return c.parallel(what, 0, (to-from+step-1)/step, func(n int) error {
			var all []entry
			for i := from + n*step; i < min(to, from+(n+1)*step); i++ {
				all = append(all, entries(i)...)
			}
			return c.restore(ctx, all)
		})
	}
	if err := in("batches of Services", c.has.services, to.services, perService, to.serviceEntries); err != nil {
		return err
	}
	err := in("batches of routes", c.has.routes, to.routes, 1, func(i int) []entry { return []entry{to.routeEntry(i)} })
	for i := c.has.routes; i < to.routes; i++ {
		c.bound[i%to.services] = true
	}
	c.has = to
	if err != nil {
		return err
	}
	return c.caughtUp(ctx, to.routes)
}

// caughtUp waits until the API server's watches have seen what was restored. A
// route that is written now, on a Gateway and so of no concern, comes last there.
func (c *cluster) caughtUp(ctx context.Context, mark int) error {
	const patience = 5 * time.Minute
	name := fmt.Sprintf("last-%d", mark)
	o := route("HTTPRoute", rivals, name, []object{{"name": "edge"}}, []object{rule(-1, serviceName(0))})
	if err := c.create(ctx, httpRoutesIn(rivals), o); err != nil {
		return err
	}
	start := time.Now()
	for {
		// A read that may be old is answered from what the watches have brought.
		err := c.send(ctx, http.MethodGet, httpRoutesIn(rivals)+"/"+name+"?resourceVersion=0", "", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if time.Since(start) > patience {
			return fmt.Errorf("the API server has not seen all routes after %s: %w", patience, err)
		}
	}
}
