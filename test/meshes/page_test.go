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

// What conformance reports say of meshes is made here, and docs/meshes.md.
//
//go:generate go test . -run ^TestReported$ -update
//go:generate go test . -run ^TestPage$ -update

var updatePage = flag.Bool("update", false, "write docs/meshes.md")

const pagePath = "../../docs/meshes.md"

// TestPage compares docs/meshes.md with what is known and played here. With -update it
// writes it.
func TestPage(t *testing.T) {
	want := page(t)
	if *updatePage {
		if err := os.WriteFile(pagePath, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("docs/meshes.md is stale, run make docs (-want +got):\n%s", diff)
	}
}

func page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(intro)
	for _, p := range mesh.Profiles() {
		b.WriteString(section(p))
	}
	b.WriteString(routeTable(t))
	b.WriteString("\n## Denied although a mesh accepts it\n\nThe specification forbids these routes, so gammaguard denies them on every mesh:\n\n")
	for _, route := range slices.Sorted(maps.Keys(forbidden)) {
		fmt.Fprintf(&b, "- `%s`: %s.\n", route, forbidden[route])
	}
	b.WriteString(upstreamTable(t))
	return b.String()
}

const intro = `# Meshes

<!-- Written by test/meshes from the profiles and from what the test plays: run make docs to change it. -->

No mesh applies all that the specification allows. Set ` + "`mesh`" + ` in the [configuration](configuration.md), or ` + "`--mesh`" + ` on the command
line, and gammaguard reports what your mesh ignores ([mesh-unsupported](rules/mesh-unsupported.md)), and follows it in
[conflicts and status](status.md). ` + "`gammaguard detect-mesh`" + ` proposes a value. Without ` + "`mesh`" + `, gammaguard follows the specification.

The facts are of November 2026, about the control planes only. A newer release of a mesh may do more: routeKinds in the configuration
overrides the route kinds of the profile.
`

func section(p *mesh.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```yaml\nmesh: %s\n```\n\n| | %s | Source |\n|---|---|---|\n", p.Title, p.Evidence, p.Name, p.Title)
	row := func(what, value, source string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", what, value, source) }
	row("route kinds on Services", join(p.RouteKinds.Value), p.RouteKinds.Source)
	row("consumer routes", yes(p.ConsumerRoutes.Value, "applied", "ignored"), p.ConsumerRoutes.Source)
	row("backends in other namespaces", yes(p.ReferenceGrants.Value, "need a ReferenceGrant", "need no ReferenceGrant"), p.ReferenceGrants.Source)
	row("other parents", join(p.ParentKinds.Value), p.ParentKinds.Source)
	row("ServiceImport as a parent", yes(p.ServiceImports.Value, "applied", "ignored"), p.ServiceImports.Source)
	row("`sectionName` without `port`", yes(p.SectionNames.Value, "selects the port", "ignored: the route applies to all ports"), p.SectionNames.Source)
	row("headless Service as a parent", yes(p.HeadlessParents.Value, "reported as accepted", "rejected"), p.HeadlessParents.Source)
	row("group `core`", yes(p.CoreGroup.Value, "taken for the empty group", "ignored"), p.CoreGroup.Source)
	row("regular expressions", string(p.Expressions.Value), p.Expressions.Source)
	row("a header modifier of `Host`", yes(p.HostModifiers.Value, "a rewrite of the host, in `set`", "not supported"), p.HostModifiers.Source)
	row("kind `service`", yes(p.AnyCase.Value, "taken for Service", "ignored"), p.AnyCase.Source)
	row("HTTPRoute and GRPCRoute on one port", sharing[p.Sharing.Value], p.Sharing.Source)
	row("reason of a conflict in status", "`"+p.ConflictReason.Value+"`", p.ConflictReason.Source)
	row("domains of labels and annotations that count", join(p.Domains.Value), p.Domains.Source)
	row("API groups", join(p.Groups.Value), p.Groups.Source)
	row("control plane", "`"+p.Controller.Value+"`", p.Controller.Source)
	b.WriteString("\nKnown differences:\n\n")
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
		"The rule of an HTTPRoute comes before that of a GRPCRoute on one port, although GEP-1294 ignores the HTTPRoute (observed, route 17). Upstream merges the kinds for Gateways: gateway-api#4598, istio#59222.",
		"A Service that a route names twice gets one more entry at each reconcile, until `status.parents` is full and each change fails (observed, route 33); gammaguard denies the route.",
		"Ports that do not exist, UDP ports, and headless Services are reported as accepted (observed, routes 03, 05, 08); gammaguard denies the route.",
	},
	mesh.Kuma: {
		"ExternalName Services and UDP ports are reported as accepted (observed, routes 04, 08; the same fault as kuma#18073); gammaguard denies the route.",
		"A consumer route is accepted, but its backend needs a ReferenceGrant, the parent Service included (observed, route 16).",
	},
	mesh.Linkerd: {
		"An HTTPRoute loses to a GRPCRoute of another namespace too, and to one that is being deleted (predicted, routes 27, 40).",
		"A port that does not exist is reported as accepted (predicted, route 05); gammaguard denies the route.",
	},
}

// routeTable plays the routes under each profile, and without one.
func routeTable(t *testing.T) string {
	t.Helper()
	rows := observed(t)
	routes := slices.Sorted(maps.Keys(rows))
	var b strings.Builder
	b.WriteString(routesIntro)
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
## What each mesh makes of 53 routes, and what gammaguard says

The routes are in test/meshes/testdata. Istio and Kuma were run; the columns of Cilium and Linkerd are predictions. In a column of a mesh,
A is Accepted, R is Accepted=False, - is no status, and an empty cell is a result that was not kept. In a column of gammaguard, a test plays
the route with every namespace granted, together with the routes of the same number.

`

func upstreamTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n## Upstream reports\n\n| Report | What | Answer of gammaguard | Scenario |\n|---|---|---|---|\n")
	for _, r := range reports {
		path := filepath.Join("test", "scenarios", "upstream", r.scenario+".txtar")
		if _, err := os.Stat(filepath.Join("..", "..", path)); err != nil {
			t.Errorf("%s: %v", r.report, err)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | [%s](../%s) |\n", r.report, r.what, r.answer, r.scenario, path)
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
	{"istio#55381", "a missing Service, or a missing waypoint label, has no effect", "the Service: denied (`parent-not-found`). The label: no, since waypoints are not part of the Gateway API", "istio-55381"},
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

func yes(value bool, is, isNot string) string {
	if value {
		return is
	}
	return isNot
}
