package traffic

import (
	"fmt"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

// disagreement returns in what the engine and the second opinion differ over random
// routes and requests.
func disagreement(t testing.TB, c *choices, compare func(a, b *entry) int) string {
	t.Helper()
	w := newWorld()
	w.read(t, shop)
	routes := c.routes()
	options := c.options(t)
	table := tableOf(w, routes.stored(t), options)
	table.compare = compare
	for range 20 {
		r := c.request()
		trace, err := table.Trace(r)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if trace.Chosen != nil {
			got = trace.Chosen.String()
		} else if trace.RouteKind == "" {
			got = "the Service"
		}
		if want := bruteDecide(routes, options.Engine != nil, &r); got != want {
			return fmt.Sprintf("request %+v: want %s, got\n%s", r, want, trace)
		}
	}
	return ""
}

const bytesOfRoutes = 400 // as many choices as routes and their requests take

func TestSecondOpinion(t *testing.T) {
	for seed := range uint64(1000) {
		if d := disagreement(t, randomChoices(seed, bytesOfRoutes), compareEntries); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func FuzzSecondOpinion(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomChoices(seed, bytesOfRoutes).bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if d := disagreement(t, &choices{bytes}, compareEntries); d != "" {
			t.Error(d)
		}
	})
}

// TestSecondOpinionFindsFaults plants faults in the precedence.
func TestSecondOpinionFindsFaults(t *testing.T) {
	without := func(part int) func(a, b *entry) int {
		return func(a, b *entry) int {
			x, y := *a.match, *b.match
			x.rank[part], y.rank[part] = 0, 0
			return compareEntries(&entry{&x, a.route, a.rule, a.at}, &entry{&y, b.route, b.rule, b.at})
		}
	}
	for name, fault := range map[string]func(a, b *entry) int{
		"path types do not count":       without(mesh.ByPathType),
		"lengths do not count":          without(mesh.ByPathLength),
		"methods do not count":          without(mesh.ByMethod),
		"headers do not count":          without(mesh.ByHeaders),
		"query parameters do not count": without(mesh.ByQueryParams),
		"query parameters come before headers": func(a, b *entry) int {
			x, y := *a.match, *b.match
			x.rank[mesh.ByHeaders], x.rank[mesh.ByQueryParams] = x.rank[mesh.ByQueryParams], x.rank[mesh.ByHeaders]
			y.rank[mesh.ByHeaders], y.rank[mesh.ByQueryParams] = y.rank[mesh.ByQueryParams], y.rank[mesh.ByHeaders]
			return compareEntries(&entry{&x, a.route, a.rule, a.at}, &entry{&y, b.route, b.rule, b.at})
		},
		"the younger route wins": func(a, b *entry) int {
			if a.rank == b.rank && a.route.Created != b.route.Created {
				return -compareEntries(a, b)
			}
			return compareEntries(a, b)
		},
		"the last by name wins": func(a, b *entry) int {
			if a.rank == b.rank && a.route != b.route && a.route.Created == b.route.Created {
				return -compareEntries(a, b)
			}
			return compareEntries(a, b)
		},
		"the last rule wins": func(a, b *entry) int {
			if a.rank == b.rank && a.route == b.route {
				return -compareEntries(a, b)
			}
			return compareEntries(a, b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3000) {
				if disagreement(t, randomChoices(seed, bytesOfRoutes), fault) != "" {
					return
				}
			}
			t.Error("not found in 3000 worlds")
		})
	}
}
