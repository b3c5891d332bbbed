package mesh

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// HeaderModifier is what a RequestHeaderModifier or a ResponseHeaderModifier filter does.
type HeaderModifier struct {
	Set    []Header    `json:"set"`
	Add    []Header    `json:"add"`
	Remove HeaderNames `json:"remove"`
}

// Header is a header with a value.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// UnmarshalJSONFrom reads one of at most 16.
func (*Header) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 16) }

// HeaderNames are the names of headers.
type HeaderNames []string

// UnmarshalJSONFrom reads at most 16.
func (l *HeaderNames) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 16) }

// ModifiedHeader is a header that a modifier of a route names, and its place.
type ModifiedHeader struct {
	Header
	// Removed: the modifier removes the header, and so gives it no value.
	Removed bool
	// Response: the modifier is one of responses, not of requests.
	Response bool
	// Modifier tells the modifiers of the route apart.
	Modifier int

	// rule, backend and filter are indices; backend is -1 for a filter of the rule.
	rule, backend, filter int
	// list is "set", "add" or "remove", and index that of the header in it.
	list  string
	index int
}

// Place is where the modifier names the header: "set[0]".
func (h *ModifiedHeader) Place() string { return fmt.Sprintf("%s[%d]", h.list, h.index) }

// Path returns the path of the item: "spec.rules[0].filters[1].requestHeaderModifier.set[0]".
func (h *ModifiedHeader) Path() string {
	path := fmt.Sprintf("spec.rules[%d]", h.rule)
	if h.backend >= 0 {
		path += fmt.Sprintf(".backendRefs[%d]", h.backend)
	}
	modifier := "requestHeaderModifier"
	if h.Response {
		modifier = "responseHeaderModifier"
	}
	return fmt.Sprintf("%s.filters[%d].%s.%s", path, h.filter, modifier, h.Place())
}

// NamePath returns the path of the header's name.
func (h *ModifiedHeader) NamePath() string {
	if h.Removed {
		return h.Path()
	}
	return h.Path() + ".name"
}

// ModifiedHeaders returns the headers that the modifiers of the route's rules and of their
// backendRefs set, add and remove.
func (r *Route) ModifiedHeaders() []ModifiedHeader {
	var all []ModifiedHeader
	for i := range r.Spec.Rules {
		rule := &r.Spec.Rules[i]
		all = appendModified(all, rule.Filters, ModifiedHeader{rule: i, backend: -1})
		for j := range rule.BackendRefs {
			all = appendModified(all, rule.BackendRefs[j].Filters, ModifiedHeader{rule: i, backend: j})
		}
	}
	return all
}

// appendModified appends the headers that the filters name.
func appendModified(all []ModifiedHeader, filters []Filter, at ModifiedHeader) []ModifiedHeader {
	for i := range filters {
		at.filter, at.Response = i, false
		all = filters[i].RequestHeaderModifier.append(all, at)
		at.Response = true
		all = filters[i].ResponseHeaderModifier.append(all, at)
	}
	return all
}

func (m *HeaderModifier) append(all []ModifiedHeader, at ModifiedHeader) []ModifiedHeader {
	if m == nil {
		return all
	}
	if at.Modifier = 0; len(all) > 0 {
		at.Modifier = all[len(all)-1].Modifier + 1
	}
	all = slices.Grow(all, len(m.Set)+len(m.Add)+len(m.Remove))
	for i, h := range m.Set {
		at.Header, at.list, at.index = h, "set", i
		all = append(all, at)
	}
	for i, h := range m.Add {
		at.Header, at.list, at.index = h, "add", i
		all = append(all, at)
	}
	for i, name := range m.Remove {
		at.Header, at.list, at.index, at.Removed = Header{Name: name}, "remove", i, true
		all = append(all, at)
	}
	return all
}
