package truth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// text returns the page.
func text(all []*tally) string {
	var out strings.Builder
	fmt.Fprintf(&out, pageHead, *seed)
	for _, c := range all {
		kind := "every kind of route that the mesh takes, filters, timeouts"
		if c.plain {
			kind = "HTTPRoutes without filters and timeouts"
		}
		fmt.Fprintf(&out, "| %s | %s | %d | %.2f %% |\n", c.mesh.Title, kind, c.compared, 100*float64(c.agreed)/float64(c.compared))
	}
	out.WriteString("\n## What differs\n\n")
	differs := false
	for i := range meshes {
		classes, title := map[string]int{}, ""
		for _, c := range all {
			if c.mesh.Name != meshes[i].name {
				continue
			}
			title = c.mesh.Title
			for reason, requests := range c.classes {
				classes[reason] += requests
			}
		}
		for _, reason := range slices.SortedFunc(maps.Keys(classes), func(a, b string) int { return cmp.Or(classes[b]-classes[a], cmp.Compare(a, b)) }) {
			if !differs {
				out.WriteString("| mesh | requests | differ in |\n|---|---|---|\n")
				differs = true
			}
			fmt.Fprintf(&out, "| %s | %d | %s |\n", title, classes[reason], reason)
		}
	}
	if !differs {
		out.WriteString("Nothing.\n")
	}
	out.WriteString(pageHow)
	for i := range meshes {
		fmt.Fprintf(&out, "- %s: %s.\n", strings.ToUpper(string(meshes[i].name[:1]))+string(meshes[i].name[1:]), meshes[i].source)
	}
	out.WriteString(pageTail)
	return out.String()
}

const pageHead = `# What the meshes' own code says

<!-- Written by make truth; do not edit. -->

How far ` + "`trace`" + ` with ` + "`--mesh`" + ` agrees with what a mesh does, for mesh admins and contributors. The worlds follow from seed %d.

| mesh | routes | requests | agree |
|---|---|---|---|
`

const pageHow = `
## How it is measured

Random routes on a Service are translated by the mesh's own code, used as a library. The route configurations that it makes are evaluated
as Envoy's documentation describes. Each request is compared in backends and their shares, redirects, paths, hosts, headers, timeouts, and
mirrors.

`

const pageTail = `
Cilium's operator takes routes from its cache in no fixed order. Here it gets the oldest first, so that of matches that rank as high, the
oldest route's comes first; in a cluster it can be any. Where Envoy refuses the routes of a Service, ` + "`trace`" + ` says so of the requests to
the rule because of which it does; others are compared as if it did not.

## What is not compared

- TLSRoutes and TCPRoutes, retries, session persistence, CORS, and external authorization.
- Linkerd, whose control plane is written in Rust, and Kuma, whose module is not served. What is said of them was read in their sources, or
  observed in status: [Meshes](meshes.md) has the source of each fact, and says where nothing was looked at.
- The proxies themselves, and releases other than these.
`
