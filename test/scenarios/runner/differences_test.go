package runner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// wrong is a scenario of which nothing holds.
const wrong = `Everything is expected otherwise than it is
-- config.yaml --
grants: {default: all}
-- cluster.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: bare, namespace: shop}
spec: {clusterIP: None}
-- apply.yaml --
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}], hostnames: [example.com]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: bare}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: c, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: d, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: gone}]}}
-- want.yaml --
apply:
- verdict: admit
  warnings: []
  object: {spec: {parentRefs: [{group: core}], hostnames: []}}
- verdict: admit
  message: unheard of
- verdict: deny
  rules: [parent-headless]
- verdict: deny
  rules: [parent-headless, parent-not-found]
status:
- route: HTTPRoute/shop/a
  entries: []
- route: HTTPRoute/shop/d
  entries:
  - accepted: "False"
`

// TestDifferencesAreFound plays it: no driver may be content.
func TestDifferencesAreFound(t *testing.T) {
	scenario := runner.Parse("wrong", "wrong.txtar", []byte(wrong))
	want := []string{
		"wrong.txtar:28: HTTPRoute shop/a",
		"  warnings: want [], got [backend-missing hostnames-ignored parent-group]",
		`  object.spec.hostnames: want [], got ["example.com"]`,
		`  object.spec.parentRefs[0].group: want "core", got ""`,
		"wrong.txtar:31: HTTPRoute shop/b",
		"  verdict: want admit, got deny",
		`  message: want "unheard of" in it`,
		"wrong.txtar:33: GRPCRoute shop/c",
		"  verdict: want deny, got admit",
		"  rules: want [parent-headless], got []",
		"wrong.txtar:35: HTTPRoute shop/d",
		"  rules: want [parent-headless parent-not-found], got [parent-not-found]",
		"wrong.txtar:38: status of HTTPRoute shop/a",
		"  want: no entries",
		"wrong.txtar:40: status of HTTPRoute shop/d",
		"  got: no entries",
	}
	for _, driver := range suite.Drivers {
		t.Run(driver.Name(), func(t *testing.T) {
			var got []string
			for _, failure := range runner.Play(t.Context(), driver, scenario) {
				for line := range strings.SplitSeq(failure.Error(), "\n") {
					if !strings.HasPrefix(line, "    ") && line != "  the user reads:" && line != "  want:" && line != "  got:" {
						got = append(got, line)
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
