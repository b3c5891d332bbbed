package proxies

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// ranked is matches of rules that a proxy orders itself, as the Gateway API says of HTTPRouteRule.matches and
// GRPCRouteRule.matches.
type ranked struct {
	matches []match
	// expressions is how long their regular expressions are in all.
	expressions int
}

// match is one match, and what its rule does with requests. Prefix is the path prefix that it asks for.
type match struct {
	conditions  []mesh.Condition
	expressions []*regexp.Regexp // of conditions, nil for those that are none
	rank        [6]int
	prefix      string
	answer      func(r *traffic.Request, prefix string) *Answer
}

// What is compared at a Service port: how many matches, and how long their regular expressions are in all.
const (
	maxMatches     = 10_000
	maxExpressions = 1 << 20
)

// add adds a match. The error says what of it cannot be read.
func (all *ranked) add(conditions []mesh.Condition, answer func(r *traffic.Request, prefix string) *Answer) error {
	if len(all.matches) == maxMatches {
		return fmt.Errorf("there are more than %d matches for a Service port", maxMatches)
	}
	m := match{conditions: conditions, expressions: make([]*regexp.Regexp, len(conditions)), answer: answer}
	for i, c := range conditions {
		if c.Type == mesh.RegularExpression {
			if all.expressions += len(c.Text); all.expressions > maxExpressions {
				return fmt.Errorf("the regular expressions for a Service port are longer than %d KiB in all", maxExpressions>>10)
			}
			whole, _, err := mesh.CompileExpression(c.Text)
			if err != nil {
				return fmt.Errorf("the regular expression %q on the %s: %w", c.Text, c.Subject, err)
			}
			m.expressions[i] = whole
		}
		m.rankBy(c)
	}
	all.matches = append(all.matches, m)
	return nil
}

// rankBy adds to the rank what a condition is worth: the host, the path, the method, headers, and query parameters.
func (m *match) rankBy(c mesh.Condition) {
	switch c.Dimension {
	case mesh.HostDimension:
		m.rank[0] = len(c.Text)
		if c.Type == mesh.Exact {
			m.rank[0] += 1 << 16
		}
	case mesh.PathDimension:
		switch c.Type {
		case mesh.Exact:
			m.rank[1] = 2
		case mesh.PathPrefix:
			m.rank[2], m.prefix = len(c.Text), c.Text
		default: // before every prefix: it was observed with neither mesh
			m.rank[1] = 1
		}
	case mesh.GRPCServiceDimension:
		m.rank[1] = len(c.Text)
	case mesh.GRPCMethodDimension:
		m.rank[2] = len(c.Text)
	case mesh.MethodDimension:
		m.rank[3] = 1
	case mesh.HeaderDimension:
		m.rank[4]++
	case mesh.QueryParamDimension:
		m.rank[5]++
	case mesh.ServerNameDimension: // of no request
	}
}

// sort puts the matches that come first in front; of equals, the one that was added first.
func (all *ranked) sort() {
	slices.SortStableFunc(all.matches, func(a, b match) int { return slices.Compare(b.rank[:], a.rank[:]) })
}

// find returns the match that decides a request, and nil if none does.
func (all *ranked) find(r *traffic.Request) *match {
	for i := range all.matches {
		if all.matches[i].holds(r) {
			return &all.matches[i]
		}
	}
	return nil
}

func (all *ranked) conditions() [][]mesh.Condition {
	out := make([][]mesh.Condition, len(all.matches))
	for i := range all.matches {
		out[i] = all.matches[i].conditions
	}
	return out
}

func (m *match) holds(r *traffic.Request) bool {
	for i, c := range m.conditions {
		value, ok := valueOf(r, c.Subject)
		switch {
		case !ok:
			return false
		case c.Type == mesh.PathPrefix:
			rest, under := strings.CutPrefix(value, c.Text)
			ok = under && (rest == "" || rest[0] == '/')
		case c.Type == mesh.Subdomain:
			ok = strings.HasSuffix(value, c.Text)
		case m.expressions[i] != nil:
			ok = m.expressions[i].MatchString(value)
		default:
			ok = value == c.Text
		}
		if !ok {
			return false
		}
	}
	return true
}

// valueOf returns what a condition looks at, and whether the request has it.
func valueOf(r *traffic.Request, subject mesh.Subject) (value string, ok bool) {
	path := cmp.Or(r.Path, "/")
	switch subject.Dimension {
	case mesh.PathDimension:
		return path, true
	case mesh.MethodDimension:
		return cmp.Or(r.Method, "GET"), true
	case mesh.HostDimension:
		return r.Host, r.Host != ""
	case mesh.HeaderDimension:
		value, ok = r.Headers[subject.Name]
		return value, ok
	case mesh.QueryParamDimension:
		value, ok = r.Query[subject.Name]
		return value, ok
	case mesh.GRPCServiceDimension, mesh.GRPCMethodDimension:
		service, method, two := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if subject.Dimension == mesh.GRPCMethodDimension {
			service = method
		}
		return service, two && !strings.Contains(method, "/")
	case mesh.ServerNameDimension:
	}
	return "", false
}

// underPrefix returns the path with another prefix in the place of the one that was matched (Gateway API,
// HTTPPathModifier.replacePrefixMatch).
func underPrefix(path, prefix, replacement string) string {
	return cmp.Or(strings.TrimRight(replacement, "/")+strings.TrimPrefix(path, strings.TrimRight(prefix, "/")), "/")
}
