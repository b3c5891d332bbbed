package compat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Cluster is what came of all releases of the Gateway API on one API server.
type Cluster struct {
	Kubernetes string
	Results    []*Result
}

const intro = `# Compatibility

<!-- Written by make compat: run it to change this page. -->

gammaguard works with the releases of the Gateway API from v1.0, in both channels, on Kubernetes 1.30 and newer. You can install, upgrade,
and remove CRDs while it runs: gammaguard notices within seconds which kinds and versions the API server serves, without a restart.

` + "`make compat`" + ` wrote the tables below from what it tried. On the API server of each release of Kubernetes:

- The overlay ` + "`self-managed`" + ` was installed. Its policies denied a change of a grant by a user who is not a mesh admin, and a change of the
  failure policy by gammaguard's ServiceAccount, and admitted other changes by the same users.
- One process of gammaguard ran while the CRDs of each release and channel were installed in place of the previous ones.
- For each kind, in each version that a cell names, a route was admitted with the mutation ` + "`parent-group`" + `; another was denied for a
  missing grant (` + "`grant-missing`" + `), and another for a missing Service (` + "`parent-not-found`" + `).
- The status of the admitted route got an entry with the reason ` + "`NoMatchingParent`" + ` when its Service was deleted, and lost it when the Service
  was back. In between, the version that gammaguard prefers was not served, for each kind with another version that has a status.
- In the end, gammaguard was ready, and had not restarted.

A cell with ` + "`-`" + ` is a kind that the release does not serve.
`

// Page is docs/compatibility.md.
func Page(clusters []Cluster) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, cluster := range clusters {
		b.WriteString(section(cluster))
	}
	return b.String()
}

// kinds are the route kinds in the order of the columns.
var kinds = []mesh.RouteKind{mesh.HTTPRoute, mesh.GRPCRoute, mesh.TLSRoute, mesh.TCPRoute, mesh.UDPRoute}

func heading(kubernetes string) string { return "## Kubernetes " + kubernetes }

func (r Release) cells() string { return "| " + r.Version + " | " + r.Channel + " |" }

func section(cluster Cluster) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n| Gateway API | Channel |", heading(cluster.Kubernetes))
	for _, kind := range kinds {
		fmt.Fprintf(&b, " %s |", kind)
	}
	b.WriteString(" Result |\n|---|---|" + strings.Repeat("---|", len(kinds)+1) + "\n")
	reasons := map[string]bool{}
	for _, result := range cluster.Results {
		b.WriteString(result.cells())
		for _, kind := range kinds {
			cell := strings.Join(result.Versions[kind], ", ")
			if _, refused := result.Refused[definitionOf(kind)]; refused {
				cell = "refused"
			}
			b.WriteString(" " + cmp.Or(cell, "-") + " |")
		}
		outcome := "works"
		if len(result.Refused) > 0 {
			outcome = "CRDs refused by the API server; the others work"
		}
		b.WriteString(" " + outcome + " |\n")
		for name, reason := range result.Refused {
			reasons[fmt.Sprintf("- %#q of %s: %#q\n", name, result.Version, reason)] = true
		}
	}
	if len(reasons) > 0 {
		b.WriteString("\nThe API server of this release does not know what these CRDs use, and refuses them:\n\n" + strings.Join(slices.Sorted(maps.Keys(reasons)), ""))
	}
	return b.String()
}
