package meshes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// portless describes the ports that a parentRef without port selects.
func portless(protocols map[mesh.RouteKind]string) string {
	if len(protocols) == 0 {
		return "all ports"
	}
	texts := []string{}
	for _, kind := range slices.Sorted(maps.Keys(protocols)) {
		texts = append(texts, fmt.Sprintf("ports with `appProtocol: %s` for %ss", protocols[kind], kind))
	}
	return strings.Join(texts, ", ")
}

// writeBackends writes a row for each way in which the mesh reads backendRefs unlike the specification.
func writeBackends(b *strings.Builder, fact mesh.Fact[mesh.Backends]) {
	for _, f := range slices.Concat([]mesh.Fact[mesh.Backends]{fact}, fact.Others) {
		f.Others = nil
		if f.Value == (mesh.Backends{}) {
			writeFact(b, "backendRefs", f, func(mesh.Backends) string { return "as in the specification" })
		}
		for _, part := range []struct {
			is         bool
			what, text string
		}{
			{f.Value.LeavesOut, "a backendRef that is missing or not permitted", "is left out, and the others get its requests"},
			{f.Value.OnlyOne, "the weight of the only backendRef of a rule", "does not count, also 0"},
			{f.Value.MergesEqual, "backendRefs of equal matches of several routes", "are merged, and one counts once for each port of its route"},
			{f.Value.ZeroRefused, "several backendRefs that all have weight 0", "the proxies keep the former routes of the whole Service"},
			{f.Value.WholePercents, "the part of the requests that a RequestMirror copies", "is rounded down to percents"},
			{f.Value.ByName, "the last filter of one of several backendRefs", "applies to all of the rule that name its Service and port"},
		} {
			if part.is {
				writeFact(b, part.what, f, func(mesh.Backends) string { return part.text })
			}
		}
	}
}

// calls describes what GRPCRoutes match.
func calls(c mesh.Calls) string {
	if c.AnyService == "" {
		return "gRPC requests"
	}
	return "requests by path, also those that are not gRPC"
}
