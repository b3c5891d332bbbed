package rules

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func filterHeaderDuplicate() *validate.Rule {
	return &validate.Rule{
		ID:    "filter-header-duplicate",
		Title: "A header modifier names a header twice",
		Rationale: "Names of headers have no case. The schema refuses a name that a list has twice in the same case only. Which of the entries counts, or in " +
			"which order set, add and remove act, differs among implementations.",
		Remedy:   "Keep one entry for each header. For several values in one header, write them in one entry, separated by commas.",
		Citation: "Gateway API, HTTPHeader: if multiple entries specify equivalent header names, the first entry with an equivalent name MUST be considered",
		Default:  validate.Warn,
		Kinds:    []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Route:    checkFilterHeaderDuplicate,
	}
}

func checkFilterHeaderDuplicate(p *validate.Pass) {
	headers := p.ModifiedHeaders()
	for i := range headers {
		header := &headers[i]
		// At most 48 headers of one modifier stand together.
		for j := i - 1; j >= 0 && headers[j].Modifier == header.Modifier; j-- {
			if !strings.EqualFold(headers[j].Name, header.Name) {
				continue
			}
			p.Report(validate.Finding{
				Type:      validate.Duplicate,
				Field:     header.NamePath(),
				Value:     header.Name,
				Problem:   fmt.Sprintf("the modifier names the header in %s too; which of them counts differs among implementations", headers[j].Place()),
				Remedy:    "keep one of them",
				Reference: validate.Reference{Detail: fmt.Sprint(header.Response, " ", strings.ToLower(header.Name))},
			})
			break
		}
	}
}
