package yaml

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxExpanded is how large a document may become where its aliases are replaced, in bytes; a larger one
// may become as large as it is written.
const maxExpanded = 16 << 20

// checkAliases returns an error if the first YAML document of the text becomes too large where its aliases
// are replaced by what they stand for, or cannot be parsed so that this is not known.
func checkAliases(data []byte) error {
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 {
		return nil // there is no alias
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return err
	}
	e := expansion{limit: max(maxExpanded, len(data)), anchors: map[*yaml.Node]int{}}
	if e.size(&root) > e.limit {
		return fmt.Errorf("yaml: its aliases expand to more than %d MiB", e.limit>>20)
	}
	return nil
}

// expansion counts what a document expands to.
type expansion struct {
	limit int
	// anchors are the sizes of nodes that have one; an alias comes after its anchor.
	anchors map[*yaml.Node]int
}

// size returns the number of bytes in the node, at most one more than the limit. What contains
// itself counts as nothing: the conversion refuses it.
func (e *expansion) size(node *yaml.Node) int {
	if node.Kind == yaml.AliasNode {
		return e.anchors[node.Alias] + 1
	}
	size := len(node.Value) + 1
	for _, child := range node.Content {
		if size = min(size+e.size(child), e.limit+1); size > e.limit {
			break
		}
	}
	if node.Anchor != "" {
		e.anchors[node] = size
	}
	return min(size, e.limit+1)
}
