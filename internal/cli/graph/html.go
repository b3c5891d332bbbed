package graph

import (
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	page = template.Must(template.New("page").Parse(pageText))
)

// maxLabel is how many characters of a label fit into a node.
const maxLabel = 34

// view is what the page shows.
type view struct {
	*Graph
	Title, Policy string
	Style         template.CSS
	Script        template.JS
	States        []validate.State
	// Answered: it is known what meshes have answered.
	Answered bool
}

// HTML writes the graph as a page that needs nothing else: its policy allows neither
// another source, nor another script than its own.
func (g *Graph) HTML(w io.Writer, title string) error {
	out := printable.NewWriter(w, false)
	err := page.Execute(out, &view{
		Graph: g, Title: title, Style: template.CSS(pageStyle), Script: template.JS(pageScript), //nolint:gosec // they are constants
		Policy:   fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'", digest(pageStyle), digest(pageScript)),
		Answered: slices.ContainsFunc(g.Rows, func(row *Row) bool { return row.Acknowledged != "" }),
		States: slices.DeleteFunc(append(validate.States(), Bypasses), func(state validate.State) bool {
			return !slices.ContainsFunc(g.Rows, func(row *Row) bool { return row.State == state })
		}),
	})
	return errors.Join(err, out.Flush())
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Short is the label as it fits into the node.
func (n *Node) Short() string {
	letters := []rune(n.Label)
	if len(letters) <= maxLabel {
		return n.Label
	}
	return string(letters[:maxLabel-1]) + "…"
}

// Full is the whole name.
func (n *Node) Full() string { return n.Namespace + "/" + n.Label }

// Top is where the box begins.
func (n *Node) Top() int { return n.Y - 12 }

// Text is where the label stands.
func (n *Node) Text() int { return n.Y + 4 }

// Heading is where the namespace stands.
func (n *Node) Heading() int { return n.Y - 20 }

// Inset is where the label begins.
func (n *Node) Inset() int { return n.X + 8 }

// Class is the class of the node's column.
func (n *Node) Class() string { return [...]string{"port", "route", "backend"}[n.Column] }

// Path is the way of the edge.
func (e *Edge) Path() string {
	from, to := e.From.X+nodeWidth, e.To.X
	middle := (from + to) / 2
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d", from, e.From.Y, middle, e.From.Y, middle, e.To.Y, to, e.To.Y)
}

// Full says what the edge is.
func (e *Edge) Full() string {
	text := e.From.Full() + " → " + e.To.Full()
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Drawn are the IDs of the nodes and edges that show the row.
func (r *Row) Drawn() string {
	var ids []string
	for _, e := range r.edges {
		ids = append(ids, e.ID, e.From.ID, e.To.ID)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}
