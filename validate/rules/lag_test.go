package rules

import (
	"slices"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
)

// testLag: a cache that lags in any one object never denies by the rule: where it has nothing
// to deny by now, the request is admitted. Each kind of object that its denials are read from
// is one that can lag.
func testLag(t *testing.T, rule *validate.Rule, firing []*ruleCase) {
	kinds := map[mesh.ReadKind]bool{}
	for _, c := range firing {
		engine, cache, req := c.under(t, rule, validate.Deny), newWorld(t, cluster, c.routes), &validate.Request{Route: c.route(t)}
		denials := func(verdict validate.Verdict, err error) int {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			return len(slices.DeleteFunc(verdict.Findings, func(f validate.Finding) bool { return f.Effect != validate.Deny }))
		}
		reads := fixture.NewConfirming(cache, cache)
		before := denials(engine.JudgeConfirmed(req, reads))
		if before == 0 {
			t.Fatalf("%s: not denied", c.name)
		}
		for read := range reads.Made {
			kinds[read.Kind] = kinds[read.Kind] || false
			for _, present := range presents(t, req.Route) {
				now := fixture.Choice(func(asked mesh.Read) mesh.Reader {
					if asked == read {
						return present
					}
					return cache
				})
				want := denials(engine.Judge(req, now))
				if want == before {
					continue
				}
				kinds[read.Kind] = true
				if got := denials(engine.JudgeConfirmed(req, fixture.NewConfirming(cache, now))); got != want {
					t.Errorf("%s: a cache that lags in %+v makes %d denials, want %d", c.name, read, got, want)
				}
			}
		}
	}
	for kind, can := range kinds {
		if !can {
			t.Errorf("no present of its %s makes a difference", fixture.ReadNames[kind])
		}
	}
}

// presents are worlds that a cache may lag behind.
func presents(t *testing.T, route *mesh.Route) []mesh.Reader {
	t.Helper()
	older := *route.Attached(nil)
	older.Name, older.Created, older.CatchAll = "older", 1, true
	withPort := older
	withPort.Parents = slices.Clone(older.Parents)
	for i := range withPort.Parents {
		withPort.Parents[i].Port = 81 // that of Service plain that no route selects without port
	}
	return []mesh.Reader{
		fixture.Fine{Labels: map[string]string{mesh.GrantLabel: "all", mesh.ConsumerRoutesLabel: "allow"}},
		fixture.Fine{Labels: map[string]string{mesh.ModeLabel: "audit"}},
		newWorld(t), // nothing is there
		fixture.Fine{Routes: []*mesh.AttachedRoute{&older}},
		fixture.Fine{Routes: []*mesh.AttachedRoute{&withPort}},
	}
}
