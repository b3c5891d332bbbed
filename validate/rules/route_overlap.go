package rules

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func routeOverlap() *validate.Rule {
	return &validate.Rule{
		ID:    "route-overlap",
		Title: "Another route on the same Service port takes the requests of a match",
		Rationale: "Routes of the same kind on the same port merge. If two of them have the same match, the older route wins, and the rule in the " +
			"newer route receives no requests. Of two routes that are created in the same second, the first by namespace and name wins. Nothing " +
			"else reports this. Cilium uses the backends of both where the matches are written alike. With mesh: istio, a RegularExpression " +
			"ranks after the match of another route that takes every request.",
		Remedy: "Change the match, merge the rule into the older route, or remove the match from the older route. Matches are compared by " +
			"meaning: defaults, the order of headers and query parameters, and the case of header names do not matter.",
		Citation: "GEP-1294, Multiple routes for a Service: merging follows the standard route merging behavior; Gateway API, HTTPRouteRule: of equal " +
			"matches the oldest route's wins",
		Default:   validate.Warn,
		OfTraffic: true,
		Parent:    checkRouteOverlap,
	}
}

func checkRouteOverlap(p *validate.Pass, parent *validate.Parent) {
	checkOutranked(p, parent)
	own := p.Attached()
	// A bit set rules out most keys of other routes.
	var bits uint64
	for _, key := range own.Matches {
		bits |= 1 << (key % 64)
	}
	var places map[mesh.MatchKey]mesh.PlacedMatch // those not yet reported; nil until needed
	for at, owner := range p.Owned(parent) {
		if slices.ContainsFunc(owner.Split, own.Same) {
			continue // the route gets no requests there, which route-conflict says
		}
		for _, older := range owner.Of(own.Kind) {
			if older.CompareAge(own) >= 0 {
				break // sorted, the oldest first
			}
			for _, key := range older.Matches {
				if bits&(1<<(key%64)) == 0 {
					continue
				}
				if places == nil {
					places = firstPlaces(p.Route, p.Policy.Mesh)
				}
				if match, equal := places[key]; equal {
					delete(places, key)
					p.ReportOnce(overlap(p, parent, at, older, match))
				}
			}
		}
	}
}

// firstPlaces returns the first place of each match in the route.
func firstPlaces(route *mesh.Route, profile *mesh.Profile) map[mesh.MatchKey]mesh.PlacedMatch {
	places := map[mesh.MatchKey]mesh.PlacedMatch{}
	for _, match := range route.MatchKeys(profile) {
		if _, twice := places[match.Key]; !twice {
			places[match.Key] = match
		}
	}
	return places
}

// checkOutranked reports matches that the mesh ranks below the match of another route that takes every request, whichever
// route is older.
func checkOutranked(p *validate.Pass, parent *validate.Parent) {
	own, profile := p.Attached(), p.Policy.Mesh
	if !own.Regular || profile.Ranks() != mesh.RankedLast || !profile.OrdersExpressions(own.Kind) {
		return
	}
	for at, owner := range p.Owned(parent) {
		i := slices.IndexFunc(owner.Routes, func(other *mesh.AttachedRoute) bool {
			return other.HasCatchAll() && other.Kind == mesh.HTTPRoute && !other.Same(own) // that of a GRPCRoute ranks lower
		})
		if i < 0 || !owner.Holds(own.Kind) {
			continue
		}
		for _, match := range p.Route.MatchKeys(profile) {
			if !slices.ContainsFunc(p.Route.Conditions(match.Rule, profile)[max(0, match.Match)], func(c mesh.Condition) bool {
				return c.Dimension == mesh.PathDimension && c.Type == mesh.RegularExpression
			}) {
				continue
			}
			reportUnsupported(p, validate.Finding{
				Field: "spec." + placeOf(match),
				Problem: fmt.Sprintf("receives no requests: %s on port %d of %s matches all, and %s ranks a RegularExpression last",
					owner.Routes[i], at.Port, parent.Key, profile.Title),
				Remedy:    "use a PathPrefix or an Exact path instead",
				Reference: validate.Reference{Service: parent.Key, Detail: fmt.Sprintf("%d %x", at.Port, match.Key)},
			})
		}
		return // the other ports are alike
	}
}

func overlap(p *validate.Pass, parent *validate.Parent, at mesh.PortScope, older *mesh.AttachedRoute, match mesh.PlacedMatch) validate.Finding {
	own := p.Attached()
	does := "matches the same requests"
	if match.Match >= 0 {
		does = "has this match"
	}
	wins := "and is older, so it wins"
	switch {
	case p.Policy.Mesh.ReadsBackends().MergesEqual:
		wins = "too; " + p.Policy.Mesh.Title + " uses both if written alike"
	case !older.OrderKnown(own):
		wins = "too; the older one wins, or if both are as old, the first by name"
	case older.Created == own.Created:
		wins = "and is as old, so it wins by name"
	}
	return validate.Finding{
		Field:     "spec." + placeOf(match),
		Problem:   fmt.Sprintf("%s %s on port %d of %s %s", older, does, at.Port, parent.Key, wins) + forExample(p.Route.Example(match)),
		Remedy:    "change the match, or merge the rules",
		Reference: validate.Reference{Service: parent.Key, Detail: fmt.Sprintf("%d %x", at.Port, match.Key)},
	}
}

// placeOf returns the path of a match in the spec, or of a rule without matches.
func placeOf(match mesh.PlacedMatch) string {
	if match.Match < 0 {
		return fmt.Sprintf("rules[%d]", match.Rule)
	}
	return fmt.Sprintf("rules[%d].matches[%d]", match.Rule, match.Match)
}
