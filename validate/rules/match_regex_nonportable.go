package rules

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func matchRegexNonportable() *validate.Rule {
	return &validate.Rule{
		ID:    "match-regex-nonportable",
		Title: "A regular expression is outside the common subset",
		Rationale: "Proxies use different engines for regular expressions. An expression outside the subset that they share may match other requests, " +
			"or be refused, when the mesh is replaced or updated.",
		Remedy: `Write the expression without flags such as (?i), escapes such as \d, lazy quantifiers, and characters outside ASCII. [0-9] replaces \d, ` +
			"and [a-zA-Z0-9_] replaces \\w.",
		Citation: "GEP-4359, Gateway API Regex Definition: POSIX extended regular expressions with exceptions",
		Default:  validate.Audit,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Route:    checkMatchRegexNonportable,
	}
}

func checkMatchRegexNonportable(p *validate.Pass) {
	for _, expression := range p.Expressions() {
		if part := mesh.NotPortable(expression.Text); part != "" {
			p.Report(validate.Finding{
				Field:     expression.Path,
				Value:     expression.Text,
				Problem:   fmt.Sprintf("implementations read %q in a regular expression in different ways", part),
				Remedy:    "use the subset of GEP-4359",
				Reference: validate.Reference{Detail: expression.Subject + " " + expression.Text},
			})
		}
	}
}
