package fix

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gammaguard/gammaguard/mutate"
)

// edit returns the edit that makes the change.
func (p *place) edit(change *mutate.Change) (edit, error) {
	path, name := "", change.Path
	if i := strings.LastIndexByte(change.Path, '.'); i >= 0 {
		path, name = change.Path[:i], change.Path[i+1:]
	}
	mapping, err := p.walk(path)
	if err != nil {
		return edit{}, err
	}
	if mapping.Kind != yaml.MappingNode {
		return edit{}, errPlace
	}
	if key, value := field(mapping, name); key != nil {
		return p.replace(key, value, change.After)
	}
	return p.add(mapping, name, change.After)
}

// replace puts a new value in the place of one that is there.
func (p *place) replace(key, value *yaml.Node, after any) (edit, error) {
	if value.Kind == yaml.ScalarNode && value.Value == "" && styleOf(value) == plain { // "group:"
		_, to, err := p.span(key)
		if err != nil || value.Anchor != "" {
			return edit{}, errors.Join(errScalar, err)
		}
		colon := strings.IndexByte(p.text[to:], ':')
		if colon < 0 {
			return edit{}, errScalar
		}
		to += colon + 1
		return edit{to, to, " " + scalar(after, plain)}, nil
	}
	from, to, err := p.span(value)
	if err != nil {
		return edit{}, err
	}
	return edit{from, to, scalar(after, styleOf(value))}, nil
}

// scalar writes a value that a mutation sets.
func scalar(value any, style quoteStyle) string {
	switch value := value.(type) {
	case int32:
		return strconv.Itoa(int(value))
	case string:
		if style == plain && needsQuotes(value) {
			style = double
		}
		return quoted(value, style)
	}
	panic("fix: mutations set strings and int32 only")
}

// before says behind which field a new one is written, where that is there.
var before = map[string][]string{
	"group":       {"kind", "name"},
	"port":        {"name", "kind"},
	"sectionName": {"name", "kind"},
}

// add writes a new field behind a sibling, in the sibling's style.
func (p *place) add(mapping *yaml.Node, name string, after any) (edit, error) {
	key, value := sibling(mapping, name)
	if key == nil {
		return edit{}, errors.New("there is no field on one line behind which it could be written")
	}
	start, _, err := p.span(key)
	if err != nil {
		return edit{}, err
	}
	_, end, err := p.span(value)
	if err != nil {
		return edit{}, err
	}
	if mapping.Style&yaml.FlowStyle != 0 {
		return p.addFlow(key, name, after, start, end), nil
	}
	text := strings.Repeat(" ", key.Column-1) + quoted(name, styleOf(key)) + ": " + scalar(after, plain)
	ending := p.lineEnding(start)
	next := strings.IndexByte(p.text[end:], '\n')
	if next < 0 {
		return edit{len(p.text), len(p.text), ending + text}, nil
	}
	end += next + 1
	return edit{end, end, text + ending}, nil
}

// addFlow writes a field into "{...}": on a line of its own where its sibling has
// one.
func (p *place) addFlow(key *yaml.Node, name string, after any, start, end int) edit {
	colon, style := ": ", plain
	if styleOf(key) == double { // JSON, or written like it
		style = double
		_, keyEnd, err := p.span(key)
		if err == nil && keyEnd+1 < len(p.text) && !strings.ContainsRune(" \t\r\n", rune(p.text[keyEnd+1])) {
			colon = ":"
		}
	}
	separator := ", "
	line := strings.LastIndexByte(p.text[:start], '\n') + 1
	if indent := p.text[line:start]; strings.TrimSpace(indent) == "" && line > 0 {
		separator = "," + p.lineEnding(start) + indent
	} else if colon == ":" {
		separator = ","
	}
	return edit{end, end, separator + quoted(name, style) + colon + scalar(after, style)}
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

// inline says whether the value can be told to end on the line of its key.
func inline(value *yaml.Node) bool {
	return value.Kind == yaml.AliasNode ||
		value.Kind == yaml.ScalarNode && value.Value != "" && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// lineEnding returns how the line at the offset ends; that of the line before, for
// the last one.
func (p *place) lineEnding(offset int) string {
	end := strings.IndexByte(p.text[offset:], '\n')
	if end >= 0 {
		end += offset
	} else {
		end = strings.LastIndexByte(p.text[:offset], '\n')
	}
	if end > 0 && p.text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
