package rules

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func filterHeaderRestricted() *validate.Rule {
	return &validate.Rule{
		ID:    "filter-header-restricted",
		Title: "A header modifier names Host or a pseudo header",
		Rationale: "Envoy modifies neither Host nor headers that start with a colon. It refuses the whole route configuration that contains such a " +
			"modifier and keeps the one from before, so that later changes of other routes have no effect either.",
		Remedy: "To send another host to the backend, use a URLRewrite filter with hostname. Its path field replaces the path. Responses have no Host " +
			"header: remove it from the modifier. With mesh: istio, which takes Host in set for a rewrite of the host, that finding is a warning.",
		Citation:    "Gateway API, HTTPURLRewriteFilter: hostname is the value to be used to replace the Host header value during forwarding",
		Default:     validate.Deny,
		HasWarnings: true,
		Kinds:       []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute},
		Route:       checkFilterHeaderRestricted,
	}
}

func checkFilterHeaderRestricted(p *validate.Pass) {
	headers := p.ModifiedHeaders()
	for i := range headers {
		header := &headers[i]
		pseudo := strings.HasPrefix(header.Name, ":")
		if !pseudo && !strings.EqualFold(header.Name, "Host") {
			continue
		}
		finding := validate.Finding{
			Field:     header.NamePath(),
			Value:     header.Name,
			Problem:   unmodifiable(p.Policy.Mesh),
			Remedy:    "use a URLRewrite filter instead",
			Reference: validate.Reference{Detail: fmt.Sprint(header.Response, header.Removed, strings.ToLower(header.Name))},
		}
		switch profile := p.Policy.Mesh; {
		case header.Response:
			finding.Remedy = "remove it from the filter"
		case profile != nil && profile.HostModifiers.Value && !pseudo:
			finding.Default = validate.Warn
			finding.Problem = profile.Title + " rewrites the host where Host is in set, and ignores it in add and remove; other meshes refuse it"
		}
		p.Report(finding)
	}
}

// unmodifiable describes what a proxy makes of a modifier of such a header.
func unmodifiable(profile *mesh.Profile) string {
	if profile != nil && !profile.Envoy() {
		return profile.Title + " modifies this header, and not the authority that HTTP/2 requests have in its place"
	}
	return "proxies do not modify this header: " + refused(profile)
}
