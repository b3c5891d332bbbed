package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// checkPortsShared reports the ports that the route shares with routes of another kind
// on a mesh that merges them, and those that it shares with any route since the mesh applies
// both there, while only one of them selects the port.
func checkPortsShared(p *validate.Pass, parent *validate.Parent) {
	profile := p.Policy.Mesh
	if !profile.Shares(mesh.SharingMerged) {
		return
	}
	own := p.Attached()
	foreign := func(route *mesh.AttachedRoute) bool { return route.Kind != own.Kind }
	var (
		shared, joined         []mesh.PortScope
		sharedWith, joinedWith *mesh.AttachedRoute
	)
	for at, owner := range p.Owned(parent) {
		if !owner.Has(own) {
			continue
		}
		selecting := owner.Selecting()
		selects := slices.ContainsFunc(selecting, own.Same)
		if other := slices.IndexFunc(selecting, foreign); other >= 0 && selects {
			shared, sharedWith = append(shared, at), cmp.Or(sharedWith, selecting[other])
		} else if other := slices.IndexFunc(owner.Routes, func(route *mesh.AttachedRoute) bool {
			return !route.Same(own) && slices.ContainsFunc(selecting, route.Same) != selects
		}); other >= 0 {
			joined, joinedWith = append(joined, at), cmp.Or(joinedWith, owner.Routes[other])
		}
	}
	report := func(ports []mesh.PortScope, with *mesh.AttachedRoute, why, remedy string) {
		if with != nil {
			p.Report(validate.Finding{
				Field: parent.Path(""), Value: parent.Ref.Name, Reference: parent.Reference(),
				Problem: fmt.Sprintf("this %s shares %s of %s with %s; %s ", own.Kind, portsNamed(portNumbers(ports)), parent.Key, with, profile.Title) + why,
				Remedy:  remedy,
			})
		}
	}
	remedy := separate(profile, false)
	if profile.PortsTogether.Value {
		remedy = "use another Service, or one route kind"
	}
	report(shared, sharedWith, "merges them, and GEP-1294 ignores the HTTPRoute", remedy)
	report(joined, joinedWith, "applies a Service's routes on every port that any selects, unlike GEP-1294", "use another Service")
}

// checkPortsSplit reports the ports on which the mesh applies either the routes whose parentRef
// has a port or those whose has none.
func checkPortsSplit(p *validate.Pass, parent *validate.Parent) {
	if !p.Policy.Mesh.SplitsByPort() {
		return
	}
	own := p.Attached()
	type pair struct{ winner, loser *mesh.AttachedRoute }
	var pairs []pair
	split, known := map[pair][]mesh.PortScope{}, map[pair]bool{}
	for at, owner := range p.Owned(parent) {
		of := pair{owner.Routes[0], own}
		switch {
		case slices.ContainsFunc(owner.Split, own.Same):
		case len(owner.Split) > 0 && slices.ContainsFunc(owner.Routes, own.Same):
			of = pair{own, owner.Split[0]}
		default:
			continue
		}
		if split[of] == nil {
			pairs, known[of] = append(pairs, of), true
		}
		split[of], known[of] = append(split[of], at), known[of] && owner.SplitKnown()
	}
	for _, of := range pairs {
		where := fmt.Sprintf("%s of %s", portsNamed(portNumbers(split[of])), parent.Key)
		lost := fmt.Sprintf("%s gets no requests to %s, but %s does", of.loser, where, of.winner)
		if !known[of] {
			lost = fmt.Sprintf("either %s or %s gets no requests to %s", of.loser, of.winner, where)
		}
		p.Report(validate.Finding{
			Field: parent.Path("port"), Value: strconv.Itoa(int(parent.Ref.Port)), Reference: parent.Reference(),
			Problem: fmt.Sprintf("%s: %s does not merge routes with and without port", lost, p.Policy.Mesh.Title),
			Remedy:  "set port in all, or in none",
		})
	}
}

// checkOtherScopes reports a route of another scope and kind on the same port, on a mesh
// that has them compete.
func checkOtherScopes(p *validate.Pass, parent *validate.Parent) {
	if !p.Policy.Mesh.Shares(mesh.SharingAcrossScopes) || len(parent.Ports) == 0 || p.Policy.Ignores(p.Attached(), parent.Key) {
		return
	}
	owners := p.OwnersAmong(parent.Key, "")
	own := p.Attached()
	for _, port := range parent.Ports {
		at := parent.At(port)
		var others []*mesh.Owner
		for there, owner := range owners {
			if there.Port == at.Port && there.Protocol == at.Protocol && there.Scope != at.Scope && owner.Kind != own.Kind {
				others = append(others, owner)
			}
		}
		if len(others) == 0 {
			continue
		}
		other := slices.MinFunc(others, func(a, b *mesh.Owner) int {
			if a.Kind != b.Kind && a.Kind.Beats(b.Kind) {
				return -1
			}
			if a.Kind != b.Kind {
				return 1
			}
			return a.Routes[0].CompareAge(b.Routes[0])
		}).Routes[0]
		winner, loser := other, own
		if own.Kind.Beats(other.Kind) {
			winner, loser = own, other
		}
		p.Report(validate.Finding{
			Field: parent.Path(""), Value: parent.Ref.Name, Reference: parent.Reference(),
			Problem: fmt.Sprintf("%s takes port %d of %s from %s; %s compares producer and consumer routes, unlike GEP-1294",
				winner, at.Port, parent.Key, loser, p.Policy.Mesh.Title),
			Remedy: "use another port, or one route kind",
		})
		return
	}
}
