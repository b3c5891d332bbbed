package fix

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

var errScalar = errors.New("its value is written in a way that is not edited here: write it on one line")

// span returns where the scalar, or alias, begins and ends, without its anchor and
// tag.
func (p *place) span(node *yaml.Node) (from, to int, err error) {
	if from, err = p.offset(node); err != nil {
		return 0, 0, err
	}
	if node.Kind == yaml.AliasNode {
		return from, from + len("*") + len(node.Value), nil
	}
	if node.Kind != yaml.ScalarNode {
		return 0, 0, errScalar
	}
	for from < len(p.text) && (p.text[from] == '&' || p.text[from] == '!') {
		end := strings.IndexAny(p.text[from:], " \t")
		if end < 0 {
			return 0, 0, errScalar
		}
		from += end
		from += len(p.text[from:]) - len(strings.TrimLeft(p.text[from:], " \t"))
	}
	rest := p.text[from:]
	switch {
	case strings.HasPrefix(rest, `"`):
		return closing(from, rest, '"')
	case strings.HasPrefix(rest, "'"):
		return closing(from, rest, '\'')
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0, !strings.HasPrefix(rest, node.Value):
		return 0, 0, errScalar
	}
	return from, from + len(node.Value), nil
}

// closing finds the end of a quoted scalar on its line.
func closing(from int, rest string, quote byte) (int, int, error) {
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		switch {
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] == quote && quote == '\'' && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case rest[i] == quote:
			return from, from + i + 1, nil
		}
	}
	return 0, 0, errScalar
}

// quoteStyle is how a scalar is quoted.
type quoteStyle byte

const (
	plain  quoteStyle = 0
	double quoteStyle = '"'
	single quoteStyle = '\''
)

// styleOf returns how the scalar is quoted.
func styleOf(node *yaml.Node) quoteStyle {
	switch {
	case node.Style&yaml.DoubleQuotedStyle != 0:
		return double
	case node.Style&yaml.SingleQuotedStyle != 0:
		return single
	}
	return plain
}

// quoted writes a name or a group, which need no escapes.
func quoted(text string, style quoteStyle) string {
	if style == plain {
		return text
	}
	return string(style) + text + string(style)
}

// needsQuotes says whether the text, written plainly, would be something else than
// this string to any reader of YAML, version 1.1 or 1.2.
func needsQuotes(text string) bool {
	if text == "" || strings.ContainsAny(text[:1], "0123456789.+-~") {
		return true
	}
	switch strings.ToLower(text) {
	case "y", "yes", "n", "no", "on", "off", "true", "false", "null":
		return true
	}
	return strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._/", r)
	}) >= 0
}
