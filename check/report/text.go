package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Text writes the report for people, grouped by file; with colours if told so.
func (r *CheckReport) Text(w io.Writer, colour bool) error {
	out := bufio.NewWriter(w)
	paint := painter(colour)
	file := ""
	for _, i := range r.items() {
		if i.effect == EffectOff {
			continue
		}
		if i.File != file {
			file = i.File
			fmt.Fprintf(out, "%s\n", paint(bold, file))
		}
		word, code := i.look()
		fmt.Fprintf(out, "%6d  %s  ", i.Line, paint(code, fmt.Sprintf("%-7s", word)))
		if i.object != "" {
			fmt.Fprintf(out, "%s  ", paint(bold, i.object))
		}
		fmt.Fprintln(out, i.text)
	}
	if file != "" {
		fmt.Fprintln(out)
	}
	for i := range r.Fixed {
		fixed := &r.Fixed[i]
		fmt.Fprintf(out, "%s  %s:%d  %s  %s\n", paint(green, "fixed"), fixed.File, fixed.Line, paint(bold, fixed.Route), fixed.Message)
	}
	fmt.Fprintln(out, r.Summary.String())
	return out.Flush()
}

// look returns the word and the colour of the item's kind.
func (i *item) look() (word, code string) {
	switch {
	case i.change:
		return "change", blue
	case i.id == BrokenDocument:
		return "broken", red
	}
	switch i.effect {
	case EffectDeny:
		return "deny", red
	case EffectWarn:
		return "warn", yellow
	case EffectUnknown:
		return "unknown", magenta
	case EffectAudit, EffectOff:
	}
	return string(i.effect), cyan
}

// String reads "2 routes in 3 files: 1 denial, 2 warnings".
func (s *Summary) String() string {
	var parts []string
	add := func(n int, one string) {
		if n > 0 {
			parts = append(parts, count(n, one))
		}
	}
	add(s.Broken, "broken document")
	add(s.Denials, "denial")
	add(s.Warnings, "warning")
	add(s.Changes, "change")
	add(s.Audits, "audit entry")
	if s.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d unknown", s.Unknown))
	}
	if s.Fixed > 0 {
		parts = append(parts, fmt.Sprintf("%d fixed", s.Fixed))
	}
	text := count(s.Routes, "route") + " in " + count(s.Files, "file") + ": "
	if len(parts) == 0 {
		return text + "nothing found"
	}
	return text + strings.Join(parts, ", ")
}

// count reads "1 route" or "2 routes".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, y := strings.CutSuffix(one, "y"); y {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// The colours, as codes of ECMA-48 (Select Graphic Rendition).
const (
	bold    = "1"
	red     = "1;31"
	green   = "32"
	yellow  = "33"
	blue    = "34"
	magenta = "35"
	cyan    = "36"
)

func painter(colour bool) func(code, text string) string {
	if !colour {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string { return "\x1b[" + code + "m" + text + "\x1b[0m" }
}
