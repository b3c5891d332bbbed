package manifest

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// source is the text of one document.
type source struct {
	text  string
	line  int
	parse func() *yaml.Node
}

// newSource keeps the text; it is parsed into nodes only if a line is asked for.
func newSource(text string, line int) *source {
	s := &source{text: text, line: line}
	s.parse = sync.OnceValue(func() *yaml.Node {
		var document yaml.Node
		if yaml.Unmarshal([]byte(s.text), &document) != nil || len(document.Content) != 1 {
			return nil
		}
		return document.Content[0]
	})
	return s
}

// split cuts a stream into its documents: YAML at the lines "---", as kubectl
// does, and JSON values where each ends. What holds nothing but comments is left
// out.
func split(text string) []*source {
	var (
		parts []*source
		start int // offset of the document
		line  int // lines before it
	)
	add := func(end int) {
		if len(parts) > MaxObjects { // no more is read
			return
		}
		document := text[start:end]
		before := leadingLines(document)
		if strings.TrimSpace(document[before:]) != "" {
			first := line + strings.Count(document[:before], "\n") + 1
			parts = append(parts, splitJSON(document[before:], first)...)
		}
	}
	for offset := 0; offset < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		if separator(text[offset:end]) {
			add(offset)
			line += strings.Count(text[start:end], "\n")
			start = end
		}
		offset = end
	}
	add(len(text))
	return parts
}

// separator reports whether the line begins a new document.
func separator(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	rest = strings.TrimSpace(rest)
	return ok && (rest == "" || rest[0] == '#')
}

// leadingLines returns the length of the empty lines and comments at the
// beginning of a document.
func leadingLines(document string) int {
	offset := 0
	for offset < len(document) {
		end := len(document)
		if i := strings.IndexByte(document[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		if content := strings.TrimSpace(document[offset:end]); content != "" && content[0] != '#' {
			break
		}
		offset = end
	}
	return offset
}

// splitJSON splits JSON values that follow one another. Anything else is one
// document.
func splitJSON(document string, line int) []*source {
	whole := []*source{newSource(document, line)}
	if document[0] != '{' {
		return whole
	}
	var parts []*source
	for decoder := jsontext.NewDecoder(strings.NewReader(document), mesh.Lenient); ; {
		before := int(decoder.InputOffset())
		before += len(document[before:]) - len(strings.TrimLeft(document[before:], " \t\r\n"))
		if before == len(document) {
			return parts
		}
		value, err := decoder.ReadValue()
		switch {
		case err != nil && len(parts) == 0:
			return whole
		case err != nil: // what follows JSON may be YAML
			return append(parts, newSource(document[before:], line+strings.Count(document[:before], "\n")))
		}
		if parts = append(parts, newSource(string(value), line+strings.Count(document[:before], "\n"))); len(parts) > MaxObjects {
			return parts
		}
	}
}

// Source returns the text of the object's document as it stands in its file, the
// line at which it begins, and the object's index in the items of a List, or -1.
// The text is empty for an object that was not read from a file.
func (o *Object) Source() (text string, line, item int) {
	if o.source == nil {
		return "", o.Origin.Line, -1
	}
	return o.source.text, o.source.line, o.item
}
