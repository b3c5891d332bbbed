package mesh

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The lists of a route have types of their own, which hold the limits of the
// CustomResourceDefinitions while they are decoded: mutating webhooks are called before
// the API server does, and other callers do not go through it at all. A limit is the
// largest of any kind and channel.

// ParentRefs are the parentRefs of a route.
type ParentRefs []ParentRef

// UnmarshalJSONFrom reads at most 32.
func (l *ParentRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 32) }

// Hostnames are the hostnames of a route.
type Hostnames []string

// UnmarshalJSONFrom reads at most 1024: a TLSRoute may have as many.
func (l *Hostnames) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 1024) }

// RouteRules are the rules of a route.
type RouteRules []RouteRule

// UnmarshalJSONFrom reads at most 16.
func (l *RouteRules) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 16) }

// RouteMatches are the matches of a rule.
type RouteMatches []RouteMatch

// UnmarshalJSONFrom reads at most 64.
func (l *RouteMatches) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 64) }

// ValueMatches are the headers or query parameters of a match.
type ValueMatches []ValueMatch

// UnmarshalJSONFrom reads at most 16.
func (l *ValueMatches) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 16) }

// Filters are the filters of a rule or of a backendRef.
type Filters []Filter

// UnmarshalJSONFrom reads at most 16.
func (l *Filters) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 16) }

// BackendRefs are the backendRefs of a rule.
type BackendRefs []BackendRef

// UnmarshalJSONFrom reads at most 16.
func (l *BackendRefs) UnmarshalJSONFrom(d *jsontext.Decoder) error { return DecodeList(d, l, 16) }

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
			return &json.SemanticError{JSONPointer: d.StackPointer().Parent(), Err: fmt.Errorf("must have at most %d items", limit)}
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
