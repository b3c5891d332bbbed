package mesh

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Field is a field of routes, or a filter, or a case that the specification decides, which
// meshes treat differently.
type Field string

// The fields that are not filters. GRPCMethodExpression is a match of the method that is a regular expression. The last two are cases: a rule
// without backendRefs, and a request that no rule matches.
const (
	RequestTimeout        Field = "timeouts.request"
	BackendRequestTimeout Field = "timeouts.backendRequest"
	Retry                 Field = "retry"
	SessionPersistence    Field = "sessionPersistence"
	HostnamesField        Field = "hostnames"
	GRPCMethodExpression  Field = "matches.method: RegularExpression"
	NoBackendRefs         Field = "no backendRefs"
	NoMatch               Field = "no match"
)

// The types of filters.
const (
	RequestHeaderModifierFilter  = "RequestHeaderModifier"
	ResponseHeaderModifierFilter = "ResponseHeaderModifier"
	RequestMirrorFilter          = "RequestMirror"
	RequestRedirectFilter        = "RequestRedirect"
	URLRewriteFilter             = "URLRewrite"
	CORSFilter                   = "CORS"
	ExternalAuthFilter           = "ExternalAuth"
	ExtensionRefFilter           = "ExtensionRef"
)

// RuleFilter is a filter of that type on a rule.
func RuleFilter(kind string) Field { return Field(ruleFilters + kind) }

// BackendFilter is a filter of that type on a backendRef.
func BackendFilter(kind string) Field { return Field(backendFilters + kind) }

const (
	ruleFilters    = "filters: "
	backendFilters = "backendRefs.filters: "
)

// Noun reads "retry", "a CORS filter", "a CORS filter on a backendRef", or "a method match by RegularExpression".
func (f Field) Noun() string {
	article := func(kind string) string {
		if strings.HasPrefix(kind, "E") {
			return "an " + kind + " filter"
		}
		return "a " + kind + " filter"
	}
	if kind, on := strings.CutPrefix(string(f), ruleFilters); on {
		return article(kind)
	}
	if kind, on := strings.CutPrefix(string(f), backendFilters); on {
		return article(kind) + " on a backendRef"
	}
	if f == GRPCMethodExpression {
		return "a method match by RegularExpression"
	}
	return string(f)
}

// FieldsOf returns the fields that routes of the kind can have, and the cases that can occur.
func FieldsOf(kind RouteKind) []Field {
	filters := []string{RequestHeaderModifierFilter, ResponseHeaderModifierFilter, RequestMirrorFilter, ExtensionRefFilter}
	var fields []Field
	switch kind {
	case HTTPRoute:
		fields = []Field{HostnamesField, NoMatch, NoBackendRefs, RequestTimeout, BackendRequestTimeout, Retry, SessionPersistence}
		filters = append(filters[:3], RequestRedirectFilter, URLRewriteFilter, CORSFilter, ExternalAuthFilter, ExtensionRefFilter)
	case GRPCRoute:
		fields = []Field{HostnamesField, GRPCMethodExpression, NoMatch, NoBackendRefs, SessionPersistence}
	case TLSRoute:
		return []Field{HostnamesField, NoBackendRefs}
	default:
		return []Field{NoBackendRefs}
	}
	for _, of := range []func(string) Field{RuleFilter, BackendFilter} {
		for _, filter := range filters {
			fields = append(fields, of(filter))
		}
	}
	return fields
}

// Treatment is what a mesh does with a field of a route that it accepts.
type Treatment string

// What a mesh does with a field.
const (
	// UnknownTreatment: it is not known. What the specification says is assumed.
	UnknownTreatment Treatment = "unknown"
	// Honored: it does what the specification says.
	Honored Treatment = "honored"
	// Ignored: it acts as if the field were not there.
	Ignored Treatment = "ignored"
	// RouteDropped: it does not apply the route at all.
	RouteDropped Treatment = "route dropped"
	// RequestFails: the requests that the rule matches, or that the backendRef gets, meet an
	// error.
	RequestFails Treatment = "request fails"
	// ToParent: the parent Service gets the requests.
	ToParent Treatment = "to the parent Service"
	// BoundsRequest: the timeout is one of the whole request; the shortest counts.
	BoundsRequest Treatment = "bounds the whole request"
	// BoundsRequestWithoutRetry: in a rule without retry, the timeout is that of the whole request,
	// in place of timeouts.request.
	BoundsRequestWithoutRetry Treatment = "bounds the whole request, in a rule without retry"
)

// Evidence is how well a fact is known: the larger beats the smaller.
type Evidence uint8

// Kinds of evidence.
const (
	// Silence: a conformance report does not list the feature as supported.
	Silence Evidence = iota
	// Reported: a conformance report lists it as supported. Reports for a Gateway and a mesh
	// of one project may claim it for the Gateway alone.
	Reported
	// Read in the source.
	ReadInSource
	// Observed: the control plane was run.
	Observed
)

