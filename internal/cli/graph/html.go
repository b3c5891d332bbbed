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

// groupFrom is from how many routes on the page shows one Service at a time.
const groupFrom = 60

// view is what the page shows.
type view struct {
	*Graph
	Title, Policy string
	Style         template.CSS
	Script        template.JS
	Pictures      []*picture
	// Grouped: there are too many routes for one look.
	Grouped bool
	// Legend are the states that are drawn.
	Legend []legendEntry
	// Answered: it is known what meshes have answered.
	Answered bool
}

// HTML writes the graph as a page that needs nothing else: its policy allows neither
// another source, nor another script than its own.
func (g *Graph) HTML(w io.Writer, title string) error {
	out := printable.NewWriter(w, false)
	style, script := Sources()
	err := page.Execute(out, &view{
		Graph: g, Title: title, Pictures: g.pictures(), Grouped: g.routes >= groupFrom, Style: template.CSS(pageStyle), Script: template.JS(pageScript), //nolint:gosec // they are constants
		Policy:   "default-src 'none'; style-src " + style + "; script-src " + script,
		Answered: slices.ContainsFunc(g.Rows, func(row *Row) bool { return row.Acknowledged != "" }),
		Legend:   g.legend(),
	})
	return errors.Join(err, out.Flush())
}

// legendEntry is a state, and what it means.
type legendEntry struct {
	State   validate.State
	Meaning string
}

// states are all that a row can have, the best first.
func states() []validate.State { return append(validate.States(), Bypasses) }

func (g *Graph) legend() (entries []legendEntry) {
	for _, state := range states() {
		if slices.ContainsFunc(g.Rows, func(row *Row) bool { return row.State == state }) {
			entries = append(entries, legendEntry{state, styles[state].meaning})
		}
	}
	return entries
}

// Sources are the style and the script of the page, for the Content-Security-Policy of one that shows it in a frame.
func Sources() (style, script string) { return Digest(pageStyle), Digest(pageScript) }

// Digest is a source of a Content-Security-Policy: the text itself.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Counts are the states of the routes on the Service, with how many there are of each.
func (p *picture) Counts() []stateCount {
	var counts []stateCount
	for _, state := range states() {
		if n := len(p.states[state]); n > 0 {
			counts = append(counts, stateCount{state, n})
		}
	}
	return counts
}

// stateCount is how many routes have a state.
type stateCount struct {
	State validate.State
	Count int
}

// Routes reads "2 routes".
func (p *picture) Routes() string {
	if p.routes == 1 {
		return "1 route"
	}
	return fmt.Sprintf("%d routes", p.routes)
}

// ColumnTitles are where the titles of the columns stand.
func (p *picture) ColumnTitles() []label {
	var titles []label
	for column, text := range []string{"Service ports", "Routes", "Backends"} {
		if boxes := p.columns[column]; len(boxes) > 0 {
			titles = append(titles, label{Text: text, X: boxes[0].X, Y: margin})
		}
	}
	return titles
}

// Text are the lines of text in the box, each where it stands.
func (b *box) Text() []label {
	var texts []label
	top := b.Y + (b.Height-lineOf*len(b.Labels))/2
	for i, text := range b.Labels {
		texts = append(texts, label{Text: text, X: b.X + 10, Y: top + lineOf*i + 12})
	}
	return texts
}

// Role reads "producer" or "consumer", by the namespaces; it is empty for a route on Gateways.
func (r *Row) Role() string {
	switch {
	case r.route == nil:
		return ""
	case r.route.Metadata.Namespace == r.Service.Namespace:
		return "producer"
	}
	return "consumer"
}

// Picture is the ID of the picture that shows the row.
func (r *Row) Picture() string { return r.picture.ID }

// Drawn are the IDs of what shows the row.
func (r *Row) Drawn() string { return strings.Join(r.drawn, " ") }

// Leads are the rules of the row in words.
func (r *Row) Leads() []string {
	var leads []string
	for i := range r.rules {
		leads = append(leads, r.rules[i].text())
	}
	return leads
}
