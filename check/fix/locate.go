package fix

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// place is an object in the text of its file.
type place struct {
	text string
	// first is where the document begins, and lines are the offsets of its lines. In
	// the first of them something else may come before it.
	first int
	lines []int
	root  *yaml.Node
}

var errPlace = errors.New("its place in the file is not found")

// lineStarts returns the offset of every line.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// locate finds the object in the text that it was read from. Starts are those of
// the text's lines.
func locate(text string, starts []int, object *manifest.Object) (*place, error) {
	source, line, item := object.Source()
	if source == "" || line < 1 || line > len(starts) {
		return nil, fmt.Errorf("%s: %w", object.Key, errPlace)
	}
	start := starts[line-1]
	inLine := strings.Index(text[start:], source)
	if inLine < 0 {
		return nil, fmt.Errorf("%s: %w", object.Key, errPlace)
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(source), &document); err != nil || len(document.Content) != 1 {
		return nil, fmt.Errorf("%s: the document cannot be edited as YAML: %w", object.Key, err)
	}
	first := start + inLine
	p := &place{text: text, first: first, lines: starts[line-1:], root: document.Content[0]}
	if item >= 0 {
		var err error
		if p.root, err = p.walk("items[" + strconv.Itoa(item) + "]"); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// walk returns the node at the path, with aliases and merge keys resolved.
func (p *place) walk(path string) (*yaml.Node, error) {
	node := resolve(p.root)
	for _, segment := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		var next *yaml.Node
		switch node.Kind {
		case yaml.MappingNode:
			_, next = field(node, segment)
			if next == nil {
				next = merged(node, segment)
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(segment); err == nil && i < len(node.Content) {
				next = node.Content[i]
			}
		}
		if next == nil {
			return nil, errPlace
		}
		node = resolve(next)
	}
	return node, nil
}

// resolve follows an alias.
func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// field returns the key and the value of a mapping's own field.
func field(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// merged returns a field that the mapping has from others, by the key "<<".
func merged(mapping *yaml.Node, name string) *yaml.Node {
	_, from := field(mapping, "<<")
	if from == nil {
		return nil
	}
	sources := []*yaml.Node{from}
	if resolve(from).Kind == yaml.SequenceNode {
		sources = resolve(from).Content
	}
	for _, source := range sources {
		if _, value := field(resolve(source), name); value != nil {
			return value
		}
	}
	return nil
}

// offset returns where the node begins, its anchor and tag included.
func (p *place) offset(node *yaml.Node) (int, error) {
	if node.Line < 1 || node.Line > len(p.lines) {
		return 0, errPlace
	}
	offset := p.lines[node.Line-1]
	if node.Line == 1 {
		offset = p.first
	}
	for range node.Column - 1 {
		_, size := utf8.DecodeRuneInString(p.text[offset:])
		offset += size
	}
	if offset > len(p.text) {
		return 0, errPlace
	}
	return offset, nil
}
