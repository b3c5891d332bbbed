package mesh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// Example describes a request for which the match at a place of an HTTPRoute or
// GRPCRoute holds: "GET /v2 with header tenant: gold". It is empty for other kinds.
func (r *Route) Example(at PlacedMatch) string {
	match := r.match(at)
	var request string
	switch r.Kind {
	case HTTPRoute:
		method := "GET"
		if match.Method != nil {
			method = match.Method.HTTP
		}
		path := match.Path.condition()
		if request = method + " " + cmp.Or(path.Text, "/"); path.Type == RegularExpression {
			request = method + " to a path that matches " + path.Text
		}
	case GRPCRoute:
		method := cmp.Or(match.Method, &MethodMatch{})
		if request = grpcCall(cmp.Or(method.Service, otherService), cmp.Or(method.Method, otherCall)); method.Type == RegularExpression {
			request = strings.Replace(request, " of ", " that matches ", 1)
		}
	default:
		return ""
	}
	conditions := slices.Concat(examplesOf("header", ": ", match.Headers), examplesOf("query parameter", "=", match.QueryParams))
	switch len(conditions) {
	case 0:
	case 1:
		request += " with " + conditions[0]
	default:
		request += fmt.Sprintf(" with %s and %d more", conditions[0], len(conditions)-1)
	}
	return shortened(printable.Text(request))
}

func examplesOf(what, is string, values []ValueMatch) []string {
	var texts []string
	for _, v := range values {
		if v.Type == RegularExpression {
			texts = append(texts, what+" "+v.Name+" that matches "+v.Value)
		} else {
			texts = append(texts, what+" "+v.Name+is+v.Value)
		}
	}
	return texts
}

// longestExample is how many characters of a request are shown.
const longestExample = 60

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= longestExample {
		return text
	}
	return string([]rune(text)[:longestExample-3]) + "..."
}

// maxExampleRoutes is how many routes unmatched looks at: it is asked for each route on a Service.
const maxExampleRoutes = 256

// unmatched describes a request for which no match of the routes holds: "GET /". The
// routes are all of one kind, HTTPRoute or GRPCRoute. It is empty where that cannot
// be told, since only keys of matches are known, and where there are more than 256 routes.
func unmatched(routes []*AttachedRoute) string {
	if len(routes) == 0 || len(routes) > maxExampleRoutes || slices.ContainsFunc(routes, func(r *AttachedRoute) bool { return r.Regular }) {
		return ""
	}
	for _, request := range plainRequests[routes[0].Kind] {
		if !slices.ContainsFunc(routes, func(r *AttachedRoute) bool { return slices.ContainsFunc(r.Matches, request.matchedBy) }) {
			return request.text
		}
	}
	return ""
}

// Matched describes a request for which a match of the route holds: "GET /". It is empty where
// that cannot be told from the keys of its matches.
func (a *AttachedRoute) Matched() string {
	for _, request := range plainRequests[a.Kind] {
		if slices.ContainsFunc(a.Matches, request.matchedBy) {
			return request.text
		}
	}
	return ""
}

// plainRequest is a request without headers and query parameters.
type plainRequest struct {
	text string
	// matches are the keys of all matches without regular expressions that hold for it.
	matches []MatchKey
}

func (r *plainRequest) matchedBy(key MatchKey) bool { return slices.Contains(r.matches, key) }

// plainRequests are the requests that unmatched and Matched look at.
var plainRequests = map[RouteKind][]*plainRequest{
	HTTPRoute: {httpRequest("GET", "/"), httpRequest("POST", "/"), httpRequest("GET", "/other"), httpRequest("POST", "/other")},
	GRPCRoute: {grpcRequest(otherService, otherCall)},
}

func httpRequest(method, path string) *plainRequest {
	request, route := &plainRequest{text: method + " " + path}, &Route{Kind: HTTPRoute}
	for _, path := range []*PathMatch{{Value: "/"}, {Value: path}, {Type: Exact, Value: path}} {
		request.matches = append(request.matches,
			route.matchKey(&RouteMatch{Path: path}, nil), route.matchKey(&RouteMatch{Path: path, Method: &MethodMatch{HTTP: method}}, nil))
	}
	return request
}

// The gRPC method of a request that may have any.
const (
	otherService = "example.Other"
	otherCall    = "Call"
)

func grpcRequest(service, method string) *plainRequest {
	request, route := &plainRequest{text: grpcCall(service, method)}, &Route{Kind: GRPCRoute}
	for _, match := range []*MethodMatch{nil, {Service: service}, {Method: method}, {Service: service, Method: method}} {
		request.matches = append(request.matches, route.matchKey(&RouteMatch{Method: match}, nil))
	}
	return request
}

func grpcCall(service, method string) string { return "a gRPC call of " + service + "/" + method }

// regular reports whether any match has a regular expression for the path or the
// gRPC method.
func (r *Route) regular() bool {
	for i := range r.Spec.Rules {
		for _, match := range r.Spec.Rules[i].Matches {
			if match.Path != nil && match.Path.Type == RegularExpression || match.Method != nil && match.Method.Type == RegularExpression {
				return true
			}
		}
	}
	return false
}
