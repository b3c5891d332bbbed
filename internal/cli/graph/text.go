package graph

import (
	"io"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// style is how an edge is drawn.
type style struct{ color, arrow, line string }

var styles = map[validate.State]style{
	validate.Applies:     {"#1a7f37", "-->", "solid"},
	validate.Shares:      {"#1a7f37", "-->", "solid"},
	validate.Replaced:    {"#9a6700", "-.->", "dashed"},
	validate.Loses:       {"#b35900", "-.->", "dashed"},
	validate.NoGrant:     {"#cf222e", "-.->", "dashed"},
	validate.Refused:     {"#cf222e", "-.->", "dotted"},
	validate.Invalid:     {"#8250df", "-.->", "dotted"},
	validate.Unsupported: {"#8250df", "-.->", "dashed"},
	validate.Dormant:     {"#0969da", "-.->", "dotted"},
	validate.Unknown:     {"#6e7781", "-.->", "dotted"},
	Bypasses:             {"#57606a", "-->", "dashed"},
}

// Mermaid writes the graph as a flowchart of Mermaid.
func (g *Graph) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	shapes := [...][2]string{{"[", "]"}, {"(", ")"}, {"([", "])"}}
	for i, namespace := range g.Namespaces() {
		printable.Fprintf(&b, "  subgraph ns%d[\"%s\"]\n", i, mermaidText("namespace "+namespace))
		for _, n := range g.Nodes {
			if shape := shapes[n.Column]; n.Namespace == namespace {
				printable.Fprintf(&b, "    %s%s\"%s\"%s\n", n.ID, shape[0], mermaidText(n.Label), shape[1])
			}
		}
		b.WriteString("  end\n")
	}
	for _, e := range g.Edges {
		arrow := styles[e.State].arrow
		if e.Text != "" {
			arrow += "|" + mermaidText(e.Text) + "|"
		}
		printable.Fprintf(&b, "  %s %s %s\n", e.From.ID, arrow, e.To.ID)
	}
	for i, e := range g.Edges {
		printable.Fprintf(&b, "  linkStyle %d stroke:%s\n", i, styles[e.State].color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidText writes all but plain characters as entities of Mermaid.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" .:/-", r) {
			b.WriteRune(r)
		} else {
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return b.String()
}

// DOT writes the graph in the language of Graphviz.
func (g *Graph) DOT(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph gammaguard {\n  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n")
	shapes := [...]string{"shape=box", "shape=box, style=rounded", "shape=oval"}
	for i, namespace := range g.Namespaces() {
		printable.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i, dotText("namespace "+namespace))
		for _, n := range g.Nodes {
			if n.Namespace == namespace {
				printable.Fprintf(&b, "    %s [label=%s, %s];\n", n.ID, dotText(n.Label), shapes[n.Column])
			}
		}
		b.WriteString("  }\n")
	}
	for _, e := range g.Edges {
		printable.Fprintf(&b, "  %s -> %s [color=%q, style=%s", e.From.ID, e.To.ID, styles[e.State].color, styles[e.State].line)
		if e.Text != "" {
			printable.Fprintf(&b, ", label=%s", dotText(e.Text))
		}
		b.WriteString("];\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotText quotes a string: a backslash would begin an escape.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
