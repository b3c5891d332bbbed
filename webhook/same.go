package webhook

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// sameJSON says whether two JSON values mean the same: the order of keys, spaces
// and the spelling of strings and numbers apart. Two absent values are the same,
// and one that cannot be read is like no other.
func sameJSON(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return len(a) > 0 && len(b) > 0 && canonicalize(&a) == nil && canonicalize(&b) == nil && bytes.Equal(a, b)
}

// canonicalize writes the value without spaces, with sorted keys, and with numbers
// in their shortest form; integers keep all their digits.
func canonicalize(v *jsontext.Value) error {
	return v.Format(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawFloats(true))
}
