package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// manyBackends returns a route with a backendRef to each of so many Services.
func manyBackends(t *testing.T, backends int) *mesh.Route {
	t.Helper()
	var rules []string
	for first := 0; first < backends; first += 16 {
		var refs []string
		for i := first; i < min(first+16, backends); i++ {
			refs = append(refs, fmt.Sprintf("{name: gone-%d, port: 80}", i))
		}
		rules = append(rules, "{backendRefs: ["+strings.Join(refs, ", ")+"]}")
	}
	return newRoute(t, mesh.HTTPRoute, "shop", on(service("cart"))+", rules: ["+strings.Join(rules, ", ")+"]")
}

// TestBoundedReads: one request causes no more than mesh.MaxReads live reads. What is
// beyond is not confirmed, and denies only together with what is.
func TestBoundedReads(t *testing.T) {
	const backends = 100
	engine := newEngine(t, only(map[string]validate.Action{"backend-not-found": validate.Deny}))
	route := manyBackends(t, backends)
	cache := newWorld(t, cluster)

	confirming := fixture.NewConfirming(cache, cache)
	verdict, err := engine.JudgeConfirmed(&validate.Request{Route: route}, confirming)
	if err != nil {
		t.Fatal(err)
	}
	if len(confirming.Made) != mesh.MaxReads {
		t.Errorf("%d live reads, want %d", len(confirming.Made), mesh.MaxReads)
	}
	confirmed := 0
	for i := range verdict.Findings {
		f := &verdict.Findings[i]
		if f.Effect != validate.Deny || f.Unconfirmed != strings.HasPrefix(f.Message(), "not confirmed: ") {
			t.Errorf("finding %d: %s: %s", i, f.Effect, f.Message())
		}
		if !f.Unconfirmed {
			confirmed++
		}
	}
	// One of the reads is the namespace, on which every finding rests.
	if len(verdict.Findings) != backends || confirmed != mesh.MaxReads-1 {
		t.Errorf("%d findings, %d of them confirmed, want %d and %d", len(verdict.Findings), confirmed, backends, mesh.MaxReads-1)
	}

	confirming = fixture.NewConfirming(cache, fixture.Fine{Labels: map[string]string{"gammaguard.dev/grant": "all"}})
	_, err = engine.JudgeConfirmed(&validate.Request{Route: route}, confirming)
	if err == nil || !strings.Contains(err.Error(), "37 findings take more than the 64 live reads") {
		t.Errorf("where the cache is wrong, and more than the bound is to be confirmed: %v", err)
	}
	if len(confirming.Made) != mesh.MaxReads {
		t.Errorf("%d live reads, want %d", len(confirming.Made), mesh.MaxReads)
	}
}

// TestManyIgnoredNames: of a long annotation so many names are read as there may be
// rules.
func TestManyIgnoredNames(t *testing.T) {
	route := newRoute(t, mesh.HTTPRoute, "shop", on(service("cart")))
	var names strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&names, "n%d,", i)
	}
	route.Metadata.Annotations.Ignore = names.String()
	if got := len(judge(t, nil, newWorld(t, cluster), &validate.Request{Route: route}).UnknownIgnores); got != validate.MaxIgnored {
		t.Errorf("%d unknown names are reported, want %d", got, validate.MaxIgnored)
	}
	if rules := len(rules.Catalog()); rules >= validate.MaxIgnored {
		t.Errorf("%d rules, which is more than are read", rules)
	}
}
