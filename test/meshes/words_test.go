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

// backends describes how backendRefs are read.
func backends(b mesh.Backends) string {
	texts := []string{}
	for _, part := range []struct {
		is   bool
		text string
	}{
		{b.LeavesOut, "one that is missing or not permitted is left out, and the others get its requests"},
		{b.OnlyOne, "the weight of an only one does not count, also 0"},
		{b.MergesEqual, "those of equal matches of several routes are merged, and one counts once for each port of its route"},
		{b.ZeroRefused, "several that all have weight 0: the proxies keep the former routes of the whole Service"},
		{b.WholePercents, "the part of a RequestMirror is rounded down to percents"},
		{b.ByName, "of several, the last filter of one applies to all of its Service and port in the rule"},
	} {
		if part.is {
			texts = append(texts, part.text)
		}
	}
	if len(texts) == 0 {
		return "as in the specification"
	}
	return strings.Join(texts, "; ")
}

// calls describes what GRPCRoutes match.
func calls(c mesh.Calls) string {
	if c.AnyService == "" {
		return "gRPC requests"
	}
	return "requests by path, also those that are not gRPC"
}
