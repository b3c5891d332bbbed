package envoy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// condition reports whether a request meets one condition of a match. A nil one is of a kind
// that this package does not know.
type condition func(r *Request) bool

// route is a route of a virtual host (config.route.v3.Route).
type route struct {
	place, name string
	conditions  []condition
	// unknown names a condition that this package does not know; empty for none.
	unknown string
	// path is what the match asks of the path.
	path pathMatch
	// wanted is what the match looks for, in the words of package mesh.
	wanted  []mesh.Condition
	action  action
	headers changes
}

// pathMatch is the condition of a match on the path.
type pathMatch struct {
	// kind is the field: "prefix", "path", "pathSeparatedPrefix" or "safeRegex".
	kind, text string
	anyCase    bool
}

// Fields of a match that do not decide.
var noConditions = []string{"caseSensitive", "filterState"}

func (n node) route() route {
	r := route{place: n.place, name: n.get("name").text(), headers: n.changes()}
	match := n.get("match")
	if !match.exists() {
		match.fail("a route has no match")
	}
	r.readMatch(match)
	r.wanted = match.wanted()
	r.action = n.action()
	return r
}

// readMatch reads a match (config.route.v3.RouteMatch).
func (r *route) readMatch(n node) {
	anyCase := !n.get("caseSensitive").flag(true)
	names := n.fields()
	slices.Sort(names)
	for _, name := range names {
		field := n.get(name)
		switch name {
		case "prefix", "path", "pathSeparatedPrefix":
			r.path = pathMatch{kind: name, text: field.text(), anyCase: anyCase}
			r.conditions = append(r.conditions, r.path.holds)
		case "safeRegex":
			expression := field.expression()
			r.path = pathMatch{kind: name, text: field.get("regex").text()}
			r.conditions = append(r.conditions, func(r *Request) bool { return expression.MatchString(r.Path) })
		case "headers":
			for _, header := range field.list() {
				r.add(header, header.header())
			}
		case "queryParameters":
			for _, parameter := range field.list() {
				r.add(parameter, parameter.query())
			}
		case "grpc":
			r.conditions = append(r.conditions, isGRPC)
		default:
			if !slices.Contains(noConditions, name) && field.exists() {
				r.unknown = field.place
			}
		}
	}
}

// add adds a condition that was read from the node.
func (r *route) add(n node, c condition) {
	if c == nil {
		r.unknown = n.place
		return
	}
	r.conditions = append(r.conditions, c)
}

// matches reports whether all conditions hold. It is an error where that hangs on one that is not
// known.
func (r *route) matches(request *Request) (bool, error) {
	for _, holds := range r.conditions {
		if !holds(request) {
			return false, nil
		}
	}
	if r.unknown != "" {
		return false, fmt.Errorf("gammaguard does not know the condition %s", r.unknown)
	}
	return true, nil
}

func (m *pathMatch) holds(r *Request) bool {
	path, text := r.Path, m.text
	if m.anyCase {
		path, text = strings.ToLower(path), strings.ToLower(text)
	}
	switch m.kind {
	case "path":
		return path == text
	case "pathSeparatedPrefix":
		rest, ok := strings.CutPrefix(path, text)
		return ok && (rest == "" || rest[0] == '/')
	}
	return strings.HasPrefix(path, text)
}

// isGRPC reports whether the content type is that of gRPC.
func isGRPC(r *Request) bool {
	contentType := r.Headers["content-type"]
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+')
}

// value returns the value of a header, and whether the request has it.
func (r *Request) value(name string) (string, bool) {
	switch name {
	case ":method":
		return r.Method, true
	case ":path":
		return r.Path, true
	case ":authority", "host":
		return r.Host, true
	}
	value, ok := r.Headers[name]
	return value, ok
}

