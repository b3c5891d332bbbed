package rules

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func filterHeaderValue() *validate.Rule {
	return &validate.Rule{
		ID:    "filter-header-value",
		Title: "A header modifier has a value that proxies refuse",
		Rationale: "A header value has one line. With a control character such as a newline in it, Envoy refuses the whole route configuration and " +
			"keeps the one from before. Later changes of other routes then have no effect either. In Envoy's configuration a percent sign begins a " +
			"command such as %REQ(x-id)%; one that is not a valid command has the same effect.",
		Remedy: "Write the value in one line: in YAML, use >- in place of | or >. Where a percent sign is meant, and the mesh does not escape it, leave it " +
			"out. The finding about percent signs is a warning, and is made where mesh names one with Envoy as its proxy.",
		Citation:    "Gateway API, HTTPHeader: value is the value of HTTP header to be matched or set, as in RFC 9110, section 5.5",
		Default:     validate.Deny,
		HasWarnings: true,
		Kinds:       []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Route:       checkFilterHeaderValue,
	}
}

func checkFilterHeaderValue(p *validate.Pass) {
	headers := p.ModifiedHeaders()
	for i := range headers {
		header := &headers[i]
		if control := strings.IndexFunc(header.Value, isControl); control >= 0 {
			p.Report(validate.Finding{
				Field:     header.Path() + ".value",
				Value:     header.Value,
				Problem:   fmt.Sprintf("the value has the control character %U: %s", header.Value[control], refused(p.Policy.Mesh)),
				Remedy:    "write it in one line (in YAML, >- in place of | or >)",
				Reference: validate.Reference{Detail: header.Name + " " + header.Value},
			})
		} else if p.Policy.Mesh.Envoy() && strings.Contains(strings.ReplaceAll(header.Value, "%%", ""), "%") {
			p.Report(validate.Finding{
				Field:     header.Path() + ".value",
				Value:     header.Value,
				Default:   validate.Warn,
				Problem:   "Envoy reads a percent sign as the start of a command such as %REQ(x-id)%, and refuses one that is not valid",
				Remedy:    "leave it out, or make sure that the mesh escapes it",
				Reference: validate.Reference{Detail: header.Name + " " + header.Value},
			})
		}
	}
}

// isControl reports whether a header value cannot have the character. A tab is allowed.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == '\x7f' }
