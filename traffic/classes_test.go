package traffic

import (
	"cmp"
	"testing"
)

// TestClassesOfRandomRoutes: each class is decided as it says, no two by one match, and every match that
// decides a random request has one.
func TestClassesOfRandomRoutes(t *testing.T) {
	type decision struct {
		port         int32
		from, chosen string
	}
	undecided, consumers := 0, 0
	for seed := range uint64(300) {
		c := randomChoices(seed, 40_000)
		w := newWorld()
		w.read(t, shop)
		routes, options := c.routes(), c.options(t)
		withoutExpressions(options, routes)
		table := tableOf(w, routes.stored(t), options)
		decide := func(r *Request) (decision, *Outcome) {
			trace, err := table.Trace(*r)
			if err != nil {
				t.Fatal(err)
			}
			routes, err := table.portRoutesOf(r)
			if err != nil {
				t.Fatal(err)
			}
			d := decision{port: r.Port, from: cmp.Or(routes.scope.ConsumerNamespace, "shop")}
			if trace.Chosen != nil {
				d.chosen = trace.Chosen.String()
			}
			return d, &trace.Outcome
		}
		classes, missing, err := table.Classes()
		if err != nil || len(missing) > 0 {
			t.Fatal(err, missing)
		}
		known := map[decision]bool{}
		for i := range classes {
			class := &classes[i]
			got, outcome := decide(&class.Witness)
			want := decision{class.Witness.Port, class.Witness.From, ""}
			if class.Chosen != nil {
				want.chosen = class.Chosen.String()
			} else {
				undecided++
			}
			if class.Class.From != "" {
				consumers++
			}
			if got != want || outcome.key() != class.Outcome.key() || known[got] || !class.Class.contains(&class.Witness, nil) {
				t.Fatalf("seed %d: class %s, witness %s: got %+v, want %+v, known before %v", seed, &class.Class, &class.Witness, got, want, known[got])
			}
			known[got] = true
		}
		for range 1000 {
			r := c.request()
			if got, _ := decide(&r); !known[got] && len(classes) > 0 {
				t.Fatalf("seed %d: %s is decided by %+v, which has no class among %d", seed, &r, got, len(classes))
			}
		}
	}
	if undecided < 100 || consumers < 100 {
		t.Errorf("%d classes that no match decides, and %d of consumers, are too few", undecided, consumers)
	}
}
