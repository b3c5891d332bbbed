package status

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// answered is a cache of routes with their answers.
type answered map[*kube.Route]struct {
	answers mesh.Acknowledgements
	since   time.Time
}

func (a answered) HasSynced() bool { return true }

func (a answered) Routes() iter.Seq[*kube.Route] {
	return func(yield func(*kube.Route) bool) {
		for route := range a {
			if !yield(route) {
				return
			}
		}
	}
}

func (a answered) of(route *kube.Route) (mesh.Acknowledgements, time.Time) {
	return a[route].answers, a[route].since
}

// add adds a route with these parentRefs, whose answers are as old as they say.
func (a answered) add(namespace string, kind mesh.RouteKind, age time.Duration, answers mesh.Acknowledgements, refs ...mesh.ParentRef) *kube.Route {
	route := &kube.Route{AttachedRoute: mesh.AttachedRoute{Kind: kind, Namespace: namespace, Name: fmt.Sprint("r", len(a)), Parents: refs}}
	a[route] = struct {
		answers mesh.Acknowledgements
		since   time.Time
	}{answers, at.Add(-age)}
	return route
}

var at = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func collector(a answered, policy *validate.Policy) *unacknowledged {
	u := newUnacknowledged(a, policy, nil)
	u.answers = a.of
	return u
}

// TestUnacknowledged: which routes count, as what, and when.
func TestUnacknowledged(t *testing.T) {
	group := ""
	cart := mesh.ParentRef{Group: &group, Kind: "Service", Name: "cart"}
	pay := mesh.ParentRef{Group: &group, Kind: "Service", Name: "pay"}
	guest := mesh.ParentRef{Group: &group, Kind: "Service", Name: "cart", Namespace: "shop"}
	edge := mesh.ParentRef{Name: "edge"}
	is := func(answers ...mesh.Acknowledgement) (all mesh.Acknowledgements) {
		for i, answer := range answers {
			all = all.With(1<<i, answer)
		}
		return all
	}
	a := answered{}
	a.add("shop", mesh.HTTPRoute, time.Hour, 0, cart)
	a.add("shop", mesh.HTTPRoute, time.Minute, 0, cart)
	a.add("shop", mesh.HTTPRoute, 59*time.Second, 0, cart)
	a.add("shop", mesh.HTTPRoute, time.Hour, is(mesh.Applied), cart)
	a.add("shop", mesh.HTTPRoute, time.Hour, is(mesh.Applied, mesh.Refused), cart, pay)
	a.add("shop", mesh.GRPCRoute, time.Hour, is(mesh.Refused, mesh.Stale), cart, pay)
	a.add("shop", mesh.GRPCRoute, time.Hour, is(mesh.Unanswered, mesh.Applied), edge, pay)
	a.add("faces", mesh.HTTPRoute, time.Hour, 0, guest)
	marked := a.add("shop", mesh.TCPRoute, time.Hour, is(mesh.Refused, mesh.Refused), cart, pay)
	marked.Entries = []kube.Entry{
		{ParentRef: cart, Conditions: []metav1.Condition{{Type: "Accepted", Status: "False"}}},
		{ParentRef: pay, Conditions: []metav1.Condition{{Type: "Accepted", Status: "False"}}},
	}
	partly := a.add("shop", mesh.TCPRoute, time.Hour, is(mesh.Refused), cart)
	partly.Entries = []kube.Entry{{ParentRef: cart, Conditions: []metav1.Condition{{Type: "gammaguard.dev/PartiallyConflicted", Status: "True"}}}}
	a.add("shop", mesh.UDPRoute, time.Hour, 0, cart)

	policy := &validate.Policy{RouteKinds: []mesh.RouteKind{mesh.GRPCRoute, mesh.HTTPRoute, mesh.TCPRoute}}
	want := map[unanswered]int{
		{"shop", mesh.HTTPRoute, mesh.Unanswered}: 2, {"shop", mesh.HTTPRoute, mesh.Refused}: 1, {"shop", mesh.GRPCRoute, mesh.Stale}: 1,
		{"faces", mesh.HTTPRoute, mesh.Unanswered}: 1, {"shop", mesh.TCPRoute, mesh.Refused}: 1,
	}
	if diff := cmp.Diff(want, collector(a, policy).count(at)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnacknowledgedSilent: while no controller has answered about a mesh parent, no route waits
// for one: a Gateway's controller is not a mesh's.
func TestUnacknowledgedSilent(t *testing.T) {
	group := ""
	cart := mesh.ParentRef{Group: &group, Kind: "Service", Name: "cart"}
	gateway := mesh.Acknowledgements(0).With(1, mesh.Applied)
	a := answered{}
	a.add("shop", mesh.HTTPRoute, time.Hour, 0, cart)
	a.add("shop", mesh.HTTPRoute, time.Hour, gateway, mesh.ParentRef{Name: "edge"}, cart)
	u := collector(a, &validate.Policy{})
	if got := u.count(at); len(got) != 0 {
		t.Errorf("no mesh has answered: %v", got)
	}
	a.add("faces", mesh.HTTPRoute, time.Second, mesh.Acknowledgements(0).With(1, mesh.Refused), cart)
	want := map[unanswered]int{{"shop", mesh.HTTPRoute, mesh.Unanswered}: 2}
	if diff := cmp.Diff(want, u.count(at)); diff != "" {
		t.Errorf("one has (-want +got):\n%s", diff)
	}
}

// TestUnacknowledgedBounded: beyond the maximum, namespaces are counted together, and one that
// has no such routes any more makes room. A process that does not lead counts nothing.
func TestUnacknowledgedBounded(t *testing.T) {
	group := ""
	a := answered{}
	a.add("shop", mesh.HTTPRoute, time.Hour, mesh.Acknowledgements(0).With(1, mesh.Applied), mesh.ParentRef{Group: &group, Kind: "Service", Name: "cart"})
	var routes []*kube.Route
	for n := range maxNamespaces + 2 {
		routes = append(routes, a.add(fmt.Sprintf("ns-%04d", n), mesh.HTTPRoute, time.Hour, 0, mesh.ParentRef{Group: &group, Kind: "Service", Name: "cart"}))
	}
	u := collector(a, &validate.Policy{})
	if got := u.count(at); len(got) != maxNamespaces+1 || got[unanswered{otherNamespaces, mesh.HTTPRoute, mesh.Unanswered}] != 2 {
		t.Errorf("%d series, %d of others", len(got), got[unanswered{otherNamespaces, mesh.HTTPRoute, mesh.Unanswered}])
	}
	first := slices.IndexFunc(routes, func(r *kube.Route) bool { return u.named[r.Namespace] })
	delete(a, routes[first])
	if got := u.count(at); got[unanswered{otherNamespaces, mesh.HTTPRoute, mesh.Unanswered}] != 1 || len(u.named) != maxNamespaces {
		t.Errorf("%d of others, %d named", got[unanswered{otherNamespaces, mesh.HTTPRoute, mesh.Unanswered}], len(u.named))
	}
	if n := testutil.CollectAndCount(u); n != 0 {
		t.Errorf("a process that does not lead has %d series", n)
	}
	u.leads = closed()
	if n := testutil.CollectAndCount(u); n != maxNamespaces+1 {
		t.Errorf("the leader has %d series", n)
	}
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
