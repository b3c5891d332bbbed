package validate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// typicalRoute is an HTTPRoute of about 2 KB, as one finds them: two parents, five
// rules with matches, filters and weighted backends, nothing wrong.
func typicalRoute(b *testing.B) []byte {
	var rules []string
	for i := range 5 {
		rules = append(rules, fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: /api/v%d}, method: GET, headers: [{type: Exact, name: X-Tenant, value: tenant-%d}]}],
			filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Rule, value: rule-%d}]}}],
			backendRefs: [{group: "", kind: Service, name: cart, port: 80, weight: 90}, {group: "", kind: Service, name: cart, port: 8080, weight: 10}]}`, i, i, i))
	}
	rules = append(rules, `{backendRefs: [{group: "", kind: Service, name: cart, port: 80, weight: 1}]}`)
	return routeJSON(b, mesh.HTTPRoute, "shop", on(service("cart, port: 80"), service("cart, port: 8080"))+`, rules: [`+strings.Join(rules, ", ")+`]`)
}

func BenchmarkDecodeRoute(b *testing.B) {
	data := typicalRoute(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mesh.DecodeRoute(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	data := typicalRoute(b)
	for _, siblings := range []int{0, 10} {
		b.Run(fmt.Sprintf("%d-siblings", siblings), func(b *testing.B) {
			var others strings.Builder
			for i := range siblings {
				others.WriteString(routeText(mesh.HTTPRoute, "shop", fmt.Sprintf("sibling-%d", i), on(service("cart"))+
					fmt.Sprintf(`, rules: [{matches: [{path: {value: /s%d}}]}]`, i)))
			}
			world := newWorld(b, cluster, others.String())
			engine := newEngine(b, nil)
			route, err := mesh.DecodeRoute(data)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				verdict, err := engine.Judge(&validate.Request{Route: route}, world)
				if err != nil || len(verdict.Findings) > 0 {
					b.Fatalf("findings %q, error %v", told(verdict), err)
				}
			}
		})
	}
}
