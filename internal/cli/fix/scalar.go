package fix

import (
	"errors"
	"strings"

	"github.com/gammaguard/gammaguard/internal/yaml"
)

var errScalar = errors.New("the value is not in a form that --fix can edit: write it on one line")

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
	case strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, "'"):
		return closing(from, rest)
	case multiline(node), !strings.HasPrefix(rest, node.Value):
		return 0, 0, errScalar
	}
	return from, from + len(node.Value), nil
}

// closing finds the end of a quoted scalar on its line.
func closing(from int, rest string) (int, int, error) {
	quote := rest[0]
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

func multiline(node *yaml.Node) bool { return node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 }

// quotes returns how the scalar is quoted, 0 for plainly.
func quotes(node *yaml.Node) yaml.Style {
	return node.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle)
}

// scalar writes a name, or a value that a mutation sets: a string in these quotes,
// or in some if it would be read as something else without.
func scalar(value any, quotes yaml.Style) (string, error) {
	if text, ok := value.(string); ok && quotes != 0 {
		value = &yaml.Node{Kind: yaml.ScalarNode, Style: quotes, Value: text}
	}
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}
