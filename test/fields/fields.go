// Package fields compares the types that gammaguard decodes objects into, which have few
// fields, with those that the API publishes, which have all.
package fields

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Differences returns the JSON fields of a type that none of the published types has, and those
// that one of these has with values of another type. Where a type reads its text by a method of
// its own, what it makes of it is not compared.
func Differences(ours any, published ...any) []string {
	types := make([]reflect.Type, len(published))
	for i, p := range published {
		types[i] = reflect.TypeOf(p)
	}
	d := &differences{}
	d.compare(types[0].Name(), reflect.TypeOf(ours), types)
	slices.Sort(d.found)
	return slices.Compact(d.found)
}

type differences struct{ found []string }

func (d *differences) add(path, format string, args ...any) {
	d.found = append(d.found, path+": "+fmt.Sprintf(format, args...))
}

// compare compares the values at a path.
func (d *differences) compare(path string, ours reflect.Type, published []reflect.Type) {
	ours = pointedTo(ours)
	var alike []reflect.Type // those with parts that are compared
	for _, other := range published {
		switch other = pointedTo(other); {
		case raw(ours):
		case kind(ours) == kind(other), ours.Kind() == reflect.Struct && other.Kind() == reflect.Map:
			alike = append(alike, other)
		case other.Kind() == reflect.String && reads(ours):
		default:
			d.add(path, "read as %s, published as %s", kind(ours), kind(other))
		}
	}
	switch {
	case len(alike) == 0 || kind(ours) != ours.Kind():
	case ours.Kind() == reflect.Slice || ours.Kind() == reflect.Map:
		for i := range alike {
			alike[i] = alike[i].Elem()
		}
		d.compare(path+"[]", ours.Elem(), alike)
	case ours.Kind() == reflect.Struct:
		for name, field := range fieldsOf(ours) {
			d.field(path+"."+name, name, field, alike)
		}
	}
}

// field compares a field of a struct.
func (d *differences) field(path, name string, ours reflect.Type, published []reflect.Type) {
	var having []reflect.Type
	for _, other := range published {
		if other.Kind() == reflect.Map {
			having = append(having, other.Elem())
		} else if field := fieldsOf(other)[name]; field != nil {
			having = append(having, field)
		}
	}
	if len(having) == 0 {
		d.add(path, "not published")
		return
	}
	d.compare(path, ours, having)
}

// fieldsOf returns the types of a struct's fields by their JSON names.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		switch name, _, _ := strings.Cut(field.Tag.Get("json"), ","); {
		case name == "-" || name == "" && !field.Anonymous:
		case name != "":
			all[name] = field.Type
		default:
			for name, inner := range fieldsOf(pointedTo(field.Type)) {
				all[name] = inner
			}
		}
	}
	return all
}

// kind returns the kind of a type's values in JSON.
func kind(t reflect.Type) reflect.Kind {
	if t.ConvertibleTo(reflect.TypeFor[metav1.Time]()) || t.ConvertibleTo(reflect.TypeFor[metav1.MicroTime]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return reflect.String
	}
	return t.Kind()
}

// raw reports whether the type keeps any JSON as text.
func raw(t reflect.Type) bool { return t == reflect.TypeFor[jsontext.Value]() }

// reads reports whether the type reads JSON by a method.
func reads(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.UnmarshalerFrom]())
}

func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
