package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// specificationRules are the rules that tell what GEP-1294 says, and that most requests do not need: a
// consumer route over producer routes, and backends that the mesh does not have to itself.
var specificationRules = []string{"producer-routes-replaced", "backend-external"}

// withoutSpecificationRules is the catalog without these, and without the part of parent-exposed-type
// that looks at backends.
func withoutSpecificationRules() []*validate.Rule {
	catalog := slices.DeleteFunc(rules.Catalog(), func(r *validate.Rule) bool { return slices.Contains(specificationRules, r.ID) })
	for _, rule := range catalog {
		if rule.ID == "parent-exposed-type" {
			rule.Backend = nil
		}
	}
	return catalog
}

// loadReview is a review of the default load of test/bench/load: a producer route of some rules, whose
// backends are its parent.
func loadReview(t testing.TB, namespace string) []byte {
	t.Helper()
	var of []string
	for i := range 2 {
		of = append(of, fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: /items/%d}, headers: [{type: Exact, name: x-tenant, value: tenant-%d}]}],
			filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-rule, value: "%d"}]}}],
			backendRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80, weight: 1}]}`, i, i, i))
	}
	of = append(of, `{backendRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80, weight: 1}]}`)
	a := admission{object: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: ` + namespace + `, generation: 1,
		uid: 9f1c2d3e-1111-2222-3333-444455556666, creationTimestamp: "2026-01-02T03:04:05Z", labels: {app: web},
		managedFields: [{manager: kubectl-create, operation: Update, apiVersion: gateway.networking.k8s.io/v1, time: "2026-01-02T03:04:05Z",
		fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {".": {}, "f:parentRefs": {}, "f:rules": {}}}}]},
		spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: shop, port: 80}], rules: [` + strings.Join(of, ", ") + `]}}`}
	return a.body(t)
}

// BenchmarkSpecificationRules measures what these rules cost an admitted request, as the ratio of the
// handler's times with and without them: of the shortest of many rounds each, in turn. In the process, a
// request costs about two and a half times the CPU of its handler, so the share of it is smaller.
func BenchmarkSpecificationRules(b *testing.B) {
	const calls = 20
	o := options(b, world(b, cluster))
	o.Log = logr.Discard()
	reduced, err := validate.New(withoutSpecificationRules(), &validate.Policy{})
	if err != nil {
		b.Fatal(err)
	}
	for _, load := range []struct{ name, namespace string }{{"producer", "shop"}, {"consumer", "web"}} {
		b.Run(load.name, func(b *testing.B) {
			body := loadReview(b, load.namespace)
			sides := [2]func(){caller(b, Validating(o, newEngine(b, nil)), body), caller(b, Validating(o, reduced), body)}
			shortest := [2]time.Duration{time.Hour, time.Hour}
			for i := 0; b.Loop(); i++ {
				for j := range sides {
					side := (i + j) % 2 // neither is always the first
					began := time.Now()
					for range calls {
						sides[side]()
					}
					shortest[side] = min(shortest[side], time.Since(began))
				}
			}
			b.ReportMetric(float64(shortest[0])/calls, "ns/with")
			b.ReportMetric(float64(shortest[1])/calls, "ns/without")
			b.ReportMetric(float64(shortest[0])/float64(shortest[1]), "with/without")
		})
	}
}
