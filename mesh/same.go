package mesh

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// SameSpec reports whether two routes, in JSON, have the same spec: all fields, those
// that gammaguard does not read included, whatever the order of keys and the spelling
// of numbers.
func SameSpec(a, b []byte) bool {
	var x, y struct {
		Spec jsontext.Value `json:"spec"`
	}
	return Decode(a, &x) == nil && Decode(b, &y) == nil && sameJSON(x.Spec, y.Spec)
}

// Unchanged reports whether two routes, in JSON, are the same to a mesh: their spec, and
// their labels and annotations under the meshes' domains, which shape traffic as the spec
// does. What cannot be read has changed.
func Unchanged(a, b []byte) bool {
	var x, y struct {
		Metadata struct {
			Labels      meshKeys `json:"labels"`
			Annotations meshKeys `json:"annotations"`
		} `json:"metadata"`
	}
	return SameSpec(a, b) && Decode(a, &x) == nil && Decode(b, &y) == nil &&
		x.Metadata.Labels.same(y.Metadata.Labels) && x.Metadata.Annotations.same(y.Metadata.Annotations)
}

// meshKeys are the labels or annotations that meshes read.
type meshKeys map[string]jsontext.Value

// same reports whether both have the same keys under the meshes' domains, with the same values.
func (m meshKeys) same(other meshKeys) bool {
	return m.within(other) && other.within(m)
}

// within reports whether the other keys have all of these that meshes read.
func (m meshKeys) within(other meshKeys) bool {
	for key, value := range m {
		if inMeshDomain(key) && !sameJSON(value, other[key]) {
			return false
		}
	}
	return true
}

// sameJSON reports whether two JSON values have the same meaning, regardless of the
// order of keys, spaces, and the notation of strings and numbers. Two absent values
// are the same; a value that cannot be read equals no other.
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
