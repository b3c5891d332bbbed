package meshes

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// What conformance reports say of meshes is made here, and docs/meshes.md with the pages in docs/meshes.
//
//go:generate go test . -run ^TestReported$ -update
//go:generate go test . -run ^TestPage$ -update

var updatePage = flag.Bool("update", false, "write docs/meshes.md and docs/meshes")

// docs is the folder of the pages.
var docs = filepath.Join("..", "..", "docs")

// TestPage compares docs/meshes.md and the pages in docs/meshes with what is known and played
// here. With -update it writes them.
func TestPage(t *testing.T) {
	want := pages(t)
	if *updatePage {
		if err := os.RemoveAll(filepath.Join(docs, "meshes")); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(docs, "meshes"), 0o750); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	files, err := filepath.Glob(filepath.Join(docs, "meshes", "*"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range append(files, filepath.Join(docs, "meshes.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(docs, file)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/meshes.md or a page in docs/meshes is stale, run make docs (-want +got):\n%s", diff)
	}
}

// pages returns the pages by their paths in docs: the index, one of each mesh, one of the
// routes that were put to all, and one of reports to meshes.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{
		"meshes.md":         index(),
		"meshes/routes.md":  routesPage(t),
		"meshes/reports.md": reportsPage(t),
	}
	for _, p := range mesh.Profiles() {
		all[pageOf(p)] = meshPage(p)
	}
	return all
}

// pageOf returns the path of the page of a mesh.
func pageOf(p *mesh.Profile) string { return "meshes/" + string(p.Name) + ".md" }

const written = "<!-- Written by test/meshes from the profiles and from what the test plays: run make docs to change it. -->\n"

func index() string {
	var b strings.Builder
	b.WriteString("# Meshes\n\n" + written + intro)
	for _, p := range mesh.Profiles() {
		fmt.Fprintf(&b, "| [%s](%s) | `%s` | %s |\n", p.Title, pageOf(p), p.Name, p.Newest)
	}
	b.WriteString(honors)
	for _, route := range slices.Sorted(maps.Keys(forbidden)) {
		fmt.Fprintf(&b, "- `%s`: %s.\n", route, forbidden[route])
	}
	return b.String()
}

const intro = `
No mesh applies all that the specification allows. Set ` + "`mesh`" + ` in the [configuration](configuration.md), or ` + "`--mesh`" + ` on the command
line. gammaguard then reports what your mesh ignores ([mesh-unsupported](rules/mesh-unsupported.md)), and follows the mesh in
[conflicts and status](status.md). Without ` + "`mesh`" + `, gammaguard follows the specification. ` + "`gammaguard detect-mesh`" + ` proposes a value.

| Mesh | ` + "`mesh`" + ` | Newest release that the facts are about |
|---|---|---|
`

const honors = `
[What each mesh makes of 53 routes](meshes/routes.md) compares the meshes. [Upstream reports](meshes/reports.md) lists faults of meshes
that gammaguard knows.

## Releases

The facts are of November 2026, about the control planes only. Append the version that runs, as in ` + "`mesh: kuma@2.13`" + `, and gammaguard
applies what is known of that release. Without a version, it applies the first that a table lists. A newer release of a mesh may do more.
So beyond the newest release, gammaguard warns of what it would deny because of the mesh. ` + "`routeKinds`" + ` in the configuration overrides the
route kinds of the mesh.

## How to read the pages

What a mesh does with a field is one of these:

| | |
|---|---|
| honored | it does what the specification says |
| ignored | it acts as if the field were not there |
| route dropped | it does not apply the route at all |
| request fails | the requests meet an error |
| to the parent Service | the parent Service gets the requests |
| bounds the whole request | the timeout is not one of each try |
| unknown | not known; the specification is assumed |

Conformance reports are the weakest source. What is observed or read in the source counts first. A feature that no report has as
supported is unknown.

## Denied although a mesh accepts it

The specification forbids these routes, so gammaguard denies them on every mesh:

`

