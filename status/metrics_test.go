package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

func TestGauges(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry, newDamper().contested)
	if err != nil {
		t.Fatal(err)
	}
	a, b := mesh.ServiceKey{Name: "a"}, mesh.ServiceKey{Name: "b"}
	full := kube.RouteKey{Kind: mesh.HTTPRoute, Namespace: "shop", Name: "full"}
	replace := func(service mesh.ServiceKey, isFull bool, entries ...desired.Entry) []kube.RouteKey {
		var now tally
		for i := range entries {
			now.add(mesh.HTTPRoute, &entries[i].Condition)
		}
		if isFull {
			now.addFull(full)
		}
		return m.replace(service, &now)
	}
	lost := entry(0, desired.Accepted, "False", "Conflicted", "")
	some := entry(0, desired.PartiallyConflicted, "True", "Conflicted", "")
	for what, step := range map[string][]kube.RouteKey{
		"first": replace(a, true, lost, lost, some), "again": replace(a, true, lost, some), "elsewhere": replace(b, false, lost),
	} {
		if want := map[string][]kube.RouteKey{"first": {full}}[what]; !cmp.Equal(want, step) {
			t.Errorf("%s: newly full are %v, want %v", what, step, want)
		}
	}
	expect := func(text string) {
		t.Helper()
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), "gammaguard_status_marks", "gammaguard_status_full"); err != nil {
			t.Error(err)
		}
	}
	const help = `# HELP gammaguard_status_marks Number of parentRefs that are marked in the status of their route, by route kind and reason (PartiallyConflicted for a partial conflict). Only the leader reports them.
# TYPE gammaguard_status_marks gauge
# HELP gammaguard_status_full Number of routes whose status.parents has no room for an entry of gammaguard. A route on several Services can count once for each.
# TYPE gammaguard_status_full gauge
`
	expect(help + `gammaguard_status_full 1
gammaguard_status_marks{kind="HTTPRoute",reason="Conflicted"} 2
gammaguard_status_marks{kind="HTTPRoute",reason="PartiallyConflicted"} 1
`)
	replace(a, false)
	replace(b, false)
	expect(help + `gammaguard_status_full 0
gammaguard_status_marks{kind="HTTPRoute",reason="Conflicted"} 0
gammaguard_status_marks{kind="HTTPRoute",reason="PartiallyConflicted"} 0
`)
	if len(m.at) != 0 {
		t.Errorf("something is left of Services with nothing wrong: %v", m.at)
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("é", 600)
	for text, want := range map[string]string{
		"short": "short", strings.Repeat("x", 1024): strings.Repeat("x", 1024),
		strings.Repeat("x", 1025): strings.Repeat("x", 1021) + "...", long: strings.Repeat("é", 510) + "...",
	} {
		if got := shorten(text); got != want {
			t.Errorf("shorten of %d bytes has %d bytes, want %d", len(text), len(got), len(want))
		}
	}
}
