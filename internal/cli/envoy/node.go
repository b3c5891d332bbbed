package envoy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// node is a value of a JSON text, and its place there.
type node struct {
	value any // nil where it is not there
	place string
	// first is the first mistake in the text, and spent is what was read of it: all nodes of it share them.
	first *error
	spent *spent
}

// spent counts what a text may not have too much of.
type spent struct{ routes, expressions int }

// parse returns the root of a JSON text.
func parse(data []byte) (node, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return node{}, jsonError(data, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("the text goes on after the JSON value")
	}
	return node{value: value, first: new(error), spent: &spent{}}, nil
}

// jsonError names the line of a mistake.
func jsonError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return fmt.Errorf("line %d is not valid JSON: %w", line, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON text is empty or cut off")
	}
	return err
}

// fail notes a mistake at the node, unless there was one before.
func (n node) fail(format string, args ...any) {
	if *n.first == nil {
		place := n.place
		if place == "" {
			place = "the whole text"
		}
		*n.first = fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...))
	}
}

func (n node) exists() bool { return n.value != nil }

// get returns a field of an object, by its name in lowerCamelCase.
func (n node) get(name string) node {
	field := node{place: strings.TrimPrefix(n.place+"."+name, "."), first: n.first, spent: n.spent}
	switch object := n.value.(type) {
	case nil:
	case map[string]any:
		value, ok := object[name]
		if !ok {
			value = object[snakeCase(name)]
		}
		field.value = value
	default:
		n.fail("want an object, not %s", n.kind())
	}
	return field
}

// fields returns the names of the fields that an object has, in lowerCamelCase.
func (n node) fields() []string {
	object, ok := n.value.(map[string]any)
	if !ok && n.exists() {
		n.fail("want an object, not %s", n.kind())
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, camelCase(name))
	}
	return names
}

// list returns the items of a list.
func (n node) list() []node {
	items, ok := n.value.([]any)
	if !ok && n.exists() {
		n.fail("want a list, not %s", n.kind())
	}
	nodes := make([]node, len(items))
	for i := range items {
		nodes[i] = node{items[i], fmt.Sprintf("%s[%d]", n.place, i), n.first, n.spent}
	}
	return nodes
}

// text returns a string, empty where there is none.
func (n node) text() string {
	text, ok := n.value.(string)
	if !ok && n.exists() {
		n.fail("want a string, not %s", n.kind())
	}
	return text
}

// flag returns a boolean, and the default where there is none.
func (n node) flag(byDefault bool) bool {
	flag, ok := n.value.(bool)
	switch {
	case ok:
		return flag
	case n.exists():
		n.fail("want true or false, not %s", n.kind())
	}
	return byDefault
}

// number returns an integer, and 0 where there is none. In the JSON of protobuf,
// one may be a string.
func (n node) number() int64 {
	if !n.exists() {
		return 0
	}
	text, ok := n.value.(string)
	if number, is := n.value.(json.Number); is {
		text, ok = number.String(), true
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		n.fail("want an integer, not %s", n.kind())
		return 0
	}
	return number
}

// duration returns a duration such as "1.5s", and the default where there is none.
func (n node) duration(byDefault time.Duration) time.Duration {
	if !n.exists() {
		return byDefault
	}
	d, err := time.ParseDuration(n.text())
	if err != nil {
		n.fail("want a duration such as \"15s\"")
		return byDefault
	}
	return d
}

// kind describes what a value is.
func (n node) kind() string {
	switch value := n.value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case json.Number:
		return "the number " + value.String()
	case bool:
		return strconv.FormatBool(value)
	}
	return "null"
}

func snakeCase(name string) string {
	var out strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			out.WriteByte('_')
			r = unicode.ToLower(r)
		}
		out.WriteRune(r)
	}
	return out.String()
}

func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		if word != "" {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}
