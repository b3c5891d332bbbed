package manifest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// Origin is where a document stands.
type Origin struct {
	// File is the name that Read was given.
	File string
	// Document is the document's index in the file, from 0. Empty documents do
	// not count.
	Document int
	// Line is the line of the document's first field, from 1. For an item of a
	// List it is the List's.
	Line int
}

// String reads "file:line".
func (o Origin) String() string { return o.File + ":" + strconv.Itoa(o.Line) }

// Error is what is wrong with a document, and where.
type Error struct {
	Origin
	Err error
}

// Error reads "file:line: what is wrong".
func (e *Error) Error() string { return e.String() + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Key names an object, whatever the version of its API.
type Key struct {
	Group, Kind string
	// Namespace is empty for objects that are in none.
	Namespace string
	Name      string
}

// String reads "HTTPRoute shop/cart", or "Namespace shop".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Object is one Kubernetes object of a file.
type Object struct {
	Origin Origin
	// Key has no kind if the document is no Kubernetes object. Its name is
	// "PREFIX*" for an object that leaves its name to the API server.
	Key     Key
	Version string
	// JSON is the object as written, with its kind and version.
	JSON []byte
	// Route is the decoded object, if it is a route of any kind.
	Route *mesh.Route

	source *source
	// item is the index in the items of a List, or -1.
	item int
}

// Line returns the line, from 1, of the field with the path
// ("spec.parentRefs[0].name", "metadata.labels[gammaguard.dev/grant]") in the
// object's file; where there is no such field, that of the innermost field above
// it that is there.
func (o *Object) Line(path string) int {
	if o.source == nil || path == "" && o.item < 0 {
		return o.Origin.Line // its nodes would be kept as long as the object
	}
	node := o.source.parse()
	if node == nil {
		return o.Origin.Line
	}
	if o.item >= 0 {
		path = fmt.Sprintf("items[%d].%s", o.item, path)
	}
	line := node.Line
	for path != "" && node != nil {
		var segment string
		segment, path = nextSegment(path)
		var at int
		if node, at = child(node, segment); node != nil {
			line = at
		}
	}
	return o.source.line + line - 1
}

// Field returns the value of the field with the path, as it is written, and its line in
// the object's file. It does not look into the items of a List.
func (o *Object) Field(path string) (value any, line int, found bool) {
	if o.source == nil || o.item >= 0 {
		return nil, 0, false
	}
	node := o.source.parse()
	for path != "" && node != nil {
		var segment string
		segment, path = nextSegment(path)
		node, line = child(node, segment)
	}
	if node == nil || node.Decode(&value) != nil {
		return nil, 0, false
	}
	return value, o.source.line + line - 1, true
}

// nextSegment takes the first field name or index from the path.
func nextSegment(path string) (segment, rest string) {
	path = strings.TrimPrefix(path, ".")
	if strings.HasPrefix(path, "[") {
		segment, rest, _ = strings.Cut(path[1:], "]")
		return segment, rest
	}
	if i := strings.IndexAny(path, ".["); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// child returns the field or item of the node, and its line: for a field that of
// its name.
func child(node *yaml.Node, segment string) (*yaml.Node, int) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == segment {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
	}
	return nil, 0
}

// duplicateKey returns the first duplicate key in the node, or nil.
func duplicateKey(node *yaml.Node) *yaml.Node {
	seen := map[string]bool{}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[child.Value] {
				return child
			}
			seen[child.Value] = true
		}
		if duplicate := duplicateKey(child); duplicate != nil {
			return duplicate
		}
	}
	return nil
}
