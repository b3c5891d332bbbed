package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// Text writes the report for people: what was found and what is unknown, each by file, and
// what was not checked; with colors if told so.
func (r *CheckReport) Text(w io.Writer, color bool) error {
	out := bufio.NewWriter(w)
	paint := newPainter(color)
	found, others, namespaces := r.told()
	found, again := withoutRepeats(found)
	list(out, paint, found)
	if len(others)+len(namespaces) > 0 {
		printable.Fprintf(out, "%s\n\n", paint(printable.Bold, "Unknown:"))
	}
	list(out, paint, others)
	for _, u := range namespaces {
		at := fmt.Sprintf("%s:%d", u.first.File, u.first.Line)
		if more := len(u.places) - 1; more > 0 {
			at += fmt.Sprintf(" and %s", Count(more, "other place", "other places"))
		}
		printable.Fprintf(out, "  %s  %s (%s), needed at %s\n", paint(printable.Bold, "namespace "+u.namespace), u.fact(), u.ruleNames(), at)
	}
	for _, remedy := range remedies(namespaces) {
		printable.Fprintf(out, "  %s\n", remedy)
	}
	if len(namespaces) > 0 {
		printable.Fprintf(out, "\n")
	}
	for i := range r.Fixed {
		fixed := &r.Fixed[i]
		printable.Fprintf(out, "%s  %s:%d  %s  %s\n", paint(printable.Green, "fixed"), fixed.File, fixed.Line, paint(printable.Bold, fixed.Route), fixed.Message)
	}
	for i := range r.NotFixed {
		not := &r.NotFixed[i]
		printable.Fprintf(out, "%s  %s:%d  %s  %s: %s\n", paint(printable.Yellow, "not fixed"), not.File, not.Line, paint(printable.Bold, not.Route), not.Field, not.Reason)
	}
	for _, folder := range slices.Sorted(maps.Keys(again)) {
		printable.Fprintf(out, "note: %s: %s declared again; if its files are alternatives, name each as a set in .gammaguard.yaml\n",
			folder, Count(again[folder], "more object is", "more objects are"))
	}
	if r.since {
		printable.Fprintf(out, "%s\n", r.newOn())
	} else {
		r.sets(out)
		printable.Fprintf(out, "%s\n", &r.Summary)
	}
	return out.Flush()
}

// maxRepeats is how many objects of a folder are listed that are declared twice.
const maxRepeats = 5

// withoutRepeats leaves out objects that are declared twice where a folder has many, such as one of examples, and
// counts them by folder.
func withoutRepeats(items []Item) (kept []Item, more map[string]int) {
	seen, more := map[string]int{}, map[string]int{}
	for _, i := range items {
		folder := path.Dir(filepath.ToSlash(i.File))
		if i.ID == explain.ObjectDuplicate {
			if seen[folder]++; seen[folder] > maxRepeats {
				more[folder]++
				continue
			}
		}
		kept = append(kept, i)
	}
	return kept, more
}

// list writes the items, by file.
func list(out io.Writer, paint painter, items []Item) {
	file := ""
	for _, i := range items {
		if i.File != file {
			file = i.File
			printable.Fprintf(out, "%s\n", paint(printable.Bold, file))
		}
		printable.Fprintf(out, "%6d  %s  ", i.Line, paint(colors[i.Word], fmt.Sprintf("%-7s", i.Word)))
		if i.Object != "" {
			printable.Fprintf(out, "%s  ", paint(printable.Bold, i.Object))
		}
		printable.Fprintf(out, "%s\n", i.text())
	}
	if file != "" {
		printable.Fprintf(out, "\n")
	}
}

