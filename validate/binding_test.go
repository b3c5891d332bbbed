package validate_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// How many random clusters TestBindingsAgree makes, of eight routes each, and from which seed:
// go test ./validate -run TestBindingsAgree -timeout 0 -binding-clusters 125000
var (
	bindingClusters = flag.Int("binding-clusters", 1500, "make so many random clusters")
	bindingSeed     = flag.Uint64("binding-seed", 0, "the seed of a run to repeat; 0 for a new one")
)

// TestBindingsAgree: on random clusters the table and the verdicts say the same of every
// parentRef, and no two routes contradict each other about who has a port.
func TestBindingsAgree(t *testing.T) {
	const routes = 8
	seed := cmp.Or(*bindingSeed, rand.Uint64())
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	seen := map[validate.State]int{}
	for range *bindingClusters {
		world := newWorld(t, cluster, labeled)
		policy := &validate.Policy{}
		if random.IntN(4) == 0 {
			policy.RouteKinds = []mesh.RouteKind{mesh.HTTPRoute, mesh.TLSRoute}
		}
		if random.IntN(4) == 0 {
			policy.Exemptions.Namespaces = []string{"lab"}
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
			objects, errs := manifest.Read("test", []byte(text), "default")
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			for _, object := range objects {
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
		holders := map[holder][]validate.Binding{}
		reads := map[mesh.ServiceKey]int{}
		tables := engine.Tables(mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
			if read.Kind == mesh.ReadRoutes {
				reads[read.Service]++
			}
			return world.Do(read)
		}))
		for _, route := range all {
			verdict, err := engine.Judge(&validate.Request{Route: route}, world)
			if err != nil {
				t.Fatal(err)
			}
			shared, err := tables.Judge(&validate.Request{Route: route})
			if alone, together := findingsOf(verdict), findingsOf(shared); err != nil || !slices.Equal(alone, together) {
				t.Fatalf("seed %d: %s is judged otherwise by shared tables: %v\n%q\n%q", seed, route.Metadata.Name, err, alone, together)
			}
			attached := route.Attached(nil)
			for i := range attached.Parents {
				key := attached.Parents[i].Service(attached.Namespace)
				bindings, err := engine.Table(world, key).Of(attached)
				if err != nil {
					t.Fatal(err)
				}
				bindings = slices.DeleteFunc(bindings, func(b validate.Binding) bool { return b.Ref != i || b.State == validate.Replaced })
				got, want := faultOf(bindings), foundFault(verdict, i)
				switch {
				case got == want:
				// Without a grant, or where it is refused, the verdict says no more of any parentRef.
				case ungranted(verdict) && want == validate.NoFault && got > validate.ConsumerRefused:
				// The table says what becomes of the route where that is not enforced.
				case notEnforced(verdict) && want <= validate.ConsumerRefused && got != validate.GrantMissing && got != validate.ConsumerRefused:
				// What an exemption makes of a missing grant hides no refusal.
				case attached.Namespace == "lab" && notEnforced(verdict) && want == validate.GrantMissing && got == validate.ConsumerRefused:
				default:
					t.Fatalf("seed %d: parentRef %d of %s, %+v: the table has fault %d, the verdict %d of %+v",
						seed, i, attached, attached.Parents[i], got, want, verdict.Findings)
				}
				for _, b := range bindings {
					seen[b.State]++
					if b.State == validate.Unknown {
						t.Fatalf("seed %d: parentRef %d of %s is unknown where all can be read", seed, i, attached)
					}
					if b.State.InEffect() {
						at := holder{key, b.At}
						if !slices.ContainsFunc(holders[at], func(c validate.Binding) bool { return c.Route.Same(b.Route) }) {
							holders[at] = append(holders[at], b)
						}
					}
				}
			}
		}
		for service, times := range reads {
			if times > 1 {
				t.Fatalf("seed %d: the routes on %s were read %d times for shared tables", seed, service, times)
			}
		}
		for at, bindings := range holders {
			for _, b := range bindings {
				if shares := len(bindings) > 1; shares != (b.State == validate.Shares) || b.Route.Kind.Beats(bindings[0].Route.Kind) {
					t.Fatalf("seed %d: %s has %s by %s, among %d", seed, at.service, b.State, b.Route, len(bindings))
				}
			}
		}
	}
	for _, state := range []validate.State{validate.Applies, validate.Shares, validate.Loses, validate.NoGrant, validate.Refused, validate.Invalid, validate.Unsupported} {
		if seen[state] == 0 {
			t.Errorf("no route was ever %s: %v", state, seen)
		}
	}
}

