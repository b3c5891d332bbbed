package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/gammaguard/gammaguard/validate"
)

// Text writes the report for people: what was found and what is unknown, each by file, and
// what was not checked; with colours if told so.
func (r *CheckReport) Text(w io.Writer, colour bool) error {
	out := bufio.NewWriter(w)
	paint := painter(colour)
	var found, unknown []Item
	for _, i := range r.Items() {
		switch i.Effect {
		case validate.Off:
		case EffectUnknown:
			unknown = append(unknown, i)
		default:
			found = append(found, i)
		}
	}
	list(out, paint, found)
	if len(unknown) > 0 {
		fmt.Fprintf(out, "%s\n\n", paint(bold, "Unknown:"))
		list(out, paint, unknown)
	}
	for i := range r.Fixed {
		fixed := &r.Fixed[i]
		fmt.Fprintf(out, "%s  %s:%d  %s  %s\n", paint(green, "fixed"), fixed.File, fixed.Line, paint(bold, fixed.Route), fixed.Message)
	}
	r.sets(out)
	fmt.Fprintln(out, r.Summary.String())
	return out.Flush()
}

// list writes the items, by file.
func list(out io.Writer, paint func(code, text string) string, items []Item) {
	file := ""
	for _, i := range items {
		if i.File != file {
			file = i.File
			fmt.Fprintln(out, paint(bold, file))
		}
		fmt.Fprintf(out, "%6d  %s  ", i.Line, paint(colours[i.Word], fmt.Sprintf("%-7s", i.Word)))
		if i.Object != "" {
			fmt.Fprintf(out, "%s  ", paint(bold, i.Object))
		}
		fmt.Fprintln(out, i.Text)
	}
	if file != "" {
		fmt.Fprintln(out)
	}
}

// sets writes which sets were found, and what was left aside: one by one what may hold
// routes, and the rest by number.
func (r *CheckReport) sets(out io.Writer) {
	for i := range r.Sets {
		fmt.Fprintf(out, "%s: %s\n", r.Sets[i].String(), Count(r.Sets[i].Routes, "route", "routes"))
	}
	others := 0
	for _, skipped := range r.Skipped {
		if skipped.Reason == NotManifest {
			others++
			continue
		}
		fmt.Fprintf(out, "not checked: %s: %s\n", skipped.Path, skipped.Reason)
	}
	if others > 0 {
		fmt.Fprintf(out, "not checked: %s\n", Count(others, "file that is not a manifest", "files that are not manifests"))
	}
	if len(r.Sets)+len(r.Skipped) > 0 {
		fmt.Fprintln(out)
	}
}

// The colours, as codes of ECMA-48 (Select Graphic Rendition).
const (
	bold  = "1"
	green = "32"
)

// colours are those of an item's word.
var colours = map[string]string{
	"deny": "1;31", "broken": "1;31", "warn": "33", "change": "34", "unknown": "35", "audit": "36",
}

func painter(colour bool) func(code, text string) string {
	if !colour {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }
}

// String reads "2 routes in 3 files: 1 denial, 2 warnings".
func (s *Summary) String() string {
	var found []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{s.Broken, "broken document", "broken documents"},
		{s.Denials, "denial", "denials"},
		{s.Warnings, "warning", "warnings"},
		{s.Changes, "change", "changes"},
		{s.Audits, "audit entry", "audit entries"},
		{s.Unknown, "unknown", "unknown"},
		{s.NotChecked, "not checked", "not checked"},
		{s.Fixed, "fixed", "fixed"},
	} {
		if part.n > 0 {
			found = append(found, Count(part.n, part.one, part.many))
		}
	}
	if len(found) == 0 {
		found = []string{"no findings"}
	}
	return Count(s.Routes, "route", "routes") + " in " + Count(s.Files, "file", "files") + ": " + strings.Join(found, ", ")
}

// Count reads "1 route" or "2 routes".
func Count(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}
