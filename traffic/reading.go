package traffic

import (
	"fmt"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// reading is how a mesh reads the fields of a rule.
type reading struct {
	profile *mesh.Profile
	kind    mesh.RouteKind
	// fails says why the mesh answers the requests with an error; empty if it does not.
	fails string
	// notes say what it ignores, and what is not known.
	notes []string
}

// filters returns the filters that the mesh applies. If it answers requests with an error because
// of one, it says why in fails.
func (m *reading) filters(filters []mesh.Filter, on func(string) mesh.Field, fails *string) []mesh.Filter {
	if m.profile == nil {
		return filters
	}
	var applied []mesh.Filter
	for i := range filters {
		field := on(filters[i].Type)
		if m.profile.Does(m.kind, field).Value == mesh.RequestFails {
			*fails = fmt.Sprintf("%s does not support %s", m.profile.Title, field.Noun())
		}
		if m.reads(field, true) {
			applied = append(applied, filters[i])
		}
	}
	return applied
}

// settings returns the rule with those of its fields, besides filters, that the mesh reads.
func (m *reading) settings(rule *mesh.RouteRule) *mesh.RouteRule {
	if m.profile == nil {
		return rule
	}
	out := *rule
	if rule.Timeouts != nil {
		timeouts := *rule.Timeouts
		out.Timeouts = &timeouts
		if !m.reads(mesh.RequestTimeout, timeouts.Request != "") {
			timeouts.Request = ""
		}
		if !m.reads(mesh.BackendRequestTimeout, timeouts.BackendRequest != "") {
			timeouts.BackendRequest = ""
		}
	}
	if !m.reads(mesh.Retry, rule.Retry != nil) {
		out.Retry = nil
	}
	if !m.reads(mesh.SessionPersistence, rule.SessionPersistence != nil) {
		out.SessionPersistence = nil
	}
	return &out
}

// reads reports whether the mesh acts by the field, and notes what is worth knowing of one
// that is set.
func (m *reading) reads(field mesh.Field, set bool) bool {
	does, noun := m.profile.Does(m.kind, field), printable.Text(field.Noun())
	switch {
	case !set:
	case does.Value == mesh.Ignored && does.Instead != "":
		m.notes = append(m.notes, fmt.Sprintf("%s ignores %s; use %s", m.profile.Title, noun, does.Instead))
	case does.Value == mesh.Ignored:
		m.notes = append(m.notes, fmt.Sprintf("%s ignores %s", m.profile.Title, noun))
	case does.Value == mesh.UnknownTreatment:
		m.notes = append(m.notes, fmt.Sprintf("it is not known whether %s applies %s", m.profile.Title, noun))
	}
	return does.Value != mesh.Ignored
}
