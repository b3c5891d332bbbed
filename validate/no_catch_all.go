package validate

import (
	"slices"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
)

func noCatchAll() *Rule {
	return &Rule{
		ID:    "no-catch-all",
		Title: "No rule of the routes on a Service port matches every request",
		Rationale: "A route on a Service replaces the Service's plain behaviour, it does not add to it. As soon as one is attached, requests that no rule " +
			"matches are rejected. That is often wanted, and as often a surprise.",
		Remedy:   "Add a rule without matches that sends to the Service itself, or leave it so if all other requests are to be rejected.",
		Citation: "GEP-1294, Route presence; The GAMMA initiative: requests that do not match at least one of the Routes will be rejected",
		Default:  Warn,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Parent:   checkNoCatchAll,
	}
}

func checkNoCatchAll(p *Pass, parent *Parent) {
	if p.Attached().CatchAll {
		return
	}
	var bare []string
	for at, owner := range p.Owned(parent) {
		if owner.Kind == p.Route.Kind && !slices.ContainsFunc(owner.Routes, catchesAll) {
			bare = append(bare, strconv.Itoa(int(at.Port)))
		}
	}
	if len(bare) == 0 {
		return
	}
	p.Report(Finding{
		Field:     "spec.rules",
		Problem:   "unmatched requests to " + portsNamed(bare) + " of " + parent.Key.String() + " are rejected",
		Remedy:    "if unwanted, add a rule without matches",
		Reference: Reference{Service: parent.Key, Detail: shortList(bare)},
	})
}

func catchesAll(route *mesh.AttachedRoute) bool { return route.CatchAll }
