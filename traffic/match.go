package traffic

import (
	"cmp"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// match is a match of a rule: conditions that must all hold, and its rank among
// the matches of its kind of route.
type match struct {
	conditions []condition
	// rank compares as a list: the larger one takes precedence. What its parts
	// mean depends on the kind of route.
	rank [5]int
	// byPath: the rank is an HTTPRoute's, though the match is a GRPCRoute's.
	byPath bool
}

// The parts of an HTTPRoute match's rank (Gateway API, HTTPRouteRule.matches).
const (
	byPathType = iota
	byPathLength
	byMethod
	byHeaders
	byQueryParams
)

// The path types in the order of their rank. Where a RegularExpression stands is
// up to implementations; before every prefix, as many have it, it can be reached
// even where a prefix matches every request.
const (
	prefixPath = iota
	regularPath
	exactPath
)

// anything returns the matches of a rule that looks at nothing.
func anything() []match { return []match{{}} }

// path returns the condition on the path, and nil if there is none.
func (m *match) path() *condition {
	if len(m.conditions) > 0 && m.conditions[0].dimension == pathDimension {
		return &m.conditions[0]
	}
	return nil
}

// prefix returns the path prefix that the match matched: the part that
// ReplacePrefixMatch replaces.
func (m *match) prefix() string {
	if path := m.path(); path != nil && path.operator == prefix {
		return path.text
	}
	return ""
}

func lowerHTTPMatch(in *gatewayv1.HTTPRouteMatch) match {
	var out match
	out.addPath(in.Path)
	if in.Method != nil {
		out.conditions = append(out.conditions, condition{variable: variable{dimension: methodDimension}, text: string(*in.Method)})
		out.rank[byMethod] = 1
	}
	var seen []variable
	for _, h := range in.Headers {
		v := variable{headerDimension, strings.ToLower(string(h.Name))}
		out.rank[byHeaders] += out.addNamed(&seen, v, string(value(h.Type)), h.Value)
	}
	for _, q := range in.QueryParams {
		v := variable{paramDimension, string(q.Name)}
		out.rank[byQueryParams] += out.addNamed(&seen, v, string(value(q.Type)), q.Value)
	}
	return out
}

// addPath adds the condition on the path, unless it always holds. A trailing
// slash of a prefix has no meaning (PathMatchPathPrefix), nor any length.
func (m *match) addPath(in *gatewayv1.HTTPPathMatch) {
	if in == nil {
		in = &gatewayv1.HTTPPathMatch{}
	}
	v, text := variable{dimension: pathDimension}, cmp.Or(value(in.Value), "/")
	switch cmp.Or(value(in.Type), gatewayv1.PathMatchPathPrefix) {
	case gatewayv1.PathMatchExact:
		m.rank[byPathType] = exactPath
		m.conditions = append(m.conditions, condition{variable: v, operator: exact, text: text})
	case gatewayv1.PathMatchRegularExpression:
		m.rank[byPathType] = regularPath
		m.conditions = append(m.conditions, newRegular(v, text))
	default:
		text = strings.TrimRight(text, "/")
		m.rank[byPathLength] = max(len(text), 1)
		if text != "" {
			m.conditions = append(m.conditions, condition{variable: v, operator: prefix, text: text})
		}
	}
}

// addNamed adds a condition on a header or query parameter and returns 1. Of
// conditions on one name only the first counts: for the others it returns 0.
func (m *match) addNamed(seen *[]variable, v variable, kind, text string) int {
	if slices.Contains(*seen, v) {
		return 0
	}
	*seen = append(*seen, v)
	if kind == string(gatewayv1.HeaderMatchRegularExpression) {
		m.conditions = append(m.conditions, newRegular(v, text))
	} else {
		m.conditions = append(m.conditions, condition{variable: v, text: text})
	}
	return 1
}

// The parts of a GRPCRoute match's rank (Gateway API, GRPCRouteRule.matches).
const (
	byService = iota
	byRPC
	byMetadata
)

func lowerGRPCMatch(in *gatewayv1.GRPCRouteMatch) match {
	var out match
	if method := in.Method; method != nil {
		add := func(d dimension, text string) int {
			var seen []variable
			if text != "" {
				out.addNamed(&seen, variable{dimension: d}, string(value(method.Type)), text)
			}
			return len(text)
		}
		out.rank[byService] = add(serviceDimension, value(method.Service))
		out.rank[byRPC] = add(rpcDimension, value(method.Method))
	}
	var seen []variable
	for _, h := range in.Headers {
		v := variable{headerDimension, strings.ToLower(string(h.Name))}
		out.rank[byMetadata] += out.addNamed(&seen, v, string(value(h.Type)), h.Value)
	}
	return out
}

// rankedByPath returns a GRPCRoute's match ranked as an HTTPRoute's would be that looks
// for the same requests by their path.
func (m *match) rankedByPath() *match {
	out := *m
	out.byPath, out.rank = true, [5]int{byHeaders: m.rank[byMetadata]}
	var service, method string
	for i := range m.conditions {
		c := &m.conditions[i]
		switch {
		case c.operator == regular && (c.dimension == serviceDimension || c.dimension == rpcDimension):
			out.rank[byPathType] = regularPath
			return &out
		case c.dimension == serviceDimension:
			service = c.text
		case c.dimension == rpcDimension:
			method = c.text
		}
	}
	switch {
	case service != "" && method != "":
		out.rank[byPathType] = exactPath
	case method != "":
		out.rank[byPathType] = regularPath
	default:
		out.rank[byPathLength] = 1 + len(service)
	}
	return &out
}

// lowerHostnames returns a match for each server name; the one that says most
// takes precedence, an exact one before a wildcard.
func lowerHostnames(hostnames []gatewayv1.Hostname) []match {
	if len(hostnames) == 0 {
		return anything()
	}
	var out []match
	for _, hostname := range hostnames {
		text := strings.ToLower(string(hostname))
		c := condition{variable: variable{dimension: sniDimension}, operator: exact, text: text}
		rank := [5]int{1, len(text)}
		if under, wildcard := strings.CutPrefix(text, "*."); wildcard {
			c.operator, c.text = below, "."+under
			rank[0] = 0
		}
		out = append(out, match{conditions: []condition{c}, rank: rank})
	}
	return out
}

// holds reports whether the request meets every condition.
func (m *match) holds(r *Request) bool { return m.firstMiss(r) == nil }

// firstMiss returns the first condition that the request does not meet.
func (m *match) firstMiss(r *Request) *condition {
	for i := range m.conditions {
		c := &m.conditions[i]
		if v, ok := r.value(c.variable); !ok || !c.holds(v) {
			return c
		}
	}
	return nil
}
