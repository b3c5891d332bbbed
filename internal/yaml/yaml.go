// Package yaml parses YAML that others wrote, and is the one place that does: what a text may cost is
// bounded before a parser sees it. Its names are those of go.yaml.in/yaml/v3, so that code that
// walks nodes reads as usual.
package yaml

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	tojson "sigs.k8s.io/yaml"
)

const (
	// MaxNodes is how many values a text may have, as Nodes counts them: enough for a List of 30 MiB as
	// kubectl writes it. Each takes some 600 bytes while it is parsed.
	MaxNodes = 2 << 20
	// MaxDirectives is how many directives (%TAG, %YAML) a document may have: a parser
	// compares each with all that came before.
	MaxDirectives = 16
)

// Node is a value in a document, with its place.
type Node = yaml.Node

// The kinds of nodes.
const (
	DocumentNode = yaml.DocumentNode
	SequenceNode = yaml.SequenceNode
	MappingNode  = yaml.MappingNode
	ScalarNode   = yaml.ScalarNode
	AliasNode    = yaml.AliasNode
)

// Style is how a node is written.
type Style = yaml.Style

// The styles of nodes.
const (
	DoubleQuotedStyle = yaml.DoubleQuotedStyle
	SingleQuotedStyle = yaml.SingleQuotedStyle
	LiteralStyle      = yaml.LiteralStyle
	FoldedStyle       = yaml.FoldedStyle
	FlowStyle         = yaml.FlowStyle
)

// Marshal writes a value, or a node.
func Marshal(value any) ([]byte, error) { return yaml.Marshal(value) }

// Unmarshal decodes the first document of the text. The error says what cannot be decoded, or
// which bound the text exceeds.
func Unmarshal(text []byte, into any) error {
	text = UTF8(text)
	if err := bound(text); err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// Documents returns the documents of a text, as far as they can be read. The error says which
// bound the text exceeds; there are no documents then.
func Documents(text []byte) (all []*Node, _ error) {
	text = UTF8(text)
	if err := bound(text); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var root Node
		if err := decoder.Decode(&root); err != nil {
			return all, nil //nolint:nilerr // what comes after cannot be read
		}
		all = append(all, &root)
	}
}

// ToJSON returns the first document of the text as JSON. Of a duplicate key the last value counts.
// The error says what cannot be parsed, or which bound the text exceeds.
func ToJSON(text []byte) ([]byte, error) { return convert(text, tojson.YAMLToJSON) }

// ToJSONStrict is ToJSON that refuses duplicate keys.
func ToJSONStrict(text []byte) ([]byte, error) { return convert(text, tojson.YAMLToJSONStrict) }

func convert(text []byte, with func([]byte) ([]byte, error)) ([]byte, error) {
	text = UTF8(text)
	if err := Check(text); err != nil {
		return nil, err
	}
	return with(text)
}

// FromJSON returns JSON as YAML.
func FromJSON(text []byte) ([]byte, error) { return tojson.JSONToYAML(text) }

// Check returns an error if the text exceeds a bound, or its first document does where its aliases are
// replaced by what they stand for. It is for who has another parser parse it.
func Check(text []byte) error {
	text = UTF8(text)
	if err := bound(text); err != nil {
		return err
	}
	return checkAliases(text)
}

// bound returns an error if the text, which is in UTF-8, exceeds a bound.
func bound(text []byte) error {
	if Nodes(text) > MaxNodes {
		return fmt.Errorf("yaml: it has more than %d values", MaxNodes)
	}
	directives := 0
	for line := range lines(text) {
		switch {
		case line[0] == '%':
			directives++
		case bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || bytes.IndexByte([]byte(" \t"), line[3]) >= 0):
			directives = 0
		}
		if directives > MaxDirectives {
			return fmt.Errorf("yaml: a document has more than %d directives (lines that begin with %%)", MaxDirectives)
		}
	}
	return nil
}

// Worded returns what a parser says of a line of the text, from 1: it has no word for a tab where a value may begin.
func Worded(message, text string, line int) string {
	lines := strings.Split(text, "\n")
	if message == "found character that cannot start any token" && line > 0 && line <= len(lines) && strings.HasPrefix(strings.TrimLeft(lines[line-1], " "), "\t") {
		return "found a tab character that violates indentation"
	}
	return message
}

// lines returns the lines of the text that are not empty, without their breaks: those that YAML 1.1 has.
func lines(text []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(text, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029'
	})
}

// Nodes returns how many values the text may have, without parsing it: it counts what comes before, after
// or between values, in strings and comments, too.
func Nodes(text []byte) int {
	count := 1
	for i, c := range text {
		switch c {
		case ',', '[', '{', ':':
			count++
		case '-', '?':
			if i+1 == len(text) || bytes.IndexByte([]byte(" \t\r\n"), text[i+1]) >= 0 {
				count++
			}
		}
	}
	return count
}

// UTF8 returns the text in UTF-8, without a byte order mark. As for kubectl, such a mark
// says that the text is in UTF-8 or UTF-16; without one, it stays as it is.
func UTF8(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) && !bytes.HasPrefix(text, []byte("\xff\xfe")) && !bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return text
	}
	converted, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), text)
	if err != nil {
		return text // never: what is not a character is replaced
	}
	return converted
}
