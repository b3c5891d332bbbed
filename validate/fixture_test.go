package validate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/test/fixture"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// What package fixture has, in short.
var (
	cluster                        = fixture.Cluster
	newWorld, newWorldWith         = fixture.NewWorld, fixture.NewWorldWith
	newRoute, routeJSON, routeText = fixture.NewRoute, fixture.RouteJSON, fixture.RouteText
	on, service, serviceImport, to = fixture.On, fixture.Service, fixture.ServiceImport, fixture.To
	getOnly, catchAll              = fixture.GetOnly, fixture.CatchAll
)

// newEngine returns an engine for the policy; nil for the defaults.
func newEngine(t testing.TB, policy *validate.Policy) *validate.Engine {
	t.Helper()
	if policy == nil {
		policy = &validate.Policy{}
	}
	engine, err := validate.New(rules.Catalog(), policy)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// only returns a policy under which no rule runs but those with an action here.
func only(actions map[string]validate.Action) *validate.Policy {
	policy := &validate.Policy{Actions: map[string]validate.Action{}}
	for _, rule := range rules.Catalog() {
		policy.Actions[rule.ID] = validate.Off
	}
	for id, action := range actions {
		policy.Actions[id] = action
	}
	return policy
}
