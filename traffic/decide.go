package traffic

import (
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// decide returns the first match that holds for the request, or nil.
func (pr *portRoutes) decide(r *Request) *entry {
	for i := range pr.entries {
		if pr.entries[i].reads(r) && pr.entries[i].holds(r) {
			return &pr.entries[i]
		}
	}
	return nil
}

// outcomeOf returns what becomes of requests that the match decides; nil stands for
// none.
func (t *Table) outcomeOf(pr *portRoutes, e *entry) (Outcome, caveats, error) {
	switch {
	case e != nil:
		return t.outcome(pr, e)
	case pr.kind == "":
		out, err := t.unrouted(pr)
		return out, caveats{}, err
	}
	kind := pr.kind
	if len(pr.owner.Of(mesh.HTTPRoute)) > 0 { // merged with it
		kind = mesh.HTTPRoute
	}
	profile, known := t.engine.Policy().Mesh, caveats{}
	switch profile.Does(kind, mesh.NoMatch).Value {
	case mesh.ToParent:
		out := forwarded(backendName(pr.service.Key, pr.port.Number))
		out.Shares[0].Reason = "no rule matches"
		return out, known, nil
	case mesh.UnknownTreatment:
		known.backends = []string{fmt.Sprintf("it is not known what %s does with requests that no rule of any %s matches", profile.Title, kind)}
	}
	return failed(noMatch, kind, "no rule matches"), known, nil
}

// unrouted returns what becomes of requests to a port without routes: they go to the Service itself, or to the host that it is an alias of.
func (t *Table) unrouted(pr *portRoutes) (Outcome, error) {
	if pr.service.Type == mesh.ExternalName {
		out := forwarded("host " + printable.Text(pr.service.Alias))
		out.Shares[0].Reason = pr.service.Key.String() + " is of type ExternalName"
		return out, nil
	}
	out := forwarded(backendName(pr.service.Key, pr.port.Number))
	has, err := mesh.HasEndpoints(t.reader, pr.service.Key)
	switch {
	case errors.Is(err, mesh.ErrUnknown):
	case err != nil:
		return Outcome{}, fmt.Errorf("endpoints of %s: %w", pr.service.Key, err)
	case !has:
		out.Shares[0].Reason = "it has no endpoints"
	}
	return out, nil
}

// doubts says what the choice of the match for the request depends on, where
// implementations may differ or the input does not say.
func (t *Table) doubts(pr *portRoutes, r *Request, chosen *entry) ([]string, error) {
	var notes []string
	if split := t.splitDoubt(pr); split != "" {
		notes = append(notes, split)
	}
	chosenOutcome, _, err := t.outcomeOf(pr, chosen)
	if err != nil {
		return nil, err
	}
	before := true
	for i := range pr.entries {
		e := &pr.entries[i]
		if !e.reads(r) {
			continue
		}
		if e == chosen {
			notes = append(notes, e.undecided(r)...)
			before = false
			continue
		}
		doubt := e.undecided(r)
		if len(doubt) == 0 && chosen != nil && e.holds(r) {
			doubt = orderDoubts(chosen, e)
		} else if !before {
			continue // it could not come first
		}
		if len(doubt) == 0 {
			continue
		}
		other, _, err := t.outcomeOf(pr, e)
		if err != nil {
			return nil, err
		}
		if other.key() != chosenOutcome.key() {
			notes = append(notes, doubt...)
		}
	}
	return notes, nil
}

// noHost is a note on a request that a user specifies.
const noHost = "the Host header of the request is not specified, and a match depends on it"

// undecided says why implementations may disagree on whether the request meets
// the match, where its other conditions hold.
func (m *match) undecided(r *Request) []string {
	var notes []string
	for i := range m.conditions {
		c := &m.conditions[i]
		v, ok := r.value(c.Subject)
		if (c.Dimension == mesh.HostDimension || c.Subject == mesh.Subject{Dimension: mesh.HeaderDimension, Name: "host"}) && !ok {
			notes = append(notes, noHost)
			continue
		}
		if doubt := c.undecided(v); ok && doubt != "" {
			notes = append(notes, doubt)
		} else if !ok || !c.holds(v) {
			return nil
		}
	}
	return notes
}

// splitDoubt says which of two routes has the port if the older one does and their age is not known; it is empty if it is known.
func (t *Table) splitDoubt(pr *portRoutes) string {
	if pr.owner == nil || pr.owner.SplitKnown() {
		return ""
	}
	return t.engine.Policy().Mesh.Title + " does not merge routes with and without port: " + ageDoubt(pr.owner.Routes[0], pr.owner.Split[0])
}

func ageDoubt(a, b *mesh.AttachedRoute) string {
	return fmt.Sprintf("the older route wins, and the age of %s and %s is not known", a, b)
}

// equals reports whether two matches rank alike, so that the older route's comes first.
func (e *entry) equals(other *entry) bool { return e.rank == other.rank && e.host == other.host }

// ageUnknown reports whether the older of two routes comes first, and it is not known which one that is.
func (e *entry) ageUnknown(other *entry) bool {
	return e.equals(other) && e.route != other.route && !e.route.OrderKnown(&other.route.AttachedRoute)
}

// orderDoubts says why another match that holds too may come before the chosen.
func orderDoubts(chosen, other *entry) []string {
	switch {
	case chosen.ageUnknown(other):
		return []string{ageDoubt(&chosen.route.AttachedRoute, &other.route.AttachedRoute)}
	case chosen.ranksByExpression() && !other.exactPath() || other.ranksByExpression() && !chosen.exactPath():
		return []string{fmt.Sprintf("%s matches too: the precedence of a RegularExpression is implementation-specific", other)}
	}
	return nil
}

// ranksByExpression reports whether the match's rank comes from a regular
// expression, whose precedence is up to implementations.
func (m *match) ranksByExpression() bool {
	for i := range m.conditions {
		switch m.conditions[i].Dimension {
		case mesh.PathDimension, mesh.GRPCServiceDimension, mesh.GRPCMethodDimension:
			if m.conditions[i].Type == mesh.RegularExpression && !m.ordered {
				return true
			}
		}
	}
	return false
}

func (m *match) exactPath() bool {
	path := m.path()
	return path != nil && path.Type == mesh.Exact
}
