// Package strict reads the files of settings and of tests that people write for gammaguard: each error names the file, the
// line, the field, and what is expected.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// maxErrors is how many errors of one file are reported.
const maxErrors = 10

// Document is a YAML document of fields, and what is wrong with it.
type Document struct {
	file string
	root *yaml.Node
	// lines is how many lines the text has, and second the line of a second document; 0 for none.
	lines, second int
	errs          []error
}

// Decode reads the first document of the text into a struct, by the names of its fields in JSON. The struct has the fields
// apiVersion and kind, which must have these values.
func Decode(file string, text []byte, apiVersion, kind string, into any) *Document {
	d := &Document{file: file, lines: bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) + 1}
	var first yaml.Node
	var documents []*yaml.Node
	err := yaml.Check(text)
	if err == nil {
		err = yaml.Unmarshal(text, &first)
	}
	if err == nil {
		documents, err = yaml.Documents(text)
	}
	if len(documents) > 1 {
		d.second = documents[1].Line
	}
	switch {
	case err != nil:
		d.broken(err, string(text))
	case len(first.Content) == 0, first.Content[0].Tag == "!!null":
		d.fail(1, "", "is empty: apiVersion: %s and kind: %s are required", apiVersion, kind)
	default:
		d.root = first.Content[0]
		d.decode(apiVersion, kind, reflect.ValueOf(into).Elem())
	}
	return d
}

// decode reads the root. Of a file of another kind, that alone is reported.
func (d *Document) decode(apiVersion, kind string, into reflect.Value) {
	if d.root.Kind == yaml.MappingNode && (d.text("apiVersion") != apiVersion || d.text("kind") != kind) {
		line := d.Line("kind")
		if d.text("apiVersion") != apiVersion {
			line = d.Line("apiVersion")
		}
		d.fail(line, "", "apiVersion and kind must be %s and %s", apiVersion, kind)
		return
	}
	d.value(d.root, "", into)
}

// text returns the value of a field of the root.
func (d *Document) text(name string) string {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if value := d.root.Content[i+1]; d.root.Content[i].Value == name && value.Kind == yaml.ScalarNode {
			return value.Value
		}
	}
	return ""
}

// Alone adds an error if there is a second document.
func (d *Document) Alone() {
	if d.second > 0 {
		d.fail(d.second, "", "a second document is not read; write each file as one document")
	}
}

// Err returns what is wrong with the document, one error a line.
func (d *Document) Err() error { return errors.Join(d.errs...) }

// Fail adds an error about a field, such as sets[0].files.
func (d *Document) Fail(field, problem string, args ...any) {
	d.fail(d.Line(field), field, problem, args...)
}

func (d *Document) fail(line int, field, problem string, args ...any) {
	message := printable.Shortened(printable.Sprintf(problem, args...))
	if field != "" {
		message = field + ": " + message
	}
	switch {
	case len(d.errs) < maxErrors:
		d.errs = append(d.errs, fmt.Errorf("%s:%d: %s", d.file, max(1, min(line, d.lines)), message))
	case len(d.errs) == maxErrors:
		d.errs = append(d.errs, fmt.Errorf("%s: there are more errors", d.file))
	}
}

var (
	lineOf = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s+)?line (\d+): `)
	// before begins errors whose line is the one before: the parser counts it from 0.
	before = regexp.MustCompile(`^did not find expected (key|node content|[<',-])`)
)

// broken reports that the text is not YAML.
func (d *Document) broken(err error, text string) {
	line, message := 1, err.Error()
	if at := lineOf.FindStringSubmatch(message); at != nil {
		line, _ = strconv.Atoi(at[1]) // digits
		if message = message[len(at[0]):]; before.MatchString(message) {
			line++
		}
		message = yaml.Worded(message, text, line)
	}
	d.fail(line, "", "broken YAML: %s", strings.TrimPrefix(message, "yaml: "))
}

var step = regexp.MustCompile(`^\.?([^.\[\]]+)|^\[(\d+)\]`)

// Line returns the line of a field, or of what there is of the way to it; 1 for nothing.
func (d *Document) Line(field string) int {
	node, line := d.root, 1
	if node != nil {
		line = node.Line
	}
	for field != "" && node != nil {
		at := step.FindStringSubmatch(field)
		if at == nil {
			break
		}
		field = field[len(at[0]):]
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		var below *yaml.Node
		switch node.Kind {
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(at[2]); err == nil && i < len(node.Content) {
				below = node.Content[i]
				line = below.Line
			}
		case yaml.MappingNode:
			for i := 0; i+1 < len(node.Content) && below == nil; i += 2 {
				if key := node.Content[i]; key.Value == at[1] && at[1] != "" {
					below, line = node.Content[i+1], key.Line
				}
			}
		}
		node = below
	}
	return line
}
