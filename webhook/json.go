package webhook

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-faster/jx"

	"github.com/gammaguard/gammaguard/mesh"
)

// misread says where in the review a value is wrong.
type misread struct {
	path  string
	cause error
}

func (m *misread) Error() string { return m.path + ": " + m.cause.Error() }
func (m *misread) Unwrap() error { return m.cause }

// within puts a step in front of the place that the error names.
func within(step string, err error) error {
	m, ok := err.(*misread) //nolint:errorlint // it is never wrapped
	switch {
	case !ok:
		return &misread{step, err}
	case !strings.HasPrefix(m.path, "["):
		step += "."
	}
	m.path = step + m.path
	return m
}

// is says whether a value of the type comes next. If it is null, that is read.
func is(d *jx.Decoder, want jx.Type) (bool, error) {
	switch got := d.Next(); got {
	case want, jx.Invalid: // what is invalid is for the reader to tell
		return true, nil
	case jx.Null:
		return false, d.Null()
	default:
		return false, fmt.Errorf("found %s, want %s", got, want)
	}
}

// object reads an object by its members.
func object(d *jx.Decoder, member func(name []byte) error) error {
	if ok, err := is(d, jx.Object); !ok {
		return err
	}
	members, err := d.ObjIter()
	if err != nil {
		return err
	}
	for members.Next() {
		if err := member(members.Key()); err != nil {
			return within(string(members.Key()), err)
		}
	}
	return members.Err()
}

// list reads an array by its items.
func list[T any](d *jx.Decoder, into *[]T, item func(*jx.Decoder, *T) error) error {
	*into = nil
	if ok, err := is(d, jx.Array); !ok {
		return err
	}
	*into = []T{}
	items, err := d.ArrIter()
	if err != nil {
		return err
	}
	for items.Next() {
		*into = append(*into, *new(T))
		if err := item(d, &(*into)[len(*into)-1]); err != nil {
			return within(fmt.Sprintf("[%d]", len(*into)-1), err)
		}
	}
	return items.Err()
}

// pointer reads what may be left out.
func pointer[T any](d *jx.Decoder, into **T, read func(*jx.Decoder, *T) error) error {
	if d.Next() == jx.Null {
		*into = nil
		return d.Null()
	}
	if *into == nil {
		*into = new(T)
	}
	return read(d, *into)
}

// value reads a value of a type that is neither object nor array.
func value[T any](d *jx.Decoder, want jx.Type, into *T, read func(*jx.Decoder) (T, error)) error {
	if ok, err := is(d, want); !ok {
		return err
	}
	v, err := read(d)
	if err == nil {
		*into = v
	}
	return err
}

// text reads a string.
func text[T ~string](d *jx.Decoder, into *T) error {
	return value(d, jx.String, into, func(d *jx.Decoder) (T, error) {
		s, err := d.StrBytes()
		return T(word(s)), err
	})
}

// number reads a 32-bit integer.
func number(d *jx.Decoder, into *int32) error {
	return value(d, jx.Number, into, (*jx.Decoder).Int32)
}

// timestamp reads a time as the API has it (RFC 3339).
func timestamp(d *jx.Decoder, into *time.Time) error {
	return value(d, jx.String, into, func(d *jx.Decoder) (t time.Time, err error) {
		text, err := d.StrBytes()
		if err == nil {
			err = t.UnmarshalText(text)
		}
		return t, err
	})
}

// word returns the text, without allocating for the words that most reviews have.
func word(s []byte) string {
	switch string(s) {
	case mesh.ServiceKind:
		return mesh.ServiceKind
	case string(mesh.HTTPRoute):
		return string(mesh.HTTPRoute)
	case operationCreate:
		return operationCreate
	case operationUpdate:
		return operationUpdate
	case reviewVersion:
		return reviewVersion
	case reviewKind:
		return reviewKind
	case "PathPrefix":
		return "PathPrefix"
	case "Exact":
		return "Exact"
	}
	return string(s)
}