// TestBindingReason: what is in force decides and is the reason, whatever else is wrong and not enforced.
func TestBindingReason(t *testing.T) {
	unserved := &validate.Policy{Mode: mesh.Warn, RouteKinds: []mesh.RouteKind{mesh.GRPCRoute}}
	tests := map[string]struct {
		policy  *validate.Policy
		service string
		state   validate.State
		rule    string
	}{
		"a missing grant":            {nil, "shy", validate.NoGrant, "grant-missing"},
		"an exempt namespace":        {&validate.Policy{Exemptions: validate.Exemptions{Namespaces: []string{"lab"}}}, "shy", validate.Applies, "grant-missing"},
		"a rule that warns":          {&validate.Policy{Actions: map[string]validate.Action{"grant-missing": validate.Warn}}, "garbled", validate.Refused, "consumer-refused"},
		"neither is enforced":        {&validate.Policy{Mode: mesh.Warn}, "shy", validate.Applies, "grant-missing"},
		"no mesh acts on such a one": {unserved, "cart", validate.Unsupported, "mesh-unsupported"},
		"no such Service":            {&validate.Policy{Mode: mesh.Warn}, "gone", validate.Invalid, "parent-not-found"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := on(service(test.service + ", namespace: shop, port: 80"))
			world := newWorld(t, cluster, routeText(mesh.HTTPRoute, "lab", "own", spec))
			key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: test.service}
			found, err := newEngine(t, test.policy).Table(world, key).Bindings()
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if why, rule := found[0].Reason(); found[0].State != test.state || rule != test.rule {
				t.Errorf("%s, %q by %s, want %s by %s", found[0].State, why, rule, test.state, test.rule)
			}
		})
	}
}

// ungranted reports whether the author of the route may not learn what the Services are;
// notEnforced, whether the route is admitted all the same.
func ungranted(verdict validate.Verdict) bool {
	return slices.ContainsFunc(verdict.Findings, func(f validate.Finding) bool { return f.Rule == "grant-missing" || f.Rule == "consumer-refused" })
}

// findingsOf returns what the verdict says, word by word.
func findingsOf(verdict validate.Verdict) (found []string) {
	for _, f := range slices.Concat(verdict.Findings, verdict.Unknown) {
		found = append(found, fmt.Sprint(f.Effect, " ", f.Downgraded, " ", f.Field, ": ", f.Message()))
	}
	return found
}

func notEnforced(verdict validate.Verdict) bool { return ungranted(verdict) && !verdict.Denied() }

// faultOf returns what keeps a parentRef from taking effect, by its bindings: it has lost ports if
// it has lost any.
func faultOf(bindings []validate.Binding) validate.Fault {
	fault := validate.NoFault
	for _, b := range bindings {
		if !b.State.InEffect() && b.State != validate.Unsupported {
			fault = max(fault, b.Fault)
		}
	}
	return fault
}

// foundFault returns the first fault that the verdict has on the parentRef. To take a port from
// another route is none.
func foundFault(verdict validate.Verdict, ref int) validate.Fault {
	fault := validate.NoFault
	for _, f := range verdict.Findings {
		field, of := strings.CutPrefix(f.Field, mesh.ParentPath(ref, ""))
		found := rules.Find(f.Rule).Fault
		if of && (field == "" || field[0] == '.') && found != validate.NoFault && !strings.Contains(f.Problem, " takes ") && (fault == validate.NoFault || found < fault) {
			fault = found
		}
	}
	return fault
}
