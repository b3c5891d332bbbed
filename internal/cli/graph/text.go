package graph

import (
	"io"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// style is how an edge is drawn, and what that means.
type style struct{ color, arrow, line, meaning string }

var styles = map[validate.State]style{
	validate.Applies:     {"#1a7f37", "-->", "solid", "the mesh applies the route on the port"},
	validate.Shares:      {"#1a7f37", "-->", "solid", "as applies; other routes apply there too, and merge with it"},
	validate.Replaced:    {"#9a6700", "-.->", "dashed", "a producer route: for clients in a namespace, consumer routes replace it"},
	validate.Loses:       {"#b35900", "-.->", "dashed", "a route of a more specific kind owns the port"},
	validate.NoGrant:     {"#cf222e", "-.->", "dashed", "the namespace of the route lacks the grant"},
	validate.Refused:     {"#cf222e", "-.->", "dotted", "the Service, or its namespace, refuses the route"},
	validate.Invalid:     {"#8250df", "-.->", "dotted", "the parentRef is at fault, such as a headless Service or a missing port"},
	validate.Unsupported: {"#8250df", "-.->", "dashed", "the mesh of the configuration does not act on the route"},
	validate.Dormant:     {"#0969da", "-.->", "dotted", "no mesh acts on the parentRef until the route is changed"},
	validate.Unknown:     {"#6e7781", "-.->", "dotted", "it depends on objects that are not in the input, or that you cannot read"},
	Bypasses:             {"#57606a", "-.->", "dashed", "a route on Gateways: its requests do not use the routes on the Service"},
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
