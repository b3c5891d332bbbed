package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// series returns the samples of the metric: "namespace-0000 HTTPRoute parent-not-found deny 1".
func (a *audit) series(t *testing.T) []string {
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

func (a *audit) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, a.series(t)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestProportion: a change costs a list of each namespace that it bears on, and of no other.
func TestProportion(t *testing.T) {
	c := newCluster(20, 10)
	consumer := kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: keyOf(7, 0).Namespace, Name: "consumer"}
	c.consumers[consumer] = parent(keyOf(3, 4))
	a := begin(t, c)
	if c.lists != 20 {
		t.Errorf("at the start %d lists, want one for each namespace", c.lists)
	}
	key := keyOf(3, 4)
	for _, test := range []struct {
		what   string
		change kube.Change
		lists  int
	}{
		{"a Service that another namespace has a route on", kube.Change{Services: []mesh.ServiceKey{parent(key)}}, 2},
		{"a Service", kube.Change{Services: []mesh.ServiceKey{parent(keyOf(3, 5))}}, 1},
		{"endpoints", kube.Change{Endpoints: backend(key)}, 1},
		{"a namespace", kube.Change{Namespace: key.Namespace}, 2},
		{"a namespace without routes", kube.Change{Namespace: "elsewhere"}, 0},
		{"a Service without routes", kube.Change{Services: []mesh.ServiceKey{{Kind: mesh.ServiceKind, Namespace: "elsewhere", Name: "web"}}}, 0},
		{"a route", kube.Change{Route: keyOf(5, 5), Services: []mesh.ServiceKey{parent(keyOf(5, 5))}}, 1},
		{"a status", kube.Change{Route: keyOf(5, 5), Services: []mesh.ServiceKey{parent(keyOf(5, 5))}, StatusOnly: true}, 0},
	} {
		c.lists = 0
		if a.happens(t, test.change); c.lists != test.lists {
			t.Errorf("%s: %d lists, want %d", test.what, c.lists, test.lists)
		}
	}
}

// TestRests: a namespace waits for more changes, and where it took long to judge, for longer,
// but not for so long that the metric is wrong for a minute.
func TestRests(t *testing.T) {
	c := newCluster(1, 1)
	a := begin(t, c)
	change := kube.Change{Namespace: keyOf(0, 0).Namespace}
	a.after = 0
	if a.happens(t, change); a.after != debounce {
		t.Errorf("it waits for %s, want %s", a.after, debounce)
	}
	for took, want := range map[time.Duration]time.Duration{100 * time.Millisecond: 2 * time.Second, time.Hour: maxRest} {
		a.after = 0
		a.enqueuer.done(change.Namespace, &seen{}, took)
		if a.happens(t, change); a.after > want || a.after < want-time.Second {
			t.Errorf("after %s it rests for %s, want %s", took, a.after, want)
		}
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
	delete(c.routes, first)
	a.happens(t, kube.Change{Route: first})
	a.expect(t, "the last one gone")
	if _, found := a.enqueuer.namespaces[first.Namespace]; found {
		t.Error("a namespace without routes is kept")
	}
}

// TestReadFails: what could not be read leaves the metric as it is, and is behind.
func TestReadFails(t *testing.T) {
	c := newCluster(1, 1)
	a := begin(t, c)
	c.failing = errors.New("no")
	c.missing[parent(keyOf(0, 0))] = true
	a.enqueuer.changed(kube.Change{Services: []mesh.ServiceKey{parent(keyOf(0, 0))}})
	if _, err := a.Reconcile(t.Context(), keyOf(0, 0).Namespace); err == nil {
		t.Error("no error")
	}
	a.expect(t, "not read")
	if age, _ := a.enqueuer.age(); age == 0 {
		t.Error("nothing waits")
	}
	c.failing = nil
	a.all(t)
	a.expect(t, "read", "namespace-0000 HTTPRoute parent-not-found deny 1")
	if age, _ := a.enqueuer.age(); age != 0 {
		t.Errorf("something waits for %s", age)
	}
}

// TestFollower: a process that does not lead queues nothing, and has no age.
func TestFollower(t *testing.T) {
	e := newEnqueuer(newCluster(1, 1))
	e.changed(kube.Change{Namespace: keyOf(0, 0).Namespace})
	if _, leads := e.age(); leads || len(e.namespaces) > 0 {
		t.Errorf("leads: %t, namespaces %v", leads, e.namespaces)
	}
	if n := testutil.CollectAndCount(age{e}); n != 0 {
		t.Errorf("%d samples of the age", n)
	}
}

// TestAge: the metric is behind until all is judged.
func TestAge(t *testing.T) {
	a := begin(t, newCluster(2, 1))
	behind := func(want bool) {
		t.Helper()
		if age, leads := a.enqueuer.age(); !leads || age > 0 != want {
			t.Errorf("leads: %t, behind by %s; want behind: %t", leads, age, want)
		}
	}
	behind(false)
	change := kube.Change{Namespace: keyOf(0, 0).Namespace}
	a.enqueuer.changed(change)
	behind(true)
	a.enqueuer.begin(change.Namespace)
	behind(true)
	a.enqueuer.changed(change)
	a.enqueuer.done(change.Namespace, &seen{}, 0)
	behind(true)
	a.all(t)
	behind(false)
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
}

// TestReportBounded: a Report lists only so many findings, counts all, and fits into an
// object, however long the messages are.
func TestReportBounded(t *testing.T) {
	const name = "namespace-0000"
	c := newCluster(1, 400)
	for r := range c.each {
		c.missing[parent(keyOf(0, r))], c.missing[backend(keyOf(0, r))] = true, true
	}
	a := begin(t, c)
	a.reports = &reports{wanted: map[string][]audited{}}
	a.happens(t, kube.Change{Namespace: name})
	routes := a.reports.wanted[name]
	for i := range routes {
		for j := range routes[i].findings {
			routes[i].findings[j].message = strings.Repeat("x", maxMessage)
		}
	}
	version := func(mesh.RouteKind) string { return "v1" }
	report := reportOn(name, routes, version, metav1.Timestamp{Seconds: 1})
	text, err := json.Marshal(report)
	if err != nil || len(text) > 1<<20 {
		t.Errorf("%v: %d bytes", err, len(text))
	}
	if s := report.Summary; s.Fail != 400 || s.Warn != 400 || len(report.Results) != maxResults {
		t.Errorf("summary %+v, %d results", s, len(report.Results))
	}
	later := reportOn(name, routes, version, metav1.Timestamp{Seconds: 2})
	if diff := cmp.Diff(report.Annotations, later.Annotations); diff != "" {
		t.Errorf("the time changes the checksum:\n%s", diff)
	}
}