// sets writes which sets were found, and what was left aside: one by one what may hold
// routes, and the rest by number. The summary says all of a folder that is the only set.
func (r *CheckReport) sets(out io.Writer) {
	sets := r.Sets
	if len(sets) == 1 && sets[0].Kind == Directory {
		sets = nil
	}
	var without []string
	for i := range sets {
		if sets[i].Routes == 0 {
			without = append(without, sets[i].String())
			continue
		}
		printable.Fprintf(out, "%s: %s\n", &sets[i], Count(sets[i].Routes, "route", "routes"))
	}
	if len(without) > 0 {
		printable.Fprintf(out, "no routes: %s\n", fewOf(without))
	}
	var others []string
	same := map[string][]string{}
	for _, skipped := range r.Skipped {
		if !skipped.Hides {
			same[skipped.Reason] = append(same[skipped.Reason], skipped.Path)
		}
	}
	for _, skipped := range r.Skipped {
		paths := same[skipped.Reason]
		switch {
		case skipped.Reason == NotManifest:
			others = append(others, skipped.Path)
		case skipped.Hides, len(paths) <= maxAlike && skipped.At == (Place{}):
			printable.Fprintf(out, "not checked: %s: %s\n", skipped.Path, skipped.Reason)
		case skipped.Path == paths[0]:
			printable.Fprintf(out, "not checked: %s: %s\n", andMore(skipped.Path, len(paths)-1), skipped.Reason)
		}
	}
	if len(others) > 0 {
		printable.Fprintf(out, "not checked: %s: %s\n", Count(len(others), "file that is not a manifest", "files that are not manifests"), fewOf(others))
	}
	for i := range r.Notices {
		printable.Fprintf(out, "note: %s\n", &r.Notices[i])
	}
	if len(sets)+len(r.Skipped)+len(r.Notices) > 0 {
		printable.Fprintf(out, "\n")
	}
}

// maxFew is how many names one line has.
const maxFew = 5

// fewOf lists the first names, and how many more there are.
func fewOf(names []string) string {
	return andMore(strings.Join(names[:min(len(names), maxFew)], ", "), len(names)-maxFew)
}

// maxAlike is how many lines say the same of files that hold no routes.
const maxAlike = 3

// colors are those of an item's word.
var colors = map[string]printable.Style{
	"deny": printable.BoldRed, "broken": printable.BoldRed, "warn": printable.Yellow,
	"change": printable.Blue, "unknown": printable.Magenta, "audit": printable.Cyan,
}

// painter returns the text in a style, or as it is.
type painter func(style printable.Style, text string) printable.Layout

func newPainter(color bool) painter {
	if color {
		return printable.Style.Of
	}
	return func(_ printable.Style, text string) printable.Layout { return printable.Layout(printable.Text(text)) }
}

// String reads "2 routes in 3 files: 1 denial, 2 warnings".
func (s *Summary) String() string {
	return Count(s.Routes, "route", "routes") + " in " + Count(s.Files, "file", "files") + ": " + s.found()
}

// hasNew reports whether there is anything to list below a difference.
func (r *CheckReport) hasNew() bool { return len(r.Routes)+len(r.Duplicates) > 0 }

// newOn reads "new on 1 route: 1 denial, 2 warnings", or "new on 1 route, 1 duplicate object: 2 warnings".
func (r *CheckReport) newOn() string {
	var on []string
	if n := r.Summary.Routes; n > 0 {
		on = append(on, Count(n, "route", "routes"))
	}
	if n := len(r.Duplicates); n > 0 {
		on = append(on, Count(n, "duplicate object", "duplicate objects"))
	}
	if len(on) == 0 {
		return "new: " + r.Summary.found()
	}
	return "new on " + strings.Join(on, ", ") + ": " + r.Summary.found()
}

// found reads "1 denial, 2 warnings".
func (s *Summary) found() string {
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
		{s.Ignored, "ignored", "ignored"},
		{s.NotListed, "not listed", "not listed"},
		{s.Fixed, "fixed", "fixed"},
	} {
		if part.n > 0 {
			found = append(found, Count(part.n, part.one, part.many))
		}
	}
	if len(found) == 0 {
		found = []string{"no findings"}
	}
	return strings.Join(found, ", ")
}

// Count reads "1 route" or "2 routes".
func Count(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}
