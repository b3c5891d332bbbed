package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func routeOverlap() *validate.Rule {
	return &validate.Rule{
		ID:    "route-overlap",
		Title: "A match equals a match of an older route on the same Service port",
		Rationale: "Routes of the same kind on the same port merge. If two of them have the same match, the older route wins, and the rule in the " +
			"newer route receives no requests. Of two routes that are created in the same second, the first by namespace and name wins. Nothing " +
			"else reports this.",
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
	own := p.Attached()
	// A bit set rules out most keys of other routes.
	var bits uint64
	for _, key := range own.Matches {
		bits |= 1 << (key % 64)
	}
	var places map[mesh.MatchKey]mesh.PlacedMatch // those not yet reported; nil until needed
	for at, owner := range p.Owned(parent) {
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
					p.ReportOnce(overlap(parent, at, own, older, match, p.Route.Example(match)))
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

func overlap(parent *validate.Parent, at mesh.PortScope, own, older *mesh.AttachedRoute, match mesh.PlacedMatch, example string) validate.Finding {
	does := "matches the same requests"
	if match.Match >= 0 {
		does = "has this match"
	}
	wins := "and is older, so it wins"
	switch {
	case !older.OrderKnown(own):
		wins = "too; the older one wins, or if both are as old, the first by name"
	case older.Created == own.Created:
		wins = "and is as old, so it wins by name"
	}
	return validate.Finding{
		Field:     "spec." + placeOf(match),
		Problem:   fmt.Sprintf("%s %s on port %d of %s %s", older, does, at.Port, parent.Key, wins) + forExample(example),
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
