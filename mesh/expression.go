package mesh

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// Dialect is the syntax in which a mesh's proxies take regular expressions.
type Dialect string

const (
	// RE2 is the syntax of Envoy's regular expressions.
	RE2 Dialect = "RE2"
	// RustRegex is the syntax of Linkerd's: that of the Rust crate regex.
	RustRegex Dialect = "Rust's regex"
)

const (
	// MaxExpressionCost is what the regular expressions of a route may cost together, as
	// ExpressionCost estimates it.
	MaxExpressionCost = 50_000
	// maxProgram is how many instructions an expression may come to. Istio's proxies refuse
	// larger ones (re2.max_program_size.error_level).
	maxProgram = 32_768
)

var (
	errEmptyExpression  = errors.New("it is empty")
	errCostlyExpression = errors.New("it has too many classes or ranges of Unicode")
	errLargeExpression  = errors.New("its program has more than " + strconv.Itoa(maxProgram) + " instructions")
)

// Expression is a value of a match of type RegularExpression.
type Expression struct {
	// Path is the path of the field: "spec.rules[0].matches[1].path.value".
	Path string
	// Subject is what the expression is matched with: "path", "header tenant".
	Subject string
	Text    string
}

// Expressions returns the regular expressions of the route, in the order of its rules.
func (r *Route) Expressions() []Expression {
	var all []Expression
	for i := range r.Spec.Rules {
		for j := range r.Spec.Rules[i].Matches {
			before := len(all)
			all = r.Spec.Rules[i].Matches[j].appendExpressions(all)
			for k := range all[before:] {
				all[before+k].Path = fmt.Sprintf("spec.rules[%d].matches[%d].%s", i, j, all[before+k].Path)
			}
		}
	}
	return all
}

// appendExpressions appends those of the match, with paths as seen from it.
func (m *RouteMatch) appendExpressions(all []Expression) []Expression {
	if m.Path != nil && m.Path.Type == RegularExpression {
		all = append(all, Expression{"path.value", "path", m.Path.Value})
	}
	if method := m.Method; method != nil && method.Type == RegularExpression {
		if method.Service != "" {
			all = append(all, Expression{"method.service", "gRPC service", method.Service})
		}
		if method.Method != "" {
			all = append(all, Expression{"method.method", "gRPC method", method.Method})
		}
	}
	for i := range m.Headers {
		if v := &m.Headers[i]; v.Type == RegularExpression {
			all = append(all, Expression{fmt.Sprintf("headers[%d].value", i), "header " + v.Name, v.Value})
		}
	}
	for i := range m.QueryParams {
		if v := &m.QueryParams[i]; v.Type == RegularExpression {
			all = append(all, Expression{fmt.Sprintf("queryParams[%d].value", i), "query parameter " + v.Name, v.Value})
		}
	}
	return all
}

// ExpressionCost returns an upper bound of the time that it takes to parse the text, in
// units of about a microsecond. Classes of Unicode are long lists, and with (?i) a range of
// characters is folded one by one.
func ExpressionCost(text string) int {
	cost := 1 + len(text)/2 + 200*(strings.Count(text, `\p`)+strings.Count(text, `\P`))
	if !strings.Contains(text, "(?") {
		return cost
	}
	ranges := strings.Count(text, "-")
	if strings.Contains(text, `\x`) || strings.ContainsFunc(text, func(c rune) bool { return c > '\x7f' }) {
		return cost + 4000*ranges
	}
	if strings.Contains(text, `\`) { // octal numbers
		cost += 50 * ranges
	}
	return cost
}

// ParseExpression reports why RE2 cannot compile the text, or why it may not: beyond
// certain sizes proxies refuse an expression. All of gammaguard reads regular expressions by
// this function and CompileExpression.
func ParseExpression(text string) error {
	switch {
	case text == "":
		return errEmptyExpression
	case ExpressionCost(text) > MaxExpressionCost:
		return errCostlyExpression
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err == nil && instructions(parsed) > maxProgram {
		err = errLargeExpression
	}
	return err
}

// CompileExpression returns the expression as it matches whole values, and as it matches
// anywhere in them, or the error of ParseExpression.
func CompileExpression(text string) (whole, anywhere *regexp.Regexp, err error) {
	if err := ParseExpression(text); err != nil {
		return nil, nil, err
	}
	if anywhere, err = regexp.Compile(text); err == nil {
		whole, err = compileWhole(text)
	}
	return whole, anywhere, err
}

func compileWhole(text string) (*regexp.Regexp, error) { return regexp.Compile("^(?:" + text + ")$") }

// Dialect returns the syntax of the mesh's regular expressions: RE2, unless the profile names
// another one.
func (p *Profile) Dialect() Dialect {
	if p == nil {
		return RE2
	}
	return p.Expressions.Value
}

// Envoy reports whether the mesh is known to have Envoy as its proxy.
func (p *Profile) Envoy() bool { return p != nil && p.Expressions.Value == RE2 }

// InvalidExpression reports why the mesh cannot use the text as a regular expression; nil if
// it can.
func (p *Profile) InvalidExpression(text string) error {
	err := ParseExpression(text)
	if p.Dialect() != RustRegex {
		return err
	}
	if found := notInRust.FindStringSubmatch(text); found != nil {
		return fmt.Errorf(`the escape \%s is not supported`, found[1])
	}
	invalid, ok := errors.AsType[*syntax.Error](err)
	switch {
	case errors.Is(err, errLargeExpression), ok && (invalid.Code == syntax.ErrInvalidRepeatSize || invalid.Code == syntax.ErrLarge):
		return nil // within a bound of its own
	}
	return err
}

// notInRust finds the first escape that RE2 has and Rust's regex does not.
var notInRust = regexp.MustCompile(`^(?:[^\\]|\\[^QC0-9])*\\([QC0-9])`)
