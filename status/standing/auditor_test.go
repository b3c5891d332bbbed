package standing

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unique"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// series returns the samples of the metric: "namespace-0000 HTTPRoute parent-not-found deny 1".
func (a *auditor) series(t *testing.T) []string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(a.metric); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			all = append(all, fmt.Sprint(labels["namespace"], " ", labels["kind"], " ", labels["rule"], " ", labels["action"], " ", m.GetGauge().GetValue()))
		}
	}
	slices.Sort(all)
	return all
}

func (a *auditor) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, a.series(t)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestProportion: a change costs reads of the routes that it bears on, not of others.
func TestProportion(t *testing.T) {
	c := newCluster(20, 100)
	a := begin(t, c)
	if c.lists != 20 || c.gets != 0 {
		t.Errorf("at the start %d lists and %d single reads, want one list for each namespace", c.lists, c.gets)
	}
	key := keyOf(3, 4)
	for _, change := range []kube.Change{
		{Services: []mesh.ServiceKey{parent(key)}}, {Services: []mesh.ServiceKey{backend(key)}}, {Endpoints: backend(key)},
	} {
		c.lists, c.gets = 0, 0
		a.happens(t, change)
		if c.gets < 1 || c.gets > 10 || c.lists > 0 { // a read more is a coincidence of bits
			t.Errorf("%+v: %d single reads and %d lists", change, c.gets, c.lists)
		}
	}
	c.lists, c.gets = 0, 0
	a.happens(t, kube.Change{Namespace: key.Namespace})
	if c.gets > 0 || c.lists != 1 {
		t.Errorf("a namespace: %d single reads and %d lists", c.gets, c.lists)
	}
	c.lists = 0
	status := *c.routes[key]
	status.ForeignEntries++
	c.routes[key] = &status
	a.happens(t, kube.Change{Route: key, Services: []mesh.ServiceKey{parent(key)}})
	if c.gets+c.lists > 0 {
		t.Errorf("a status: %d single reads and %d lists", c.gets, c.lists)
	}
}

// TestCoincidences: few routes are judged for a read that is not theirs.
func TestCoincidences(t *testing.T) {
	const routes, each = 10_000, 5
	n := 0
	for i := range routes {
		var set reads
		for j := range each {
			set |= bits(service(parent(keyOf(0, i*each+j))))
		}
		if set.has(bits(service(parent(keyOf(1, i))))) {
			n++
		}
	}
	if n > routes/50 {
		t.Errorf("%d of %d sets have a read that was not added", n, routes)
	}
}

// TestMetric follows findings as they come, grow and go.
func TestMetric(t *testing.T) {
	c := newCluster(2, 2)
	a := begin(t, c)
	a.expect(t, "nothing wrong")
	first, second := keyOf(0, 0), keyOf(0, 1)
	for _, key := range []kube.RouteKey{first, second} {
		c.missing[parent(key)], c.missing[backend(key)] = true, true
		a.happens(t, kube.Change{Services: []mesh.ServiceKey{parent(key), backend(key)}})
	}
	a.expect(t, "Services gone", "namespace-0000 HTTPRoute backend-not-found warn 2", "namespace-0000 HTTPRoute parent-not-found deny 2")
	delete(c.routes, second)
	a.happens(t, kube.Change{Route: second, Services: []mesh.ServiceKey{parent(second)}})
	a.expect(t, "a route gone", "namespace-0000 HTTPRoute backend-not-found warn 1", "namespace-0000 HTTPRoute parent-not-found deny 1")
	c.gone[first] = true
	a.happens(t, kube.Change{Services: []mesh.ServiceKey{parent(first)}})
	a.expect(t, "a route gone before the cache has it")
	if _, found := a.namespaces[first.Namespace]; found {
		t.Error("a namespace without routes is kept")
	}
}

// TestReadFails: what could not be read is judged later.
func TestReadFails(t *testing.T) {
	c := newCluster(1, 1)
	a := begin(t, c)
	c.failing = errors.New("no")
	c.missing[parent(keyOf(0, 0))] = true
	a.inbox.changed(kube.Change{Services: []mesh.ServiceKey{parent(keyOf(0, 0))}})
	a.dispatch(a.inbox.take())
	a.audit(t.Context())
	a.expect(t, "not read")
	c.failing = nil
	a.all(t)
	a.expect(t, "read", "namespace-0000 HTTPRoute parent-not-found deny 1")
}

// TestClosed: a process that does not lead collects nothing.
func TestClosed(t *testing.T) {
	i := newInbox()
	i.changed(kube.Change{Namespace: "shop"})
	i.open()
	if taken := i.take(); len(taken.namespaces) > 0 {
		t.Errorf("collected %v", taken)
	}
	i.close()
	i.changed(kube.Change{Namespace: "shop"})
	if i.pending != nil || len(i.wake) > 0 {
		t.Error("collects after it was closed")
	}
}