func meshPage(p *mesh.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n"+written+"\nWhat %s makes of routes, for mesh admins. [Meshes](../meshes.md) explains the words.\n\n%s. Newest release: %s.\n\nIn the [configuration](../configuration.md), or by `--mesh`:\n\n```yaml\nmesh: %s\n```\n\n| | %s | Source |\n|---|---|---|\n", p.Title, p.Title, p.Evidence, p.Newest, p.Name, p.Title)
	writeFact(&b, "route kinds on Services", p.RouteKinds, join)
	writeFact(&b, "consumer routes", p.ConsumerRoutes, yes("applied", "ignored"))
	writeFact(&b, "backends in other namespaces", p.ReferenceGrants, yes("need a ReferenceGrant", "need no ReferenceGrant"))
	writeFact(&b, "other parents", p.ParentKinds, join)
	writeFact(&b, "ServiceImport as a parent", p.ServiceImports, yes("applied", "ignored"))
	writeFact(&b, "`sectionName` without `port`", p.SectionNames, yes("selects the port", "ignored: the route applies to all ports"))
	writeFact(&b, "headless Service as a parent", p.HeadlessParents, yes("reported as accepted", "rejected"))
	writeFact(&b, "group `core`", p.CoreGroup, yes("taken for the empty group", "ignored"))
	writeFact(&b, "regular expressions", p.Expressions, func(d mesh.Dialect) string { return string(d) })
	writeFact(&b, "a path by regular expression ranks", p.Ranking, func(r mesh.Ranking) string { return string(r) })
	writeFact(&b, "GRPCRoutes match", p.Calls, calls)
	writeFact(&b, "`replacePrefixMatch` that is joined without regard to slashes", p.Joined, join)
	writeFact(&b, "a prefix `/a/` that URLRewrite replaces by `/`", p.WholePrefix, yes("`/a` stays as it is, and `/a//b` becomes `/b`", "`/a` becomes `/`"))
	writeFact(&b, "a redirect that replaces the whole path", p.QueryReplaced, yes("loses the query of the request", "keeps the query of the request"))
	writeFact(&b, "a parentRef without `port` selects", p.Portless, portless)
	writeFact(&b, "protocols by the name of a port without appProtocol", p.PortNames, join)
	writeFact(&b, "the routes of a Service apply", p.PortsTogether, yes("on every port that any of them selects", "on the ports that each selects"))
	writeBackends(&b, p.Backends)
	writeFact(&b, "routes with and without `port`", p.PortSplit, yes("do not merge: the oldest decides which apply", "merge"))
	writeFact(&b, "a header modifier of `Host`", p.HostModifiers, yes("a rewrite of the host, in `set`", "not supported"))
	writeFact(&b, "kind `service`", p.AnyCase, yes("taken for Service", "ignored"))
	writeFact(&b, "HTTPRoute and GRPCRoute on one port", p.Sharing, func(s mesh.Sharing) string { return sharing[s] })
	writeFact(&b, "reason of a conflict in status", p.ConflictReason, code)
	writeFact(&b, "domains of labels and annotations that count", p.Domains, join)
	writeFact(&b, "API groups", p.Groups, join)
	writeFact(&b, "control plane", p.Controller, code)
	writeFact(&b, "namespaces whose Pods are in the mesh", p.Injection, injection)
	writeFact(&b, "what overrides the routes on a Service of its name", p.Overrides, join)
	writeFields(&b, p)
	b.WriteString("\n## Known differences\n\n")
	for _, difference := range differences[p.Name] {
		fmt.Fprintf(&b, "- %s\n", difference)
	}
	return b.String()
}

var sharing = map[mesh.Sharing]string{
	mesh.SharingBySpecification: "as in the specification",
	mesh.SharingUnknown:         "both reported as accepted",
	mesh.SharingMerged:          "merged",
	mesh.SharingAcrossScopes:    "the GRPCRoute has the port, also across namespaces",
}

// differences are what is worth knowing of a mesh beyond its facts.
var differences = map[mesh.ProfileName][]string{
	mesh.Cilium: {
		"Its status writer finds entries by parentRef alone, and so rewrites those of other controllers (predicted from Cilium's source).",
		"It reports no status for a missing Service (predicted, route 02); gammaguard denies the route.",
	},
	mesh.Istio: {
		"The rules of an HTTPRoute apply on one port together with those of a GRPCRoute, although GEP-1294 ignores the HTTPRoute (observed, route 17). A match of a GRPCRoute without a method comes after all matches with a path. Upstream merges the kinds for Gateways: gateway-api#4598, istio#59222.",
		"A Service that a route names twice gets one more entry at each reconcile, until `status.parents` is full and each change fails (observed, route 33); gammaguard denies the route.",
		"Ports that do not exist, UDP ports, and headless Services are reported as accepted (observed, routes 03, 05, 08); gammaguard denies the route.",
	},
	mesh.Kuma: {
		"ExternalName Services and UDP ports are reported as accepted (observed, routes 04, 08; the same fault as kuma#18073); gammaguard denies the route.",
		"A consumer route is accepted, but its backend needs a ReferenceGrant, the parent Service included (observed, route 16).",
	},
	mesh.Linkerd: {
		"An HTTPRoute loses to a GRPCRoute of another namespace too, and to one that is being deleted (predicted, routes 27, 40). gammaguard follows it in `trace`, `diff`, `conflicts`, `describe`, and `graph`. It admits both routes with a warning.",
		"A port that does not exist is reported as accepted (predicted, route 05); gammaguard denies the route.",
	},
}

