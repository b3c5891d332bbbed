package fix

import (
	"errors"
	"strings"

	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mutate"
)

// edit returns the edit that makes the change.
func (p *place) edit(change *mutate.Change) (Edit, error) {
	dot := strings.LastIndexByte(change.Path, '.')
	name := change.Path[dot+1:]
	mapping, err := p.walk(change.Path[:max(dot, 0)])
	if err != nil {
		return Edit{}, err
	}
	if mapping.Kind != yaml.MappingNode {
		return Edit{}, errPlace
	}
	if _, value := field(mapping, name); value != nil {
		return p.replace(value, change.After)
	}
	return p.add(mapping, name, change.After)
}

// replace puts a new value in the place of one that is there.
func (p *place) replace(value *yaml.Node, after any) (Edit, error) {
	from, to, err := p.span(value)
	if err != nil {
		return Edit{}, err
	}
	text, err := scalar(after, quotes(value))
	if from == to { // "group:"
		text = " " + text
	}
	return Edit{from, to, text}, err
}

// before says behind which field a new one is written, where that is there.
var before = map[string][]string{
	"group":       {"kind", "name"},
	"port":        {"name", "kind"},
	"sectionName": {"name", "kind"},
}

// add writes a new field behind a sibling, in the sibling's style.
func (p *place) add(mapping *yaml.Node, name string, after any) (Edit, error) {
	key, value := sibling(mapping, name)
	if key == nil {
		return Edit{}, errors.New("no field on a single line to insert it after")
	}
	start, keyEnd, errKey := p.span(key)
	begin, errValue := p.offset(value)
	_, end, errEnd := p.span(value)
	if err := errors.Join(errKey, errValue, errEnd); err != nil || begin < keyEnd {
		return Edit{}, errScalar
	}
	newKey, errKey := scalar(name, quotes(key))
	newValue, errValue := scalar(after, quotes(key))
	colon := p.text[keyEnd:begin]
	text := newKey + colon + newValue
	line := strings.LastIndexByte(p.text[:start], '\n') + 1
	switch indent := p.text[line:start]; {
	case mapping.Style&yaml.FlowStyle == 0: // behind a comment, too
		if eol := strings.IndexAny(p.text[end:], "\r\n"); eol >= 0 {
			end += eol
		} else {
			end = len(p.text)
		}
		text = p.lineEnding() + strings.Repeat(" ", key.Column-1) + text
	case line > 0 && strings.TrimSpace(indent) == "": // a line of its own
		text = "," + p.lineEnding() + indent + text
	case colon == ":": // compact JSON
		text = "," + text
	default:
		text = ", " + text
	}
	return Edit{end, end, text}, errors.Join(errKey, errValue)
}

// sibling returns the field behind which the new one is written: a scalar.
func sibling(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for _, preferred := range before[name] {
		if k, v := field(mapping, preferred); k != nil && inline(v) {
			return k, v
		}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if v := mapping.Content[i+1]; inline(v) {
			key, value = mapping.Content[i], v
		}
	}
	return key, value
}

// inline reports whether the value can be told to end on the line of its key.
func inline(value *yaml.Node) bool {
	return value.Kind == yaml.AliasNode || value.Kind == yaml.ScalarNode && value.Value != "" && !multiline(value)
}

func (p *place) lineEnding() string {
	if strings.Contains(p.text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}
