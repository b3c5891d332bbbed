package traffic

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// condition is a condition of a match, with its regular expression.
type condition struct {
	mesh.Condition
	// whole and anywhere are the expression of a regular condition, read as RE2:
	// on the whole value, and anywhere in it. Both are nil where it cannot be read.
	whole, anywhere *regexp.Regexp
}

// newCondition reads the regular expression, whose dialect and anchoring are the
// implementation's (Gateway API, PathMatchRegularExpression).
func newCondition(in mesh.Condition) condition {
	c := condition{Condition: in}
	if c.Type == mesh.RegularExpression {
		if whole, anywhere, err := mesh.CompileExpression(c.Text); err == nil {
			c.whole, c.anywhere = whole, anywhere
		}
	}
	return c
}

// literally returns a condition on the only text that a regular expression matches, if it is such an expression; else itself.
func (c *condition) literally() *condition {
	if c.anywhere != nil {
		if text, whole := c.anywhere.LiteralPrefix(); whole {
			return &condition{Condition: mesh.Condition{Subject: c.Subject, Type: mesh.Exact, Text: text}}
		}
	}
	return c
}

// holds reports whether a value that is there meets the condition. An expression
// that cannot be read holds for its own text alone.
func (c *condition) holds(value string) bool {
	switch c.Type {
	case mesh.PathPrefix:
		return strings.HasPrefix(value, c.Text) && (len(value) == len(c.Text) || value[len(c.Text)] == '/')
	case mesh.Subdomain:
		return strings.HasSuffix(value, c.Text)
	case mesh.RegularExpression:
		if c.whole != nil {
			return c.whole.MatchString(value)
		}
	}
	return value == c.Text
}

// undecided says why implementations may disagree on whether the value meets the
// condition; it is empty where they cannot.
func (c *condition) undecided(value string) string {
	switch {
	case c.Type != mesh.RegularExpression:
		return ""
	case c.whole == nil:
		return fmt.Sprintf("the regular expression %q on the %s is not valid RE2, so it is compared as text", c.Text, c.Subject)
	case c.whole.MatchString(value) != c.anywhere.MatchString(value):
		return fmt.Sprintf("the regular expression %q matches a part of the %s %q, not all of it: implementations differ in whether that is a match", c.Text, c.Subject, value)
	}
	return ""
}

// miss says why the value does not meet the condition.
func (c *condition) miss(value string, present bool) string {
	if !present {
		return fmt.Sprintf("%s is absent", c.Subject)
	}
	return fmt.Sprintf("%s %s is not %s", c.Subject, shown(value), c.wanted())
}

// wanted reads as what the value has to be.
func (c *condition) wanted() string {
	switch c.Type {
	case mesh.PathPrefix:
		return c.Text + " or below"
	case mesh.Subdomain:
		return "*" + c.Text
	case mesh.RegularExpression:
		return "~ " + c.Text
	}
	return shown(c.Text)
}

// shown quotes a value where it would not read well bare.
func shown(value string) string {
	if value == "" || strings.ContainsAny(value, " \t\",;=") {
		return fmt.Sprintf("%q", value)
	}
	return value
}