// routesPage plays the routes under each profile, and without one.
func routesPage(t *testing.T) string {
	t.Helper()
	rows := observed(t)
	routes := slices.Sorted(maps.Keys(rows))
	var b strings.Builder
	b.WriteString("# What each mesh makes of 53 routes, and what gammaguard says\n\n" + written + routesIntro)
	head, line := "| Route |", "|---|"
	said := map[mesh.ProfileName]map[string]string{}
	for _, name := range append(mesh.ProfileNames(), "") {
		said[name] = map[string]string{}
		for route, r := range play(t, routes, name) {
			_, said[name][route] = answer(r)
		}
	}
	for _, p := range mesh.Profiles() {
		head += " " + p.Title + " | gammaguard |"
		line += "---|---|"
	}
	b.WriteString(head + " no `mesh` |\n" + line + "---|\n")
	for _, route := range routes {
		fmt.Fprintf(&b, "| %s |", route)
		for _, name := range mesh.ProfileNames() {
			fmt.Fprintf(&b, " %s | %s |", rows[route][name], said[name][route])
		}
		fmt.Fprintf(&b, " %s |\n", said[""][route])
	}
	return b.String()
}

const routesIntro = `
The routes are in test/meshes/testdata. Istio and Kuma were run; the columns of Cilium and Linkerd are predictions. In a column of a mesh,
A is Accepted, R is Accepted=False, - is no status, and an empty cell is a result that was not kept. In a column of gammaguard, a test plays
the route with every namespace granted, together with the routes of the same number.

`

func reportsPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Upstream reports\n\n" + written + "\nFaults that were reported to meshes and to the Gateway API, each with a scenario that shows what gammaguard does.\n\n| Report | What | Answer of gammaguard | Scenario |\n|---|---|---|---|\n")
	for _, r := range reports {
		path := filepath.Join("test", "scenarios", "upstream", r.scenario+".txtar")
		if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
			t.Errorf("%s: %v", r.report, err)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | [%s](../../%s) |\n", r.report, r.what, r.answer, r.scenario, path)
	}
	return b.String()
}

// reports are reports to meshes about routes on Services, each with a scenario.
var reports = []struct{ report, what, answer, scenario string }{
	{"kuma#18073", "a headless parent is accepted and does nothing", "denied (`parent-headless`), also an ExternalName Service and a UDP port", "kuma-18073"},
	{"kuma#17987", "`sectionName` is ignored", "a right one gets its `port` (`parent-port`), a wrong one is denied (`parent-port-not-found`)", "kuma-17987"},
	{"istio#59204", "an HTTPRoute and a GRPCRoute on one hostname of a Gateway", "on a Service: a warning (`route-conflict`) and status; routes on Gateways never reach gammaguard", "istio-59204"},
	{"cilium#41268", "group `core` is ignored", "corrected with a warning (`parent-group`)", "cilium-41268"},
	{"gateway-api#4303", "of two equal routes no status shows which is ignored", "on a Service: a warning at admission (`route-overlap`); no status, since routes of one kind merge", "gateway-api-4303"},
	{"linkerd2#12918", "the status of a headless parent does not say why", "denied, with how to fix it (`parent-headless`)", "linkerd2-12918"},
	{"istio#55381", "a missing Service, or a missing waypoint label, has no effect", "the Service: denied (`parent-not-found`). The label: a warning (`service-not-enrolled`), with `mesh: istio`", "istio-55381"},
}

func join[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

func yes(is, isNot string) func(bool) string {
	return func(value bool) string {
		if value {
			return is
		}
		return isNot
	}
}

func code(text string) string { return "`" + text + "`" }