// header reads a condition on a header (config.route.v3.HeaderMatcher).
func (n node) header() condition {
	name := strings.ToLower(n.get("name").text())
	invert, missingIsEmpty := n.get("invertMatch").flag(false), n.get("treatMissingHeaderAsEmpty").flag(false)
	if name == "" {
		n.fail("a condition on a header has no name")
	}
	test := n.headerTest()
	if presence := n.get("presentMatch"); presence.exists() || test == nil && !n.hasTest() {
		present := presence.flag(true)
		return func(r *Request) bool {
			_, ok := r.value(name)
			return (ok == present) != invert
		}
	}
	if test == nil {
		return nil
	}
	return func(r *Request) bool {
		value, ok := r.value(name)
		if !ok && !missingIsEmpty {
			return false
		}
		return test(value) != invert
	}
}

// hasTest reports whether a condition on a header looks at its value.
func (n node) hasTest() bool {
	return slices.ContainsFunc(n.fields(), func(name string) bool { return strings.HasSuffix(name, "Match") && name != "invertMatch" })
}

// headerTest reads what a condition on a header asks of the value; nil where that is not known.
func (n node) headerTest() func(string) bool {
	if test := n.get("stringMatch"); test.exists() {
		return test.test()
	}
	if test := n.get("rangeMatch"); test.exists() {
		start, end := test.get("start").number(), test.get("end").number()
		return func(value string) bool {
			number, err := strconv.ParseInt(value, 10, 64)
			return err == nil && start <= number && number < end
		}
	}
	for _, kind := range []string{"exact", "prefix", "suffix", "contains", "safeRegex"} {
		if test := n.get(kind + "Match"); test.exists() {
			return test.testOf(kind, false)
		}
	}
	return nil
}

// query reads a condition on a query parameter (config.route.v3.QueryParameterMatcher).
func (n node) query() condition {
	name := n.get("name").text()
	if test := n.get("stringMatch"); test.exists() {
		holds := test.test()
		if holds == nil {
			return nil
		}
		return func(r *Request) bool {
			value, ok := r.Query[name]
			return ok && holds(value)
		}
	}
	present := n.get("presentMatch").flag(true)
	return func(r *Request) bool {
		_, ok := r.Query[name]
		return ok == present
	}
}

// test reads a condition on a text (type.matcher.v3.StringMatcher); it is nil where that is not
// known.
func (n node) test() func(string) bool {
	for _, kind := range []string{"exact", "prefix", "suffix", "contains", "safeRegex"} {
		if test := n.get(kind); test.exists() {
			return test.testOf(kind, n.get("ignoreCase").flag(false))
		}
	}
	return nil
}

func (n node) testOf(kind string, anyCase bool) func(string) bool {
	if kind == "safeRegex" {
		return n.expression().MatchString
	}
	holds := map[string]func(value, text string) bool{
		"exact":    func(value, text string) bool { return value == text },
		"prefix":   strings.HasPrefix,
		"suffix":   strings.HasSuffix,
		"contains": strings.Contains,
	}[kind]
	text := n.text()
	return func(value string) bool {
		if anyCase {
			return holds(strings.ToLower(value), strings.ToLower(text))
		}
		return holds(value, text)
	}
}

// expression reads a regular expression, which must match the whole value
// (type.matcher.v3.RegexMatcher).
func (n node) expression() *regexp.Regexp {
	text := n.get("regex")
	if !n.spend(len(text.text())) {
		return nothing
	}
	expression, err := regexp.Compile(`^(?:` + text.text() + `)$`)
	if err != nil {
		text.fail("not a valid RE2 expression: %v", err)
		return nothing
	}
	return expression
}

// nothing matches nothing.
var nothing = regexp.MustCompile(`[^\s\S]`)

// What regular expressions of one text may cost: a program takes some hundred times what its expression does.
const (
	maxExpression  = 16 << 10
	maxExpressions = 1 << 20
)

// spend takes a regular expression of that length from what a text may have, and reports whether there is room
// for it.
func (n node) spend(length int) bool {
	n.spent.expressions += length
	switch {
	case length > maxExpression:
		n.fail("a regular expression is longer than %d KiB", maxExpression>>10)
	case n.spent.expressions > maxExpressions:
		n.fail("the regular expressions are longer than %d KiB in all", maxExpressions>>10)
	default:
		return true
	}
	return false
}
