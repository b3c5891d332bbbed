package traffic

import (
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// looked is what the matches of both sides look for in one dimension: the path, the service, or the method of a gRPC request.
type looked struct {
	// any is met by what a request can have there.
	any *condition
	// texts end in "*" where they are prefixes.
	texts set
	// expressions are those that are looked for, and examples the regions of what stands for them.
	expressions []*condition
	examples    map[string]*region
	// instead are the paths that stand for prefixes of which the plainest meets an expression; of names, "" is all others.
	instead map[string]string
}

func newLooked(all *condition) looked {
	return looked{any: all, texts: set{}, examples: map[string]*region{}, instead: map[string]string{}}
}

// add adds what a condition looks for.
func (l *looked) add(c *condition) {
	switch c.Type {
	case mesh.RegularExpression:
		if !slices.ContainsFunc(l.expressions, func(other *condition) bool { return other.Text == c.Text }) {
			l.expressions = append(l.expressions, c)
		}
	case mesh.PathPrefix:
		l.texts[c.Text+"*"] = true
	default:
		l.texts[c.Text] = true
	}
}

// standsFor returns a path below the prefix that is below no other one, and is not matched as a whole. For "", it may be
// a name.
func (l *looked) standsFor(prefix string) string {
	taken := func(text string) bool { return l.texts[text] || l.texts[text+"*"] }
	switch instead := l.instead[prefix]; {
	case instead != "":
		return instead
	case l.any.Dimension != mesh.PathDimension:
		return fresh("", taken)
	case prefix == "" && !taken("/"):
		return "/"
	case prefix == "" || l.texts[prefix]:
		return fresh(prefix+"/", taken)
	}
	return prefix
}

// met returns the numbers of the expressions that a path or name meets.
func (l *looked) met(text string) (numbers []int) {
	for i, expression := range l.expressions {
		if expression.holds(text) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// describe names the class of a point: that of the regular expressions if its path stands for them.
func (l *looked) describe(p *point, kind, text string) {
	if r := l.examples[p.at.Path]; r != nil && strings.TrimPrefix(p.at.Path, "/") == strings.TrimPrefix(text, "/") {
		p.region, p.example, text = r, text, r.text
	}
	p.text = kind + text
}
