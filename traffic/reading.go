package traffic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
		m.bound(&timeouts, rule.Retry != nil)
	}
	m.reads(mesh.GRPCMethodExpression, slices.ContainsFunc(rule.Matches, func(match mesh.RouteMatch) bool {
		return match.Method != nil && match.Method.Type == mesh.RegularExpression
	}))
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
		m.notes = append(m.notes, fmt.Sprintf("%s ignores %s"+instead+"%s", m.profile.Title, noun, does.Instead))
	case does.Value == mesh.Ignored:
		m.notes = append(m.notes, fmt.Sprintf("%s ignores %s", m.profile.Title, noun))
	case does.Value == mesh.UnknownTreatment:
		m.notes = append(m.notes, fmt.Sprintf("it is not known whether %s applies %s", m.profile.Title, noun))
	}
	return does.Value != mesh.Ignored
}

// bound makes the timeout of a try that of the whole request, where the mesh does.
func (m *reading) bound(timeouts *mesh.Timeouts, retry bool) {
	does := m.profile.Does(m.kind, mesh.BackendRequestTimeout).Value
	try := timeouts.BackendRequest
	if try == "" || does != mesh.BoundsRequest && does != mesh.BoundsRequestWithoutRetry {
		return
	}
	zero := isZero(try)
	switch {
	case does == mesh.BoundsRequestWithoutRetry && (retry || zero):
		if zero {
			timeouts.BackendRequest = ""
		}
		return
	case does == mesh.BoundsRequestWithoutRetry, zero, timeouts.Request == "" || shorter(try, timeouts.Request):
		timeouts.Request = try
	}
	timeouts.BackendRequest = ""
	m.notes = append(m.notes, m.profile.Title+" bounds the whole request by timeouts.backendRequest")
}

// isZero reports whether that is the duration zero, which is no bound.
func isZero(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d == 0
}

// shorter reports whether the first duration is shorter than the other one.
func shorter(a, b string) bool {
	x, err := time.ParseDuration(a)
	y, err2 := time.ParseDuration(b)
	return err == nil && err2 == nil && x < y
}

// replace returns the change of a path by a filter of that type, where the match matched a prefix.
func (m *reading) replace(filter string, path *PathChange, of *match) *PathChange {
	if path == nil || !path.ofMatch {
		return path
	}
	out := &PathChange{Prefix: cmp.Or(of.prefix(), "/")}
	if out.Replacement, out.Joined = m.profile.Join(filter, out.Prefix, path.Replacement); out.Replacement == "" {
		return nil
	}
	if of.slashed && m.profile.Whole(filter, out.Replacement) {
		out.Prefix, out.Whole = of.prefix()+"/", true
	}
	return out
}

// joined returns a note on a path whose new prefix the mesh joins as it is, or which it leaves as it is
// for the lack of a slash.
func (m *reading) joined(path *PathChange) []string {
	if path != nil && path.Whole && path.Prefix != "/" {
		return []string{fmt.Sprintf("%s leaves the path %s as it is: match and replace it without the slash at the end", m.profile.Title, strings.TrimSuffix(path.Prefix, "/"))}
	}
	if path != nil && path.Joined {
		return []string{fmt.Sprintf("%s joins the new prefix and the rest of the path as they are: %s becomes %s", m.profile.Title, strings.TrimSuffix(path.Prefix, "/")+"/a", path.Apply(strings.TrimSuffix(path.Prefix, "/")+"/a"))}
	}
	return nil
}

// slashed reports whether the match is one of a prefix that is written with a slash at the end, as that of
// every path is.
func slashed(rule *mesh.RouteRule, match int) bool {
	if match >= len(rule.Matches) || rule.Matches[match].Path == nil {
		return true
	}
	return strings.HasSuffix(cmp.Or(rule.Matches[match].Path.Value, "/"), "/")
}

// written returns a text that is equal for matches that are written alike, where the mesh merges
// their backends. A redirect to another scheme makes a difference too.
func (m *reading) written(rule *mesh.RouteRule, match int, conditions []mesh.Condition) string {
	if !m.profile.ReadsBackends().MergesEqual {
		return ""
	}
	var texts []string
	for i := range conditions {
		texts = append(texts, fmt.Sprintf("%s %s %s", conditions[i].Subject, conditions[i].Type, conditions[i].Text))
	}
	if match < len(rule.Matches) {
		for _, values := range [][]mesh.ValueMatch{rule.Matches[match].Headers, rule.Matches[match].QueryParams} {
			for i := range values {
				texts = append(texts, values[i].Name)
			}
		}
		if path := rule.Matches[match].Path; path != nil && path.Type != mesh.Exact && path.Type != mesh.RegularExpression {
			texts = append(texts, cmp.Or(path.Value, "/"))
		}
	}
	for i := range rule.Filters {
		if redirect := rule.Filters[i].RequestRedirect; redirect != nil && redirect.Scheme != "" {
			texts = append(texts, "redirect")
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}
