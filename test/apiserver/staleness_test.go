package apiserver

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// cacheAge is the value of the metric.
func cacheAge(t *testing.T, registry *prometheus.Registry) time.Duration {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "gammaguard_cache_age_seconds" {
			return time.Duration(family.GetMetric()[0].GetGauge().GetValue() * float64(time.Second))
		}
	}
	t.Fatal("there is no metric of the caches' age")
	return 0
}

// TestCutOff: a replica whose watches hang admits nothing by what it knew before. It is
// not ready, judges by live reads as long as these work, refuses when they do not, and
// recovers.
func TestCutOff(t *testing.T) {
	t.Parallel()
	c, wire, registry := admin(t), newWire(t), prometheus.NewRegistry()
	g := startGuard(t, c, func(o *server.Options) {
		o.Config, o.MaxStaleness, o.Registerer = wire.config, server.MinMaxStaleness, registry
	})
	namespace := newNamespace(t, c, g.labels)
	create(t, c, service(namespace, "cart"))
	background.Eventually(t, func() string { return message(c.Create(t.Context(), httpRoute(namespace, "before", "cart"))) })

	grant := func(value string) {
		t.Helper()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+mesh.GrantLabel+`":"`+value+`"}}}`))
		ns := &corev1.Namespace{}
		ns.Name = namespace
		if err := c.Patch(t.Context(), ns, patch); err != nil {
			t.Fatal(err)
		}
	}
	// answered waits for an answer that says so. Nothing may be admitted before. The API
	// server is not asked: its clients would try again and again.
	answered := func(when, says string) {
		t.Helper()
		background.Eventually(t, func() string {
			answer, _, err := validate(t.Context(), g.client(t), g.url, namespace, `{"group":"","kind":"Service","name":"cart"}`)
			switch {
			case err != nil:
				return err.Error()
			case strings.Contains(answer, `"allowed":true`):
				t.Fatalf("%s: a route without a grant is admitted", when)
			case !strings.Contains(answer, says):
				return answer
			}
			return ""
		})
	}
	wire.cutOpen()
	grant("none")
	background.Eventually(t, func() string {
		if err := g.server.Ready(); err == nil || !strings.Contains(err.Error(), "caches: no data received from the API server about ") {
			return "not ready for want of news, but " + message(err)
		}
		return ""
	})
	if age := cacheAge(t, registry); age < server.MinMaxStaleness {
		t.Errorf("the metric tells an age of %s", age)
	}
	answered("live reads work", "(grant-missing)")
	wire.cutBefore(all)
	answered("nothing works", "gammaguard could not verify the route")
	grant("all")
	wire.cutBefore(0)
	background.Eventually(t, func() string { return message(g.server.Ready()) })
	if err := c.Create(t.Context(), httpRoute(namespace, "after", "cart")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestQuietClusterIsNotStale: where nothing changes for longer than the bound, the API
// server's bookmarks keep the caches young.
func TestQuietClusterIsNotStale(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	g := startGuard(t, admin(t), func(o *server.Options) {
		o.MaxStaleness, o.Registerer = server.MinMaxStaleness, registry
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*server.MinMaxStaleness)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for oldest := time.Duration(0); ; {
		if err := g.server.Ready(); err != nil {
			t.Fatal(err)
		}
		oldest = max(oldest, cacheAge(t, registry))
		select {
		case <-ctx.Done():
			t.Logf("at most %s old", oldest)
			return
		case <-tick.C:
		}
	}
}
