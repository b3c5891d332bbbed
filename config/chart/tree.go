package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// node is a part of a template: an object, a field of a map, or an item of a list.
type node struct {
	// key is the name of a field, and identifies an item. Empty: more fields or items,
	// those of the collection.
	key string
	// guard is the template's condition under which the node is there. Empty: always.
	guard string
	// plain is what kustomize made.
	plain any
	// text is a template in place of what kustomize made.
	text string
	// collection is the template's expression for a map or a list in place of what
	// kustomize made. Where it is empty, the node is not there.
	collection string
	children   []*node
}

// newNode returns the node of what kustomize made.
func newNode(key, guard string, plain any) *node {
	n := &node{key: key, guard: guard, plain: plain}
	keys, parts := partsOf(plain)
	for _, key := range keys {
		n.children = append(n.children, newNode(key, "", parts[key]))
	}
	return n
}

// partsOf returns the fields of a map, with the name in front, and the items of a list
// as fields: by their names, or by themselves where they have none.
func partsOf(plain any) (keys []string, parts map[string]any) {
	switch plain := plain.(type) {
	case map[string]any:
		keys = slices.Sorted(maps.Keys(plain))
		if i := slices.Index(keys, "name"); i > 0 {
			keys = slices.Concat([]string{"name"}, keys[:i], keys[i+1:])
		}
		return keys, plain
	case []any:
		parts = map[string]any{}
		for _, item := range plain {
			key := identity(item)
			if _, twice := parts[key]; twice {
				key = fmt.Sprintf("%s#%d", key, len(parts))
			}
			keys = append(keys, key)
			parts[key] = item
		}
	}
	return keys, parts
}

func identity(item any) string {
	if fields, ok := item.(map[string]any); ok {
		if name, ok := fields["name"].(string); ok {
			return name
		}
	}
	data, _ := json.Marshal(item) // plain values always are
	return string(data)
}

// child returns the node's part of that key, or nil.
func (n *node) child(key string) *node {
	for _, child := range n.children {
		if child.key == key {
			return child
		}
	}
	return nil
}

// at returns the part at the path, which is made where it is not there.
func (n *node) at(path ...string) *node {
	for _, key := range path {
		next := n.child(key)
		if next == nil {
			next = &node{key: key, plain: map[string]any{}}
			n.children = append(n.children, next)
		}
		n = next
	}
	return n
}

// vary has the node be what kustomize makes with a component, changed, where the guard
// holds; without the component it makes plain. What a list has more comes last.
func (n *node) vary(plain, changed any, guard string) {
	keys, before := partsOf(plain)
	more, after := partsOf(changed)
	for _, key := range keys {
		switch a, is := after[key]; {
		case is && sameSort(a, before[key]):
			n.child(key).vary(before[key], a, guard)
		case !is || !reflect.DeepEqual(a, before[key]):
			n.child(key).only("not (" + guard + ")")
		}
	}
	for _, key := range more {
		b, was := before[key]
		if !was || !sameSort(b, after[key]) && !reflect.DeepEqual(b, after[key]) {
			n.children = append(n.children, newNode(key, guard, after[key]))
		}
	}
}

// sameSort reports whether both are maps, or both are lists.
func sameSort(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return false
}

// only adds a condition under which the node is there.
func (n *node) only(guard string) {
	if n.guard != "" {
		guard = "and (" + n.guard + ") (" + guard + ")"
	}
	n.guard = guard
}
