package mesh

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The methods in this file hold the limits of the CustomResourceDefinitions while a route
// is decoded: mutating webhooks are called before the API server does, and other callers do
// not go through it at all. A limit is the largest of any kind and channel.

// UnmarshalJSONFrom reads one of at most 32.
func (*ParentRef) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 32) }

// UnmarshalJSONFrom reads one of at most 16.
func (*RouteRule) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 16) }

// UnmarshalJSONFrom reads one of at most 64.
func (*RouteMatch) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 64) }

// UnmarshalJSONFrom reads one of at most 16.
func (*ValueMatch) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 16) }

// UnmarshalJSONFrom reads one of at most 16.
func (*Filter) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 16) }

// UnmarshalJSONFrom reads one of at most 16.
func (*BackendRef) UnmarshalJSONFrom(d *jsontext.Decoder) error { return item(d, 16) }

// item has the library read a value, unless it is an item of a list beyond the limit.
func item(d *jsontext.Decoder, limit int) error {
	if kind, before := d.StackIndex(d.StackDepth()); kind == '[' && before >= int64(limit) {
		return tooLong(d, limit)
	}
	return errors.ErrUnsupported
}

// tooLong reports that the list which is read has too many items.
func tooLong(d *jsontext.Decoder, limit int) error {
	return &json.SemanticError{JSONPointer: d.StackPointer().Parent(), Err: fmt.Errorf("must have at most %d items", limit)}
}

// Hostnames are the hostnames of a route.
type Hostnames []string

// UnmarshalJSONFrom reads at most 1024: a TLSRoute may have as many.
func (l *Hostnames) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 1024) }

// DecodeList reads a list as the JSON library does, but not beyond the limit: nothing is
// allocated for what is too much.
func DecodeList[L ~[]T, T any](d *jsontext.Decoder, list *L, limit int) error {
	if d.PeekKind() != '[' {
		return errors.ErrUnsupported // the library reads null, and refuses the rest
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	read := (*list)[:0]
	for d.PeekKind() != ']' {
		if len(read) == limit {
			return tooLong(d, limit)
		}
		var zero T
		read = append(read, zero)
		if err := json.UnmarshalDecode(d, &read[len(read)-1]); err != nil {
			return err
		}
	}
	if read == nil {
		read = L{}
	}
	*list = read
	_, err := d.ReadToken()
	return err
}
