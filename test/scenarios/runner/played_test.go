package runner_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/test/scenarios/runner"
)

// held is a scenario whose Services are deleted, one of which has a finalizer.
const held = `A Service with a finalizer stays when it is deleted
-- config.yaml --
grants: {default: all}
-- cluster.yaml --
{apiVersion: v1, kind: Service, metadata: {name: held, namespace: held, finalizers: [example.com/hold]}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: gone, namespace: held}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: held, namespace: held}, spec: {parentRefs: [{group: "", kind: Service, name: held}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: gone, namespace: held}, spec: {parentRefs: [{group: "", kind: Service, name: gone}]}}
-- delete.yaml --
{apiVersion: v1, kind: Service, metadata: {name: held, namespace: held}}
---
{apiVersion: v1, kind: Service, metadata: {name: gone, namespace: held}}
-- want.yaml --
status:
- {route: HTTPRoute/held/held, entries: []}
- {route: HTTPRoute/held/gone, entries: [{accepted: "False", reason: NoMatchingParent}]}
`

// TestFinalizers plays it twice: nothing is left of the first time.
func TestFinalizers(t *testing.T) {
	scenario := runner.Parse("held", "held.txtar", []byte(held))
	for _, driver := range suite.Drivers {
		for range 2 {
			for _, failure := range runner.Play(t.Context(), driver, scenario) {
				t.Errorf("%s: %s", driver.Name(), failure)
			}
		}
	}
}

// allOff turns off each rule that marks a route without a valid parent.
const allOff = `Nothing is marked where the rules are off
-- config.yaml --
grants: {default: all}
rules: {parent-not-found: audit, parent-headless: "off", parent-external-name: "off"}
-- cluster.yaml --
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: silent}, spec: {ports: [{port: 80}]}}
-- apply.yaml --
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: silent}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
-- want.yaml --
apply: [{verdict: admit}]
status: [{route: HTTPRoute/silent/cart, entries: []}]
`

// TestRulesOff plays a scenario that leaves the barrier nothing to watch.
func TestRulesOff(t *testing.T) {
	scenario := runner.Parse("off", "off.txtar", []byte(allOff))
	for _, driver := range suite.Drivers {
		for _, failure := range runner.Play(t.Context(), driver, scenario) {
			t.Errorf("%s: %s", driver.Name(), failure)
		}
	}
}
