package webhook

import (
	"bytes"

	"sigs.k8s.io/json"
)

// sameJSON says whether two JSON values mean the same: the order of keys, spaces
// and the spelling of strings and numbers apart. Two absent values are the same,
// and one that cannot be read is like no other.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	var x, y any
	if json.UnmarshalCaseSensitivePreserveInts(a, &x) != nil || json.UnmarshalCaseSensitivePreserveInts(b, &y) != nil {
		return false
	}
	return sameValue(x, y)
}

// sameValue compares decoded values. Numbers are int64 where they are written as
// integers that fit, and float64 else.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			other, has := y[key]
			if !has || !sameValue(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case int64:
		if y, ok := b.(float64); ok {
			return sameNumber(x, y)
		}
	case float64:
		if y, ok := b.(int64); ok {
			return sameNumber(y, x)
		}
	}
	return a == b
}

// sameNumber compares an integer with a number that was not written as one.
func sameNumber(whole int64, number float64) bool {
	const exact = 1 << 53 // beyond it, several integers round to one float64
	return whole <= exact && whole >= -exact && float64(whole) == number
}
