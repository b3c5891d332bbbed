package traffic

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// dimension is a property of a request that a match can look at.
type dimension uint8

const (
	pathDimension dimension = iota
	methodDimension
	headerDimension
	paramDimension
	// serviceDimension and rpcDimension are the two parts of a gRPC method.
	serviceDimension
	rpcDimension
	// sniDimension is the server name that a TLS client asks for.
	sniDimension
)

// variable is one property: a dimension, with the name of a header (in lower
// case) or query parameter.
type variable struct {
	dimension dimension
	name      string
}

// String names the property as messages do: "header tenant".
func (v variable) String() string {
	switch v.dimension {
	case pathDimension:
		return "path"
	case methodDimension:
		return "method"
	case headerDimension:
		return "header " + v.name
	case paramDimension:
		return "query parameter " + v.name
	case serviceDimension:
		return "gRPC service"
	case rpcDimension:
		return "gRPC method"
	}
	return "server name"
}

type operator uint8

const (
	// exact: the value is the text.
	exact operator = iota
	// prefix: the value is a path whose first elements are those of the text.
	prefix
	// below: the value is a host name under the text, which starts with a dot.
	below
	// regular: the value matches the regular expression.
	regular
)

// condition is one of the conditions that a match puts to a request.
type condition struct {
	variable
	operator
	text string
	// whole and anywhere are the expression of a regular condition, read as RE2:
	// on the whole value, and anywhere in it. Both are nil where it cannot be read.
	whole, anywhere *regexp.Regexp
}

// newRegular returns a condition by a regular expression, whose dialect and
// anchoring are the implementation's (Gateway API, PathMatchRegularExpression).
func newRegular(v variable, text string) condition {
	c := condition{variable: v, operator: regular, text: text}
	if whole, anywhere, err := mesh.CompileExpression(text); err == nil {
		c.whole, c.anywhere = whole, anywhere
	}
	return c
}

// holds reports whether a value that is there meets the condition. An expression
// that cannot be read holds for its own text alone.
func (c *condition) holds(value string) bool {
	switch c.operator {
	case prefix:
		return strings.HasPrefix(value, c.text) && (len(value) == len(c.text) || value[len(c.text)] == '/')
	case below:
		return strings.HasSuffix(value, c.text)
	case regular:
		if c.whole != nil {
			return c.whole.MatchString(value)
		}
	}
	return value == c.text
}

// undecided says why implementations may disagree on whether the value meets the
// condition; it is empty where they cannot.
func (c *condition) undecided(value string) string {
	switch {
	case c.operator != regular:
		return ""
	case c.whole == nil:
		return fmt.Sprintf("the regular expression %q on the %s is not valid RE2, so it is compared as text", c.text, c.variable)
	case c.whole.MatchString(value) != c.anywhere.MatchString(value):
		return fmt.Sprintf("the regular expression %q matches a part of the %s %q, not all of it: implementations differ in whether that is a match", c.text, c.variable, value)
	}
	return ""
}

// miss says why the value does not meet the condition.
func (c *condition) miss(value string, present bool) string {
	if !present {
		return fmt.Sprintf("%s is absent", c.variable)
	}
	return fmt.Sprintf("%s %s is not %s", c.variable, shown(value), c.wanted())
}

// wanted reads as what the value has to be.
func (c *condition) wanted() string {
	switch c.operator {
	case prefix:
		return c.text + " or below"
	case below:
		return "*" + c.text
	case regular:
		return "~ " + c.text
	}
	return shown(c.text)
}

// shown quotes a value where it would not read well bare.
func shown(value string) string {
	if value == "" || strings.ContainsAny(value, " \t\",;=") {
		return fmt.Sprintf("%q", value)
	}
	return value
}
