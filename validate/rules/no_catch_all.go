package rules

import (
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func noCatchAll() *validate.Rule {
	return &validate.Rule{
		ID:    "no-catch-all",
		Title: "On a Service port, no rule of any route matches every request",
		Rationale: "A route on a Service replaces the default behavior of the Service. As soon as a route is attached, requests that match no rule " +
			"are rejected. This can be intended, but it is often a surprise. Consumer routes do so for requests from their own namespace only.",
		Remedy: "Add a rule without matches that sends requests to the Service itself. A match with only the path /.* by RegularExpression " +
			"counts as well. If all other requests must be rejected, no action is needed. Where the mesh matches hostnames, the rule must be one of a route without them. With mesh: kuma, for releases before 2.15, the rule " +
			"reports nothing, since Kuma sends such requests to the parent Service.",
		Citation:  "GEP-1294, Route presence; The GAMMA initiative: requests that do not match at least one of the Routes will be rejected",
		Default:   validate.Warn,
		OfTraffic: true,
		Kinds:     []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Parent:    checkNoCatchAll,
	}
}

func checkNoCatchAll(p *validate.Pass, parent *validate.Parent) {
	unmatched, rejected := p.Policy.Unmatched(p.Route.Kind)
	if p.Attached().CatchAll || !rejected {
		return
	}
	var bare []string
	example := ""
	for at, owner := range p.Owned(parent) {
		if owner.Holds(p.Route.Kind) && !owner.CatchesAll(p.Route.Kind) {
			if len(bare) == 0 {
				example = forExample(owner.Unmatched(p.Route.Kind))
			}
			bare = append(bare, strconv.Itoa(int(at.Port)))
		}
	}
	if len(bare) == 0 {
		return
	}
	remedy := "to accept them, add a catch-all rule"
	if p.Policy.Mesh.MatchesHostnames(p.Route) {
		remedy += " to a route without hostnames"
	}
	p.Report(validate.Finding{
		Field:     "spec.rules",
		Problem:   "unmatched requests " + fromClients(parent) + "to " + portsNamed(bare) + " of " + parent.Key.String() + " " + unmatched + example,
		Remedy:    remedy,
		Reference: validate.Reference{Service: parent.Key, Detail: shortList(bare)},
	})
}

// fromClients reads "from namespace faces " for the requests that a consumer route is about.
func fromClients(parent *validate.Parent) string {
	if parent.Scope.Role() == mesh.Producer {
		return ""
	}
	return "from namespace " + parent.Scope.ConsumerNamespace + " "
}

// forExample names a request, if there is one.
func forExample(request string) string {
	if request == "" {
		return ""
	}
	return ", for example " + request
}
