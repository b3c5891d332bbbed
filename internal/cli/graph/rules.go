package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// rule is one rule of a route: what it matches, and where it leads.
type rule struct {
	// match reads "/v2* tenant=gold", or "any".
	match   string
	targets []target
	// drops says what the mesh does not do of it: "ignores retry"; empty if it does all, or if that is not known.
	drops string
}

// text reads "/v2* → shop/cart-v1:80 90 %", with what the mesh drops.
func (r *rule) text() string {
	var to []string
	for i := range r.targets {
		to = append(to, strings.TrimSpace(r.targets[i].name()+" "+r.targets[i].share))
	}
	text := r.match + " → " + strings.Join(to, ", ")
	if r.drops != "" {
		text += " (the mesh " + r.drops + ")"
	}
	return text
}

// edge is what stands on the line to a target.
func (r *rule) edge(to *target) string {
	text := strings.TrimSpace(r.match + " " + to.share)
	if r.drops != "" {
		text += " (the mesh " + r.drops + ")"
	}
	return text
}

// drops returns what the mesh does not do of each rule.
func drops(route *mesh.Route, profile *mesh.Profile) []string {
	ignored, failing := make([][]string, len(route.Spec.Rules)), make([]string, len(route.Spec.Rules))
	if profile != nil {
		for use := range route.Uses() {
			switch noun := use.Field.Noun(); profile.Does(route.Kind, use.Field).Value {
			case mesh.Ignored:
				if !slices.Contains(ignored[use.Rule], noun) {
					ignored[use.Rule] = append(ignored[use.Rule], noun)
				}
			case mesh.RequestFails:
				failing[use.Rule] = "fails requests because of " + noun
			default:
			}
		}
	}
	for i := range failing {
		if failing[i] == "" && len(ignored[i]) > 0 {
			failing[i] = "ignores " + strings.Join(ignored[i], ", ")
		}
		failing[i] = printable.Text(failing[i])
	}
	return failing
}

// target is where a rule sends requests.
type target struct {
	// namespace and label name a backend; without a namespace, the label is an answer.
	namespace, label string
	// share reads "90 %"; empty for all requests.
	share string
}

// name reads "shop/cart:80", or "redirect 301".
func (t *target) name() string {
	if t.namespace == "" {
		return t.label
	}
	return t.namespace + "/" + t.label
}

// rulesOf returns the rules of a route, under the profile of a mesh.
func rulesOf(route *mesh.Route, profile *mesh.Profile) []rule {
	rules := make([]rule, len(route.Spec.Rules))
	dropped := drops(route, profile)
	for i := range rules {
		rules[i].drops = dropped[i]
		var matches []string
		for _, conditions := range route.Conditions(i, profile) {
			matches = append(matches, matchText(conditions))
		}
		rules[i].match = printable.Text(strings.Join(matches, " or "))
		rules[i].targets = answered(&route.Spec.Rules[i])
	}
	totals := make([]int64, len(rules))
	for backend := range route.Backends() {
		totals[backend.Rule] += weight(&backend)
	}
	for backend := range route.Backends() {
		to := &rules[backend.Rule]
		if len(to.targets) > 0 && to.targets[0].namespace == "" && !backend.Mirror() {
			continue // no request gets there
		}
		t := target{}
		t.namespace, t.label = backendName(backend.Ref, route.Metadata.Namespace)
		switch of := weight(&backend); {
		case backend.Mirror():
			t.share = "mirror"
			if parts, total := backend.Copies(); parts != total {
				t.share += " " + traffic.Percent(parts, total)
			}
		case totals[backend.Rule] == 0:
			t.share = "0 %"
		case of < totals[backend.Rule]:
			t.share = traffic.Percent(of, totals[backend.Rule])
		}
		to.targets = append(to.targets, t)
	}
	return rules
}

// answered returns the answer of a rule that has no backend.
func answered(r *mesh.RouteRule) []target {
	for i := range r.Filters {
		if redirect := r.Filters[i].RequestRedirect; redirect != nil {
			code := redirect.StatusCode
			if code == 0 {
				code = 302
			}
			return []target{{label: fmt.Sprintf("redirect %d", code)}}
		}
	}
	if len(r.BackendRefs) == 0 {
		return []target{{label: "no backend"}}
	}
	return nil
}

// weight is the part of the requests that a backendRef gets, of the sum of all.
func weight(b *mesh.Backend) int64 {
	if b.Mirror() {
		return 0
	}
	return int64(b.Ref.Share())
}

// matchText reads "POST /v2* tenant=gold ?color~b.*", or "any".
func matchText(conditions []mesh.Condition) string {
	var parts []string
	call := [2]string{"*", "*"}
	grpc := false
	for _, c := range conditions {
		operator := "="
		if c.Type == mesh.RegularExpression {
			operator = "~"
		}
		switch c.Dimension {
		case mesh.PathDimension:
			switch c.Type {
			case mesh.RegularExpression:
				parts = append(parts, "~"+c.Text)
			case mesh.PathPrefix:
				parts = append(parts, c.Text+"*")
			default:
				parts = append(parts, c.Text)
			}
		case mesh.GRPCServiceDimension:
			call[0], grpc = c.Text, true
		case mesh.GRPCMethodDimension:
			call[1], grpc = c.Text, true
		case mesh.HeaderDimension:
			parts = append(parts, c.Name+operator+c.Text)
		case mesh.QueryParamDimension:
			parts = append(parts, "?"+c.Name+operator+c.Text)
		case mesh.ServerNameDimension:
			if c.Type == mesh.Subdomain {
				c.Text = "*" + c.Text
			}
			parts = append(parts, "SNI "+c.Text)
		case mesh.HostDimension:
			if c.Type == mesh.Subdomain {
				c.Text = "*" + c.Text
			}
			parts = append(parts, "host "+c.Text)
		case mesh.MethodDimension:
			parts = append(parts, c.Text)
		}
	}
	if grpc {
		parts = append([]string{call[0] + "/" + call[1]}, parts...)
	}
	if len(parts) == 0 {
		return "any"
	}
	return strings.Join(parts, " ")
}
