package traffic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// ExpressionChange is a regular expression that is another text now, where no example tells the two
// apart: whether requests go somewhere else is not known.
type ExpressionChange struct {
	// Route, Rule, and Match are where it is.
	Route string `json:"route"`
	Rule  int    `json:"rule"`
	Match int    `json:"match"`
	// Subject is what it is matched with: "path", "header tenant".
	Subject string `json:"subject"`
	Before  string `json:"before"`
	After   string `json:"after"`
}

// String reads `HTTPRoute shop/cart rule[0] match[0]: the regular expression on the path was "\\d" and is "[0-9]"; ...`.
func (e *ExpressionChange) String() string {
	return fmt.Sprintf("%s rule[%d] match[%d]: the regular expression on the %s was %q and is now %q; no example tells them apart, so it is not known which requests go somewhere else",
		e.Route, e.Rule, e.Match, e.Subject, e.Before, e.After)
}

// unclear returns the expressions that changed, of which no example tells the versions apart.
func (c *comparer) unclear() (changes []ExpressionChange) {
	was := map[string]*entry{}
	for e := range c.sides[0].expressions() {
		was[e.String()] = e
	}
	for e := range c.sides[1].expressions() {
		before := was[e.String()]
		if before == nil {
			continue
		}
		for i := range e.conditions {
			now := &e.conditions[i]
			at := slices.IndexFunc(before.conditions, func(old condition) bool { return old.Type == now.Type && old.Subject == now.Subject })
			if now.Type == mesh.RegularExpression && at >= 0 && before.conditions[at].Text != now.Text && !c.tells(&before.conditions[at], now) {
				changes = append(changes, ExpressionChange{e.route.String(), e.rule, e.at, now.Subject.String(), before.conditions[at].Text, now.Text})
			}
		}
	}
	return changes
}

// tells reports whether there is an example that meets one of two conditions on a subject.
func (c *comparer) tells(a, b *condition) bool {
	for _, pair := range [][2]*condition{{a, b}, {b, a}} {
		if text, _ := example(valuesOf(pair[0]), pair[1:], &c.searches); text != "" {
			return true
		}
	}
	return false
}

// valuesOf returns what a value must meet, to be one of a request that meets the condition.
func valuesOf(c *condition) []*condition {
	switch {
	case c.Dimension == mesh.PathDimension && (c.whole != nil || c.Type == mesh.PathPrefix):
		return []*condition{c, &aPath}
	case c.whole != nil && c.Dimension == mesh.GRPCServiceDimension:
		return []*condition{c, aServiceName}
	case c.whole != nil && c.Dimension == mesh.GRPCMethodDimension:
		return []*condition{c, aMethodName}
	}
	return []*condition{c}
}

// expressions yields the matches with regular expressions.
func (s *side) expressions() func(yield func(*entry) bool) {
	return func(yield func(*entry) bool) {
		if s.routes == nil {
			return
		}
		for i := range s.routes.entries {
			e := &s.routes.entries[i]
			if slices.ContainsFunc(e.conditions, func(c condition) bool { return c.Type == mesh.RegularExpression }) && !yield(e) {
				return
			}
		}
	}
}

// otherExamples reports whether the versions have other regular expressions on paths, or on services or methods of gRPC: whatever the examples of
// these say, there may be a change.
func (c *comparer) otherExamples() bool {
	var on [2]set
	for i := range c.sides {
		on[i] = set{}
		for e := range c.sides[i].expressions() {
			for j := range e.conditions {
				switch condition := &e.conditions[j]; {
				case condition.Type != mesh.RegularExpression:
				case slices.Contains([]mesh.Dimension{mesh.PathDimension, mesh.GRPCServiceDimension, mesh.GRPCMethodDimension}, condition.Dimension):
					on[i][condition.Text] = true
				}
			}
		}
	}
	return !maps.Equal(on[0], on[1])
}

// approximate notes whose regular expressions are compared by examples.
func (c *comparer) approximate() {
	var routes []string
	for i := range c.sides {
		for e := range c.sides[i].expressions() {
			if name := e.route.String(); !slices.Contains(routes, name) {
				routes = append(routes, name)
			}
		}
	}
	if len(routes) > 0 {
		c.notes = append(c.notes, "regular expressions of "+someOf(routes)+" are compared as text, and by examples of what they match: changes within what they match may be missing")
	}
}

// maxNamed is how many names a note has.
const maxNamed = 3

func someOf(names []string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