// FieldFact is what a mesh does with a field.
type FieldFact struct {
	Field Field
	// Kinds are the kinds of routes that it is about; all that have the field, if empty.
	Kinds []RouteKind
	Fact[Treatment]
	Evidence Evidence
	// Instead is what does the same in this mesh; empty if nothing is known to.
	Instead string
}

// about reports whether the fact is about the field on routes of the kind.
func (f *FieldFact) about(kind RouteKind, field Field) bool {
	return f.Field == field && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind))
}

// Does answers what the mesh does with the field of a route of the kind: by the best evidence
// there is for its release, and by the specification for a nil profile.
func (p *Profile) Does(kind RouteKind, field Field) FieldFact {
	if p == nil {
		return FieldFact{Field: field, Fact: fact(specified(field), "Gateway API")}
	}
	best := FieldFact{Field: field, Fact: fact(UnknownTreatment, "not looked at")}
	found := false
	for i := range p.Fields {
		f := &p.Fields[i]
		if f.about(kind, field) && p.release.within(f.Since, f.Until) && (!found || f.Evidence > best.Evidence) {
			best, found = *f, true
		}
	}
	return best
}

// specified returns what the specification says of the field.
func specified(field Field) Treatment {
	switch field {
	case HostnamesField: // GEP-1294, hostnames field
		return Ignored
	case NoBackendRefs, NoMatch: // GEP-1294, Route presence; HTTPRouteRule.backendRefs
		return RequestFails
	}
	return Honored
}

// Use is a field that a rule of a route sets, and its place.
type Use struct {
	Field Field
	// Rule is the index of the rule.
	Rule int
	// match, backend, and filter are indices, or -1.
	match, backend, filter int
}

// Path returns the field path: "spec.rules[0].filters[1]".
func (u *Use) Path() string {
	path := "spec.rules[" + strconv.Itoa(u.Rule) + "]"
	if u.match >= 0 {
		return path + ".matches[" + strconv.Itoa(u.match) + "].method"
	}
	if u.backend >= 0 {
		path += ".backendRefs[" + strconv.Itoa(u.backend) + "]"
	}
	if u.filter >= 0 {
		return path + ".filters[" + strconv.Itoa(u.filter) + "]"
	}
	return path + "." + string(u.Field)
}

// Uses yields the fields that the rules of the route set and that a mesh may treat in a way of
// its own.
func (r *Route) Uses() iter.Seq[Use] {
	return func(yield func(Use) bool) {
		for i := range r.Spec.Rules {
			if !r.Spec.Rules[i].uses(i, yield) {
				return
			}
		}
	}
}

func (r *RouteRule) uses(rule int, yield func(Use) bool) bool {
	set := func(is bool, field Field) bool { return !is || yield(Use{field, rule, -1, -1, -1}) }
	if !set(r.Timeouts != nil && r.Timeouts.Request != "", RequestTimeout) ||
		!set(r.Timeouts != nil && r.Timeouts.BackendRequest != "", BackendRequestTimeout) ||
		!set(r.Retry != nil, Retry) || !set(r.SessionPersistence != nil, SessionPersistence) {
		return false
	}
	for i := range r.Matches {
		if method := r.Matches[i].Method; method != nil && method.Type == RegularExpression && !yield(Use{GRPCMethodExpression, rule, i, -1, -1}) {
			return false
		}
	}
	for i := range r.Filters {
		if !yield(Use{RuleFilter(r.Filters[i].Type), rule, -1, -1, i}) {
			return false
		}
	}
	for i := range r.BackendRefs {
		for j := range r.BackendRefs[i].Filters {
			if !yield(Use{BackendFilter(r.BackendRefs[i].Filters[j].Type), rule, -1, i, j}) {
				return false
			}
		}
	}
	return true
}

// FilterOf returns the filter of a use; nil where it is not one.
func (r *Route) FilterOf(u *Use) *Filter {
	rule := &r.Spec.Rules[u.Rule]
	switch {
	case u.filter < 0:
		return nil
	case u.backend >= 0:
		return &rule.BackendRefs[u.backend].Filters[u.filter]
	}
	return &rule.Filters[u.filter]
}

// Prefix returns the path prefix that ReplacePrefixMatch replaces, without a slash at its end
// unless it is all of the path.
func (r *RouteRule) Prefix() string {
	if len(r.Matches) == 0 || r.Matches[0].Path == nil || r.Matches[0].Path.condition().Type != PathPrefix {
		return "/"
	}
	return cmp.Or(r.Matches[0].Path.condition().Text, "/")
}

// DroppedBy returns the first field for which the mesh of the profile does not apply the route at
// all. It is empty if the mesh does, or if there is no profile.
func (r *Route) DroppedBy(profile *Profile) Field {
	if profile == nil {
		return ""
	}
	for use := range r.Uses() {
		if profile.Does(r.Kind, use.Field).Value == RouteDropped {
			return use.Field
		}
	}
	return ""
}
