package strict

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// maxEntries is how many entries a list has, and maxFields how many fields a mapping.
const (
	maxEntries = 20_000
	maxFields  = 1000
)

// value reads a node into a value.
func (d *Document) value(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.value(n.Alias, path, into) // the types end, whatever contains itself
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		d.fail(n.Line, path, "has no value; specify one, or remove the field")
	case into.Kind() == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.value(n, path, into.Elem())
	case n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!!int") && isText(into):
		if err := into.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value)); err != nil { //nolint:forcetypeassert // see isText
			d.fail(n.Line, path, "%v", err)
		}
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

// isText reports whether the value can be written as one text.
func isText(v reflect.Value) bool {
	return v.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func (d *Document) scalar(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fail(n.Line, path, "must be a single value")
	case into.Kind() == reflect.String && n.Tag == "!!str":
		into.SetString(n.Value)
	case into.Kind() == reflect.String:
		d.fail(n.Line, path, "must be a string; put %s in quotes", n.Value)
	case into.Kind() == reflect.Bool:
		if n.Tag != "!!bool" {
			d.fail(n.Line, path, "must be true or false, not %s", written(n))
			return
		}
		into.SetBool(strings.EqualFold(n.Value, "true"))
	default: // a number
		number, err := strconv.ParseInt(n.Value, 10, into.Type().Bits())
		if n.Tag != "!!int" || err != nil {
			d.fail(n.Line, path, "must be a number, not %s", written(n))
			return
		}
		into.SetInt(number)
	}
}

// written returns a value as it is in the file, with the quotes that make it a string.
func written(n *yaml.Node) string {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return strconv.Quote(n.Value)
	}
	return n.Value
}

func (d *Document) list(n *yaml.Node, path string, into reflect.Value) {
	switch {
	case n.Kind != yaml.SequenceNode:
		d.fail(n.Line, path, "must be a list; begin each entry with -")
		return
	case len(n.Content) > maxEntries:
		d.fail(n.Line, path, "has more than %d entries", maxEntries)
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, fmt.Sprintf("%s[%d]", path, i), into.Index(i))
	}
}

// texts reads a map of strings.
func (d *Document) texts(n *yaml.Node, path string, into reflect.Value) {
	into.Set(reflect.MakeMap(into.Type()))
	d.fields(n, path, func(key *yaml.Node, path string, value *yaml.Node) {
		text := reflect.New(into.Type().Elem()).Elem()
		d.value(value, path, text)
		into.SetMapIndex(reflect.ValueOf(key.Value), text)
	})
}

// Elsewhere is what is decoded, if fields of another file may be taken for fields of it.
type Elsewhere interface {
	// Elsewhere says where a field belongs that is unknown here; empty if that is not known either.
	Elsewhere(field string) string
}

// object reads the fields of a struct by their names in JSON.
func (d *Document) object(n *yaml.Node, path string, into reflect.Value) {
	known := map[string]reflect.Value{}
	var names []string
	for i := range into.NumField() {
		if name, _, _ := strings.Cut(into.Type().Field(i).Tag.Get("json"), ","); name != "" {
			known[name], names = into.Field(i), append(names, name)
		}
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n.Line, path, "must be a mapping of fields to values; the fields here are %s", strings.Join(names, ", "))
		return
	}
	d.fields(n, path, func(key *yaml.Node, at string, value *yaml.Node) {
		if field, ok := known[key.Value]; ok {
			d.value(value, at, field)
			return
		}
		hint := "the fields here are " + strings.Join(names, ", ")
		if other, ok := into.Addr().Interface().(Elsewhere); ok {
			hint = cmp.Or(other.Elsewhere(key.Value), hint)
		}
		d.fail(key.Line, at, "unknown field; %s", hint)
	})
}

// fields calls read for each field of a mapping.
func (d *Document) fields(n *yaml.Node, path string, read func(key *yaml.Node, path string, value *yaml.Node)) {
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
		if len(seen) > maxFields {
			d.fail(n.Line, path, "has more than %d fields", maxFields)
			return
		}
	}
}
