package fix

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
)

// place is an object in the text of its document.
type place struct {
	text string
	// start is where the document begins in its file, and lines are the offsets of
	// its lines.
	start int
	lines []int
	root  *yaml.Node
}

var errPlace = errors.New("the field was not found in the file")

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

// locate finds the object in the text that it was read from, whose lines are given.
func locate(text string, lines []int, object *manifest.Object) (*place, error) {
	source, line, item := object.Source()
	if source == "" || line < 1 || line > len(lines) {
		return nil, errPlace
	}
	inLine := strings.Index(text[lines[line-1]:], source)
	if inLine < 0 {
		return nil, errPlace
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(source), &document); err != nil || len(document.Content) != 1 {
		return nil, fmt.Errorf("the document cannot be edited as YAML: %w", err)
	}
	p := &place{text: source, start: lines[line-1] + inLine, lines: lineStarts(source), root: document.Content[0]}
	if item >= 0 {
		var err error
		if p.root, err = p.walk("items[" + strconv.Itoa(item) + "]"); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// walk returns the node at the path, with aliases resolved.
func (p *place) walk(path string) (*yaml.Node, error) {
	node := resolve(p.root)
	for _, segment := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		var next *yaml.Node
		switch node.Kind {
		case yaml.MappingNode:
			_, next = field(node, segment)
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

// offset returns where the node begins, its anchor and tag included.
func (p *place) offset(node *yaml.Node) (int, error) {
	if node.Line < 1 || node.Line > len(p.lines) {
		return 0, errPlace
	}
	offset := p.lines[node.Line-1]
	for range node.Column - 1 {
		_, size := utf8.DecodeRuneInString(p.text[offset:])
		offset += size
	}
	return offset, nil
}
