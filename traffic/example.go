package traffic

import (
	"regexp/syntax"
	"strings"
)

// example returns a value that meets a regular condition: its text where that
// cannot be read, and "" where none is found.
func (c *condition) example() string {
	if c.whole == nil {
		return c.Text
	}
	parsed, err := syntax.Parse(c.Text, syntax.Perl)
	if err != nil {
		return c.Text
	}
	var text strings.Builder
	writeExample(&text, parsed)
	if !c.whole.MatchString(text.String()) {
		return ""
	}
	return text.String()
}

// writeExample writes a short text that the expression matches, but for what it
// says of word boundaries.
func writeExample(text *strings.Builder, e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral:
		text.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		text.WriteRune(member(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		text.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus:
		writeExample(text, e.Sub[0])
	case syntax.OpRepeat:
		for range e.Min {
			writeExample(text, e.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			writeExample(text, sub)
		}
	case syntax.OpAlternate:
		writeExample(text, e.Sub[0])
	}
}

// member returns a character of a class, a letter or digit if there is one. The
// class is pairs of first and last characters.
func member(class []rune) rune {
	for _, want := range "a0A-_" {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= want && want <= class[i+1] {
				return want
			}
		}
	}
	for i := 0; i+1 < len(class); i += 2 {
		if class[i+1] >= '!' {
			return max(class[i], '!')
		}
	}
	return class[0]
}
