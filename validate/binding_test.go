package validate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestBindingsAgree: on random clusters the table and the verdicts say the same of every
// parentRef, and no two routes contradict each other about who has a port.
func TestBindingsAgree(t *testing.T) {
	const clusters, routes = 1500, 8
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	seen := map[State]int{}
	for range clusters {
		world := newWorld(t, cluster, labelled)
		policy := &Policy{}
		if random.IntN(4) == 0 {
			policy.RouteKinds = []mesh.RouteKind{mesh.HTTPRoute, mesh.TLSRoute}
		}
		engine := newEngine(t, policy)
		var all []*mesh.Route
		for i := range routes {
			kind := mesh.RouteKinds()[random.IntN(len(mesh.RouteKinds()))]
			namespace := pick("shop", "shop", "faces", "lab", "producers", "warned", "audited")
			var refs []string
			for range 1 + random.IntN(3) {
				name := pick("cart", "cart", "cart", "one", "shy", "headless", "alias", "syslog", "gone")
				if random.IntN(5) > 0 {
					name += ", namespace: shop"
				}
				refs = append(refs, service(name+pick("", "", ", port: 80", ", port: 8080", ", sectionName: http", ", port: 99")))
			}
			text := fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {namespace: %s, name: r%d, creationTimestamp: \"2026-01-0%dT00:00:00Z\"}, spec: {%s}}\n",
				kind, namespace, i, 1+random.IntN(3), on(refs...))
			for _, object := range read(t, text) {
				if err := world.Put(object); err != nil {
					t.Fatal(err)
				}
				all = append(all, object.Route)
			}
		}
		type holder struct {
			service mesh.ServiceKey
			at      mesh.PortScope
		}
		holders := map[holder][]Binding{}
		for _, route := range all {
			verdict, err := engine.Judge(&Request{Route: route}, world)
			if err != nil {
				t.Fatal(err)
			}
			attached := route.Attached(nil)
			for i := range attached.Parents {
				key := attached.Parents[i].Service(attached.Namespace)
				bindings, err := engine.Table(world, key).bind(attached, i)
				if err != nil {
					t.Fatal(err)
				}
				got, want := faultOf(bindings), foundFault(engine, verdict, i)
				switch {
				case got == want:
				// Without a grant, or where it is refused, the verdict says no more of any parentRef.
				case ungranted(verdict) && want == NoFault && got > ConsumerRefused:
				// The table says what becomes of the route where that is not enforced.
				case notEnforced(verdict) && want <= ConsumerRefused && got != GrantMissing && got != ConsumerRefused:
				default:
					t.Fatalf("seed %d: parentRef %d of %s, %+v: the table has fault %d, the verdict %d of %+v",
						seed, i, attached, attached.Parents[i], got, want, verdict.Findings)
				}
				for _, b := range bindings {
					seen[b.State]++
					if b.State.InEffect() {
						at := holder{key, b.At}
						if !slices.ContainsFunc(holders[at], func(c Binding) bool { return c.Route.Same(b.Route) }) {
							holders[at] = append(holders[at], b)
						}
					}
				}
			}
		}
		for at, bindings := range holders {
			for _, b := range bindings {
				if shares := len(bindings) > 1; shares != (b.State == Shares) || b.Route.Kind.Beats(bindings[0].Route.Kind) {
					t.Fatalf("seed %d: %s has %s by %s, among %d", seed, at.service, b.State, b.Route, len(bindings))
				}
			}
		}
	}
	for _, state := range []State{Applies, Shares, Loses, NoGrant, Refused, Invalid, Unsupported} {
		if seen[state] == 0 {
			t.Errorf("no route was ever %s: %v", state, seen)
		}
	}
}

// ungranted reports whether the author of the route may not learn what the Services are;
// notEnforced, whether the route is admitted all the same.
func ungranted(verdict Verdict) bool {
	return slices.ContainsFunc(verdict.Findings, func(f Finding) bool { return f.Rule == "grant-missing" || f.Rule == "consumer-refused" })
}

func notEnforced(verdict Verdict) bool { return ungranted(verdict) && !verdict.Denied() }

// faultOf returns what keeps a parentRef from taking effect, by its bindings: it has lost ports if
// it has lost any.
func faultOf(bindings []Binding) Fault {
	fault := NoFault
	for _, b := range bindings {
		if !b.State.InEffect() && b.State != Unsupported {
			fault = max(fault, b.Fault)
		}
	}
	return fault
}

// foundFault returns the first fault that the verdict has on the parentRef. To take a port from
// another route is none.
func foundFault(engine *Engine, verdict Verdict, ref int) Fault {
	for fault := GrantMissing; fault < faults; fault++ {
		if slices.ContainsFunc(verdict.Findings, func(f Finding) bool {
			field, of := strings.CutPrefix(f.Field, mesh.ParentPath(ref, ""))
			return of && (field == "" || field[0] == '.') && f.Rule == engine.byFault[fault].ID && !strings.Contains(f.Problem, " takes ")
		}) {
			return fault
		}
	}
	return NoFault
}
