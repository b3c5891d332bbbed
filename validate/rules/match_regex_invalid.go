package rules

import (
	"errors"
	"fmt"
	"regexp/syntax"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func matchRegexInvalid() *validate.Rule {
	return &validate.Rule{
		ID:    "match-regex-invalid",
		Title: "The mesh cannot compile a regular expression",
		Rationale: "The API server stores any text as a regular expression, and meshes report such a route as accepted. Envoy then refuses the whole " +
			"route configuration that contains it, and keeps the one from before. Later changes of other routes have no effect either, and a proxy that " +
			"starts has no routes at all. Linkerd does not apply the route.",
		Remedy: "Correct the expression. Envoy uses RE2, which has no lookaround, no backreferences, and no repetition above 1000; an expression matches " +
			"the whole value. Where no expression is needed, use a match of type Exact or PathPrefix.",
		Citation:    "Gateway API, HTTPPathMatch: the syntax of a RegularExpression is specific to the implementation; please read its documentation",
		Default:     validate.Deny,
		HasWarnings: true,
		Kinds:       []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Route:       checkMatchRegexInvalid,
	}
}

func checkMatchRegexInvalid(p *validate.Pass) {
	cost := 0
	for _, expression := range p.Expressions() {
		if cost += mesh.ExpressionCost(expression.Text); cost > mesh.MaxExpressionCost {
			p.Report(validate.Finding{
				Field:     expression.Path,
				Problem:   "the regular expressions of the route up to here take too long to check",
				Remedy:    "use fewer ranges of Unicode characters, or divide the route",
				Reference: validate.Reference{Detail: "cost"},
			})
			return
		}
		if err := p.Policy.Mesh.InvalidExpression(expression.Text); err != nil {
			f := validate.Finding{
				Field:     expression.Path,
				Value:     expression.Text,
				Problem:   fmt.Sprintf("not valid %s (%s): %s", p.Policy.Mesh.Dialect(), reasonOf(err), refused(p.Policy.Mesh)),
				Remedy:    remedyFor(err),
				Reference: validate.Reference{Detail: expression.Subject + " " + expression.Text},
			}
			if p.Policy.Mesh.Newer() && mesh.ParseExpression(expression.Text) == nil {
				f.Default = validate.Warn // only by what is known of older releases
			}
			p.Report(f)
		}
	}
}

// refused describes what a proxy makes of a route that it cannot use.
func refused(profile *mesh.Profile) string {
	if profile != nil && !profile.Envoy() {
		return profile.Title + " does not apply the route, and may keep its former version"
	}
	return "Envoy refuses all routes with it, and all later changes"
}

// reasonOf returns what is wrong with an expression, and which part of it.
func reasonOf(err error) string {
	invalid, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err.Error()
	}
	part := []rune(invalid.Expr)
	if len(part) > 20 {
		part = append(part[:17], []rune("...")...)
	}
	return fmt.Sprintf("%s in %q", invalid.Code, string(part))
}

func remedyFor(err error) string {
	invalid, ok := errors.AsType[*syntax.Error](err)
	switch {
	case !ok:
	case invalid.Code == syntax.ErrMissingRepeatArgument:
		return `write .* for any text, and \. for a dot`
	case invalid.Code == syntax.ErrInvalidPerlOp, invalid.Code == syntax.ErrInvalidEscape:
		return "RE2 has no lookaround and no backreferences: use several matches"
	case invalid.Code == syntax.ErrInvalidRepeatSize:
		return "repeat at most 1000 times"
	}
	return "correct the expression, or use a match without one"
}
