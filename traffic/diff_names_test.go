package traffic

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/validate"
)

// TestDiffOfServerNames compares the difference of random TLSRoutes with what
// becomes of every server name.
func TestDiffOfServerNames(t *testing.T) {
	w := newWorld()
	w.read(t, shop)
	routes := func(c *choices) Routes {
		var out apiRoutes
		for i := range c.below(4) {
			route := &gatewayv1.TLSRoute{}
			route.ObjectMeta, route.Spec.CommonRouteSpec = c.head(i)
			route.Namespace = "shop"
			for range 1 + c.below(2) {
				route.Spec.Hostnames = append(route.Spec.Hostnames, pick(c, gatewayv1.Hostname("a.example"), "*.example", "b.a.example", "*.a.example", "a.other"))
			}
			route.Spec.Rules = []gatewayv1.TLSRouteRule{{BackendRefs: []gatewayv1.BackendRef{c.backend()}}}
			out.TLS = append(out.TLS, route)
		}
		return out.stored(t)
	}
	names := []string{"", "a.example", "b.example", "b.a.example", "c.a.example", "c.b.a.example", "a.other", "b.other", "example"}
	sni := by(t, validate.Policy{Mesh: mergingMesh()})
	for seed := range uint64(500) {
		c := randomChoices(seed, 100)
		before, after := tableOf(w, routes(c), sni), tableOf(w, routes(c), sni)
		difference, err := Diff(before, after)
		if err != nil {
			t.Fatal(err)
		}
		was, is := newOracle(before), newOracle(after.since(before))
		for _, name := range names {
			r := ask(t, "sni "+name)
			got := [2]string{was.fate(t, &r), is.fate(t, &r)}
			announced := [2]string{got[0], got[0]}
			best := -1
			for _, port := range difference.Ports {
				for _, change := range port.Changes {
					if fit := nameFits(change.Class.Where, name); port.Port == 80 && fit > best {
						best, announced = fit, [2]string{change.Before.key(), change.After.key()}
					}
				}
			}
			if got[0] != got[1] && got != announced {
				t.Fatalf("seed %d: server name %q changes from %s to %s\n%s", seed, name, got[0], got[1], difference)
			}
		}
	}
}

// nameFits says how well a server name fits a class; -1 is not at all.
func nameFits(where, name string) int {
	class, isName := strings.CutPrefix(where, "server name ")
	under, wildcard := strings.CutPrefix(class, "*")
	switch {
	case !isName:
		return 0
	case wildcard && strings.HasSuffix(name, under):
		return len(under)
	case class == name:
		return 1000
	}
	return -1
}

// TestDiffOfExpressions: whatever is missing inside of regular expressions, each
// announced change is one.
func TestDiffOfExpressions(t *testing.T) {
	w := newWorld()
	w.read(t, shop)
	routes := func(c *choices) Routes {
		out := apiRoutes{HTTP: []*gatewayv1.HTTPRoute{c.httpRoute(0), c.httpRoute(1)}}
		path, header := gatewayv1.PathMatchRegularExpression, gatewayv1.HeaderMatchRegularExpression
		for _, route := range out.HTTP {
			route.Namespace = "shop"
			for i := range route.Spec.Rules {
				for j := range route.Spec.Rules[i].Matches {
					m := &route.Spec.Rules[i].Matches[j]
					if c.maybe(50) {
						m.Path = &gatewayv1.HTTPPathMatch{Type: &path, Value: new(pick(c, "/a.*", "/[ab]", "/a/b|/c", "(?=/)a"))}
					}
					for k := range m.Headers {
						m.Headers[k].Type, m.Headers[k].Value = &header, pick(c, "[0-9]", "1|2", "2.*", "1")
					}
				}
			}
		}
		return out.stored(t)
	}
	changes := 0
	for seed := range uint64(500) {
		c := randomChoices(seed, 300)
		before, after := tableOf(w, routes(c), Options{}), tableOf(w, routes(c), Options{})
		difference, err := Diff(before, after)
		if err != nil {
			t.Fatal(err)
		}
		was, is := newOracle(before), newOracle(after.since(before))
		for _, port := range difference.Ports {
			for _, change := range port.Changes {
				changes++
				r := change.Witness
				if was.fate(t, &r) != change.Before.key() || is.fate(t, &r) != change.After.key() || was.fate(t, &r) == is.fate(t, &r) {
					t.Fatalf("seed %d: witness %s of %s\n%s", seed, &r, &change.Class, difference)
				}
			}
		}
	}
	if changes < 500 {
		t.Errorf("%d changes in 500 differences", changes)
	}
}