// TestAge: the metric is behind until all is judged, and there is no age where the process
// does not lead.
func TestAge(t *testing.T) {
	i := newInbox()
	behind := func(want ...bool) {
		t.Helper()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(age{i})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for _, family := range families {
			got = append(got, family.GetMetric()[0].GetGauge().GetValue() > 0)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("behind (-want +got):\n%s", diff)
		}
	}
	behind()
	i.open()
	behind(true)
	i.take()
	i.judged()
	behind(false)
	i.changed(kube.Change{Namespace: "shop"})
	behind(true)
	i.take()
	behind(true)
	i.changed(kube.Change{Namespace: "shop"})
	i.judged()
	behind(true)
	i.take()
	i.judged()
	behind(false)
	i.close()
	behind()
}

// TestNamespacesBounded: beyond the maximum, namespaces are counted together, and one
// without findings makes room.
func TestNamespacesBounded(t *testing.T) {
	c := newCluster(maxNamespaces+2, 1)
	for n := range c.namespaces {
		c.missing[parent(keyOf(n, 0))] = true
	}
	a := begin(t, c)
	if n := testutil.CollectAndCount(a.metric); n != maxNamespaces+1 {
		t.Errorf("%d series", n)
	}
	if all := a.series(t); all[0] != otherNamespaces+" HTTPRoute parent-not-found deny 2" {
		t.Errorf("the first is %s", all[0])
	}
	named := slices.Sorted(maps.Keys(a.metric.named))[0]
	key := kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: named, Name: keyOf(0, 0).Name}
	c.missing[parent(key)] = false
	a.happens(t, kube.Change{Services: []mesh.ServiceKey{parent(key)}})
	if len(a.metric.named) != maxNamespaces-1 || a.metric.named[named] {
		t.Errorf("%d namespaces are label values", len(a.metric.named))
	}
	a.metric.reset()
	if n := testutil.CollectAndCount(a.metric); n != 0 {
		t.Errorf("%d series after a reset", n)
	}
}

// TestReportBounded: a Report lists only so many findings, counts all, and fits into an
// object, however long the messages are.
func TestReportBounded(t *testing.T) {
	c := newCluster(1, 400)
	for r := range c.each {
		c.missing[parent(keyOf(0, r))], c.missing[backend(keyOf(0, r))] = true, true
	}
	a := begin(t, c)
	a.reports = &reports{changed: map[string]struct{}{}}
	a.happens(t, kube.Change{Namespace: "namespace-0000"})
	routes := a.namespaces["namespace-0000"]
	for i := range routes.sorted {
		var long unique.Handle[finding]
		routes.sorted[i].each(func(f *finding) {
			copied := *f
			copied.message, copied.next = strings.Repeat("x", maxMessage), long
			long = unique.Make(copied)
		})
		routes.sorted[i].found = long
	}
	report := routes.report(func(mesh.RouteKind) string { return "v1" }, metav1.Timestamp{Seconds: 1})
	text, err := json.Marshal(report)
	if err != nil || len(text) > 1<<20 {
		t.Errorf("%v: %d bytes", err, len(text))
	}
	if s := report.Summary; s.Fail != 400 || s.Warn != 400 || len(report.Results) != maxResults {
		t.Errorf("summary %+v, %d results", s, len(report.Results))
	}
	later := routes.report(func(mesh.RouteKind) string { return "v1" }, metav1.Timestamp{Seconds: 2})
	if diff := cmp.Diff(report.Annotations, later.Annotations); diff != "" {
		t.Errorf("the time changes the checksum:\n%s", diff)
	}
}

// TestSize: a route costs three words, and findings that routes share cost nothing.
func TestSize(t *testing.T) {
	if size := unsafe.Sizeof(audited{}); size != 24 {
		t.Errorf("%d bytes a route", size)
	}
}

// BenchmarkStandingAudit measures the memory of the audit for each of 100,000 routes, of
// which every tenth has findings, and the time from a change of one Service until the
// metric is right, reads of the API server aside.
func BenchmarkStandingAudit(b *testing.B) {
	c := newCluster(1000, 100)
	for n := range c.namespaces {
		for r := 0; r < c.each; r += 10 {
			c.missing[backend(keyOf(n, r))] = true
		}
	}
	before := heap()
	a := begin(b, c)
	bytes := float64(heap()-before) / float64(len(c.routes))
	n := 0
	for b.Loop() {
		a.happens(b, kube.Change{Services: []mesh.ServiceKey{parent(keyOf(n%c.namespaces, n%c.each))}})
		n++
	}
	b.ReportMetric(bytes, "B/route")
}

// heap returns the bytes in use, once all garbage is gone.
func heap() uint64 {
	var stats runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
