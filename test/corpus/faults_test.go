package corpus

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// fault is one fault in one field.
type fault struct {
	// Path is the field's in the spec; "[]" stands for the first item of a list.
	Path []string
	// Name says what is wrong, such as "maxItems".
	Name string
	// change returns what takes the place of the field's value, or of the value that
	// many levels above it.
	change func(value any) any
	above  int
}

// String names the fault and the field.
func (f fault) String() string {
	return f.Name + " of " + strings.ReplaceAll(strings.Join(append([]string{"spec"}, f.Path...), "."), ".[]", "[]")
}

// absent takes the place of a field that is to be left out.
type absent struct{}

// again marks a field that is written a second time.
const again = "\x00again:"

// faults returns all faults that can be planted: each field with a value of the
// wrong type, beyond each of its limits, left out, unknown, and written twice.
func (g *generator) faults() []fault { return faultsOf(g.spec, nil, false) }

// plant returns a route, in JSON, with the faults planted one after the other. A
// later one whose field is not there any more is passed over.
func (g *generator) plant(faults ...fault) []byte {
	return encode(withFaults(g.with(faults[0].Path), faults))
}

func withFaults(route map[string]any, faults []fault) map[string]any {
	for _, f := range faults {
		route["spec"] = replace(route["spec"], f.Path[:len(f.Path)-f.above], f.change)
	}
	return route
}

// encode writes a route.
func encode(route map[string]any) []byte {
	text, err := json.Marshal(route)
	if err != nil {
		panic(err) // it is made of JSON values
	}
	return bytes.ReplaceAll(text, []byte(`"\u0000again:`), []byte(`"`))
}

// replace changes the value at the path, and returns the whole.
func replace(value any, path []string, change func(any) any) any {
	if len(path) == 0 {
		return change(value)
	}
	switch value := value.(type) {
	case map[string]any:
		if old, found := value[path[0]]; found {
			value[path[0]] = replace(old, path[1:], change)
			if _, out := value[path[0]].(absent); out {
				delete(value, path[0])
			}
		}
	case []any:
		if len(value) > 0 && path[0] == "[]" {
			value[0] = replace(value[0], path[1:], change)
		}
	}
	return value
}

func faultsOf(s *props, path []string, required bool) []fault {
	var faults []fault
	add := func(name string, change func(any) any) {
		faults = append(faults, fault{Path: path, Name: name, change: change})
	}
	set := func(name string, value any) { add(name, func(any) any { return value }) }
	set("null", nil)
	if required {
		set("absence", absent{})
	}
	if len(s.Enum) > 0 {
		set("enum", "Nope")
	}
	switch s.Type {
	case "object":
		set("type", "object")
		add("unknown field", func(value any) any { return with(value, "color", "red") })
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			field := s.Properties[name]
			faults = append(faults, faultsOf(&field, append(slices.Clone(path), name), slices.Contains(s.Required, name))...)
		}
	case "array":
		faults = append(faults, listFaults(s, path)...)
	case "string":
		set("type", int64(7))
		set("pattern", "?!")
		set("wildcard", "*?!")
		set("empty string", "")
		if s.MaxLength != nil {
			set("maxLength", longest(s)+"a")
		}
	case "integer":
		set("type", "7")
		set("fraction", 1.5)
		if s.Minimum != nil {
			set("minimum", int64(*s.Minimum)-1)
		}
		if s.Maximum != nil {
			set("maximum", int64(*s.Maximum)+1)
		}
	case "boolean":
		set("type", "yes")
	}
	if len(path) > 0 && path[len(path)-1] != "[]" {
		faults = append(faults, writtenTwice(path))
	}
	return faults
}

func listFaults(s *props, path []string) []fault {
	item := append(slices.Clone(path), "[]")
	faults := []fault{
		{Path: path, Name: "type", change: func(any) any { return map[string]any{} }},
		{Path: path, Name: "empty list", change: func(any) any { return []any{} }},
		{Path: item, Name: "repetition", above: 1, change: func(value any) any { return repeat(value, 2) }},
	}
	if s.MaxItems != nil {
		faults = append(faults, fault{Path: item, Name: "maxItems", above: 1, change: func(value any) any { return repeat(value, int(*s.MaxItems)+1) }})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Items.Schema.Properties)) {
		// Lists in the items of a list may be too long together, though none is alone.
		if inner := s.Items.Schema.Properties[name]; inner.MaxItems != nil && len(path) == 1 {
			faults = append(faults, fault{Path: append(slices.Clone(item), name, "[]"), Name: "full lists", above: 3, change: func(value any) any {
				filled := replace(value, []string{"[]", name}, func(list any) any { return repeat(list, int(*inner.MaxItems)) })
				return repeat(filled, 3)
			}})
		}
	}
	return append(faults, faultsOf(s.Items.Schema, item, false)...)
}

// repeat returns a list of the first item.
func repeat(value any, times int) any {
	list, is := value.([]any)
	if !is || len(list) == 0 {
		return value
	}
	return slices.Repeat(list[:1], times)
}

// writtenTwice writes the field a second time.
func writtenTwice(path []string) fault {
	return fault{Path: path, Name: "second writing", above: 1, change: func(value any) any {
		return with(value, again+path[len(path)-1], "again")
	}}
}

// with sets a field of an object.
func with(value any, name string, field any) any {
	if object, is := value.(map[string]any); is {
		object[name] = field
	}
	return value
}
