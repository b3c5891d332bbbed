package rules

import "github.com/gammaguard/gammaguard/test/fixture"

// What package fixture has, in short.
var (
	cluster                        = fixture.Cluster
	newWorld, newRoute, routeText  = fixture.NewWorld, fixture.NewRoute, fixture.RouteText
	on, service, serviceImport, to = fixture.On, fixture.Service, fixture.ServiceImport, fixture.To
	getOnly, catchAll              = fixture.GetOnly, fixture.CatchAll
)
