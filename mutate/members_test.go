package mutate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mutate"
)

// checkOnlyNamed compares two objects member by member, by their bytes: each change
// must have set its member, and all others must be the same.
func checkOnlyNamed(t *testing.T, before, after []byte, changes []mutate.Change) {
	t.Helper()
	want, got := members(t, before), members(t, after)
	for i := range changes {
		change := &changes[i]
		if _, ok := want[change.Pointer()]; !ok && change.Op == mutate.Replace {
			t.Errorf("%s is replaced, but was not there", change.Path)
		}
		value, err := json.Marshal(change.After)
		if err != nil {
			t.Fatal(err)
		}
		want[change.Pointer()] = string(value)
	}
	if len(changes) != len(maps.Collect(paths(changes))) {
		t.Errorf("one field is changed twice: %+v", changes)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func paths(changes []mutate.Change) func(func(string, bool) bool) {
	return func(yield func(string, bool) bool) {
		for i := range changes {
			if !yield(changes[i].Path, true) {
				return
			}
		}
	}
}

// members returns the bytes of every value in the object that holds no others, by
// JSON pointer. An empty object or list is one of them.
func members(t *testing.T, object []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var walk func(pointer string, raw json.RawMessage)
	walk = func(pointer string, raw json.RawMessage) {
		raw = bytes.TrimSpace(raw)
		var (
			fields map[string]json.RawMessage
			items  []json.RawMessage
			err    error
		)
		switch raw[0] {
		case '{':
			err = json.Unmarshal(raw, &fields)
		case '[':
			err = json.Unmarshal(raw, &items)
		}
		if err != nil {
			t.Fatalf("%s: %v", pointer, err)
		}
		if len(fields) == 0 && len(items) == 0 {
			all[pointer] = string(raw)
		}
		for name, value := range fields {
			walk(pointer+"/"+escape.Replace(name), value)
		}
		for i, value := range items {
			walk(fmt.Sprintf("%s/%d", pointer, i), value)
		}
	}
	walk("", object)
	return all
}
