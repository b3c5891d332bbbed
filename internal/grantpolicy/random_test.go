package grantpolicy_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/grants"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

var seed = flag.Uint64("grant-seed", 33, "where the random routes, namespaces, and configurations begin")

// TestRandom: for random configurations, namespaces, users, and requests, the API server's
// library decides by the policy what the engine decides, and says the engine's first
// finding. -grant-seed repeats a run.
func TestRandom(t *testing.T) {
	const configurations, requests = 200, 50
	c := grants.New(*seed)
	seen := map[string]int{}
	for n := range configurations {
		configuration := c.Configuration()
		policy := configuration.Policy()
		if n == 0 {
			policy = config.Default().Policy()
		}
		engine, err := validate.New(rules.Catalog(), policy)
		if err != nil {
			t.Fatal(err)
		}
		compiled := compile(t, grantpolicy.New(policy))
		for range requests {
			r := c.Request(c.Namespace(), mesh.GuardedKinds()...)
			want, err := r.Judged(engine)
			if err != nil {
				t.Fatal(err)
			}
			got := compiled.ask(t, r)
			seen[fmt.Sprintf("%s update=%t linkerd=%t", want.Effect, r.Old != nil, r.Kind == mesh.LinkerdHTTPRoute)]++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("configuration %s\nnamespace %v\nuser %+v\nroute %s\nold %s\n(-engine +policy):\n%s",
					grants.Encoded(configuration), r.Namespace.Labels, r.User, grants.Encoded(r.Route), grants.Encoded(r.Old), diff)
			}
		}
	}
	for _, effect := range validate.Actions() {
		for _, update := range []bool{false, true} {
			for _, linkerd := range []bool{false, true} {
				if what := fmt.Sprintf("%s update=%t linkerd=%t", effect, update, linkerd); seen[what] < 5 {
					t.Errorf("%s: only %d cases", what, seen[what])
				}
			}
		}
	}
	t.Log(seen)
}
