package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func matchUnreachable() *validate.Rule {
	return &validate.Rule{
		ID:    validate.RuleMatchUnreachable,
		Title: "Another match of the same route takes all requests of a match",
		Rationale: "If several matches of a route are equally specific, the first one in the list decides. A later match with the same conditions, or " +
			"with values that a regular expression in the earlier match includes, never receives a request. Neither do the backends of its rule. The " +
			"specification leaves it to implementations where a path by RegularExpression ranks. A mesh may rank it after every prefix: then it never " +
			"receives the requests of a prefix of the same route. Before every prefix, an expression for all paths takes those of the prefixes.",
		Remedy: "Remove the match, or move its rule before the other one. A match with more headers or query parameters is more specific, " +
			"regardless of the order. Where the mesh decides by the RegularExpression, use a PathPrefix or an Exact path in its place. The rule " +
			"route-overlap reports equal matches of other routes.",
		Citation: "Gateway API, HTTPRouteRule.matches: if ties still exist within a route, the first matching rule in list order takes precedence",
		Default:  validate.Warn,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Route:    checkMatchUnreachable,
	}
}

func checkMatchUnreachable(p *validate.Pass) {
	if len(p.Parents()) == 0 {
		return
	}
	for _, shadow := range p.Route.Shadows(p.Attached().Matches, p.Policy.Mesh) {
		if p.Route.Kind == mesh.GRPCRoute && shadow.Key == shadow.By.Key && p.Policy.Mesh.ReadsBackends().MergesEqual {
			continue // the mesh gives the requests to the backends of both
		}
		f := validate.Finding{
			Field:     "spec." + placeOf(shadow.PlacedMatch),
			Problem:   "never receives requests: " + placeOf(shadow.By) + " takes them first",
			Reference: validate.Reference{Detail: fmt.Sprintf("%x %x", shadow.Key, shadow.By.Key)},
		}
		if shadow.Ranked {
			f.Problem += fmt.Sprintf(", since %s ranks a RegularExpression %s", p.Policy.Mesh.Title, p.Policy.Mesh.Ranks())
			f.Remedy = "use a PathPrefix or an Exact path instead"
			if p.Policy.Mesh.Ranks() == mesh.RankedFirst { // the other match is the one with the expression
				f.Remedy = "use a PathPrefix or an Exact path in " + placeOf(shadow.By)
			}
			reportUnsupported(p, f)
			continue
		}
		f.Problem += forExample(p.Route.Example(shadow.PlacedMatch))
		f.Remedy = "remove it"
		if len(p.Route.Spec.Rules[shadow.Rule].Matches) < 2 { // without any, it matches all
			f.Remedy = "remove the rule"
		}
		if shadow.Key != shadow.By.Key {
			f.Remedy += ", or move it before the other match"
		}
		p.Report(f)
	}
}
