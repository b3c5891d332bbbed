package expect

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// heading is what a file begins with that the program wrote.
const heading = `# Tests of traffic, which gammaguard test runs: one for each class of requests, as --init found them.
`

// marshal writes the file: each request and each expectation on a line of its own.
func (f *File) marshal() ([]byte, error) {
	var out strings.Builder
	out.WriteString(heading)
	var failed error
	field := func(before string, value any) {
		n := nodeOf(reflect.ValueOf(value))
		n.Style |= yaml.FlowStyle
		text, err := yaml.Marshal(n)
		failed = errors.Join(failed, err)
		out.WriteString(before + ": " + strings.TrimSpace(string(text)) + "\n")
	}
	field("apiVersion", f.APIVersion)
	field("kind", f.Kind)
	if f.Input != nil {
		field("input", f.Input)
	}
	out.WriteString("tests:\n")
	for i := range f.Tests {
		t := &f.Tests[i]
		field("- name", t.Name)
		if len(t.Meshes) > 0 {
			field("  meshes", t.Meshes)
		}
		field("  request", t.Request)
		field("  expect", t.Expect)
	}
	return []byte(out.String()), failed
}

// nodeOf returns the YAML of a value as the decoder reads it, in the order of the fields, without those that may be
// left out.
func nodeOf(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		return nodeOf(v.Elem())
	case reflect.Struct:
		return objectNode(v)
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, nodeOf(v.Index(i)))
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			n.Content = append(n.Content, nodeOf(key), nodeOf(v.MapIndex(key)))
		}
		return n
	case reflect.String:
		n := &yaml.Node{}
		n.SetString(v.String())
		if n.Style == yaml.LiteralStyle || printable.Text(v.String()) != v.String() { // which takes more than one line, or is escaped where it is shown
			n.Style = yaml.DoubleQuotedStyle
		}
		if _, err := strconv.Atoi(v.String()); err == nil && v.Type() == reflect.TypeFor[Status]() {
			n.Tag = "!!int"
		}
		return n
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v.Bool())}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(v.Interface())}
	}
}

func objectNode(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		if name == "" || options == "omitempty" && (field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0) {
			continue
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, nodeOf(field))
	}
	return n
}
