package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// printer writes a template.
type printer struct {
	bytes.Buffer
	// replace has what stands in strings, and is the release's.
	replace *strings.Replacer
}

func (p *printer) line(indent int, text string) {
	fmt.Fprintf(p, "%*s%s\n", indent, "", text)
}

// parts writes the fields of a map, or the items of a list: neighbours with the same
// condition under one.
func (p *printer) parts(n *node, indent int) {
	guard := ""
	for _, child := range n.children {
		if child.guard != guard {
			p.end(guard)
			guard = child.guard
			p.begin(guard)
		}
		if _, list := n.plain.([]any); list && child.key != "" {
			p.item(child, indent)
		} else {
			p.field(child, indent)
		}
	}
	p.end(guard)
}

func (p *printer) begin(guard string) {
	if guard != "" {
		p.line(0, "{{- if "+guard+" }}")
	}
}

func (p *printer) end(guard string) {
	if guard != "" {
		p.line(0, "{{- end }}")
	}
}

func (p *printer) field(n *node, indent int) {
	inner := indent
	if _, list := n.plain.([]any); !list && n.key != "" {
		inner += 2
	}
	key := p.scalar(n.key) + ":"
	switch {
	case n.collection != "":
		p.line(0, "{{- with "+n.collection+" }}")
		if n.key != "" {
			p.line(indent, key)
		}
		p.line(inner, fmt.Sprintf("{{- toYaml . | nindent %d }}", inner))
		p.line(0, "{{- end }}")
	case n.text != "":
		p.line(indent, key+" "+n.text)
	case len(n.children) > 0:
		p.line(indent, key)
		p.parts(n, inner)
	default:
		p.line(indent, key+" "+p.scalar(n.plain))
	}
}

func (p *printer) item(n *node, indent int) {
	if len(n.children) == 0 {
		p.line(indent, "- "+p.scalar(n.plain))
		return
	}
	start := p.Len()
	p.parts(n, indent+2)
	p.Bytes()[start+indent] = '-' // its first field always is there
}

var (
	// word is what needs no quotes in YAML, unless it is one of the words that are no
	// strings there.
	word      = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9./-]*$`)
	otherWord = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// scalar returns the value as JSON, which is YAML too, or as a word, for a template.
func (p *printer) scalar(value any) string {
	s, ok := value.(string)
	if ok && word.MatchString(s) && !otherWord.MatchString(s) && p.replace.Replace(s) == s {
		return s
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // plain values always are
	return p.replace.Replace(strings.ReplaceAll(strings.TrimSpace(text.String()), "{{", `{{ "{{" }}`))
}
