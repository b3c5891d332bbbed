package expect

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// decoder reads YAML into values, strictly: an error names the line and the field.
type decoder struct {
	file string
	errs []error
}

func (d *decoder) fail(line int, path, problem string, args ...any) {
	message := printable.Shortened(printable.Sprintf(problem, args...))
	if path != "" {
		message = path + ": " + message
	}
	switch {
	case len(d.errs) < maxErrors:
		d.errs = append(d.errs, fmt.Errorf("%s:%d: %s", d.file, max(line, 1), message))
	case len(d.errs) == maxErrors:
		d.errs = append(d.errs, fmt.Errorf("%s: there are more errors", d.file))
	}
}

// value reads a node into a value.
func (d *decoder) value(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.fail(n.Line, path, "aliases are not supported; write the value in full")
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		d.fail(n.Line, path, "has no value; specify one, or remove the field")
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(n, path, into.Elem())
	case into.Kind() == reflect.Struct:
		d.object(n, path, into)
	case into.Kind() == reflect.Slice:
		d.list(n, path, into)
	case into.Kind() == reflect.Map:
		d.texts(n, path, into)
	default:
		d.scalar(n, path, into)
	}
}

func (d *decoder) scalar(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fail(n.Line, path, "must be a single value")
	case into.Kind() == reflect.String && (n.Tag == "!!str" || n.Tag == "!!int" && into.Type() == reflect.TypeFor[Status]()):
		into.SetString(n.Value)
	case into.Kind() == reflect.String:
		d.fail(n.Line, path, "must be a string; put %s in quotes", n.Value)
	case into.Kind() == reflect.Bool:
		if n.Tag != "!!bool" {
			d.fail(n.Line, path, "must be true or false, not %s", n.Value)
			return
		}
		into.SetBool(strings.EqualFold(n.Value, "true"))
	default: // a number
		number, err := strconv.ParseInt(n.Value, 10, into.Type().Bits())
		if n.Tag != "!!int" || err != nil {
			d.fail(n.Line, path, "must be a number, not %s", n.Value)
			return
		}
		into.SetInt(number)
	}
}

func (d *decoder) list(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind != yaml.SequenceNode:
		d.fail(n.Line, path, "must be a list")
		return
	case len(n.Content) > maxTests:
		d.fail(n.Line, path, "has more than %d entries", maxTests)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), into.Index(i))
	}
}

// texts reads a map of strings.
func (d *decoder) texts(n *yaml.Node, path string, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	d.fields(n, path, func(key *yaml.Node, path string, value *yaml.Node) {
		text := reflect.New(into.Type().Elem()).Elem()
		d.value(value, path, text)
		into.SetMapIndex(reflect.ValueOf(key.Value), text)
	})
}

// object reads the fields of a struct by their names in JSON.
func (d *decoder) object(n *yaml.Node, path string, into reflect.Value) {
	if at := into.FieldByName("line"); at.IsValid() {
		into.Addr().Interface().(*Test).line = n.Line //nolint:forcetypeassert // it is the one with a line
	}
	known := map[string]reflect.Value{}
	var names []string
	for i := range into.NumField() {
		if name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ","); name != "" {
			known[name], names = into.Field(i), append(names, name)
		}
	}
	d.fields(n, path, func(key *yaml.Node, at string, value *yaml.Node) {
		if field, ok := known[key.Value]; ok {
			d.value(value, at, field)
		} else {
			d.fail(key.Line, at, "unknown field; the fields here are %s", strings.Join(names, ", "))
		}
	})
}

// fields calls read for each field of a mapping.
func (d *decoder) fields(n *yaml.Node, path string, read func(key *yaml.Node, path string, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n.Line, path, "must be a mapping of fields to values")
		return
	}
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := strings.TrimPrefix(path+"."+printable.Shortened(printable.Text(key.Value)), ".")
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key.Line, path, "must be a mapping of fields to values: a name of a field is not a single value")
		case slices.Contains(seen, key.Value):
			d.fail(key.Line, at, "is there twice")
		default:
			seen = append(seen, key.Value)
			read(key, at, n.Content[i+1])
		}
		if len(seen) > 1000 {
			d.fail(n.Line, path, "has more than %d fields", 1000)
			return
		}
	}
}
