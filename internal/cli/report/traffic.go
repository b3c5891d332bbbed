package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
)

// The kinds of the JSON forms of a trace and of a difference.
const (
	TraceKind = "TrafficTrace"
	DiffKind  = "TrafficDiff"
)

// Trace is the way of one request. Its JSON form is documented in docs/cli.
type Trace struct {
	TypeMeta
	*traffic.Trace
}

// Diff is which requests go somewhere else in one version of the input than in
// another, and what the rules find in it that they did not find before. Its JSON
// form is documented in docs/cli.
type Diff struct {
	TypeMeta
	*traffic.Difference
	NewFindings *CheckReport `json:"newFindings"`
	// Sets are those that were compared, where several were looked for: findings name the renderings of a chart that have them.
	Sets []Set `json:"-"`
	// BaseLacks is set if a chart of the base lacks a dependency that it has after the change.
	BaseLacks bool `json:"-"`
}

// Text writes the difference for people, with colors if told so.
func (d *Diff) Text(w io.Writer, color bool) error {
	if _, err := printable.Fprintf(w, "%s", printable.Layout(d.String())); err != nil || !d.NewFindings.hasNew() {
		return err
	}
	listed := d.findings()
	printable.Fprintf(w, "\n")
	if found, _, _ := listed.told(); len(found) > 0 { // what is unknown has its own heading
		printable.Fprintf(w, "new findings:\n")
	}
	return listed.Text(w, color)
}

// findings are the new ones, as they are listed.
func (d *Diff) findings() *CheckReport {
	listed := *d.NewFindings
	listed.since, listed.Sets = true, d.Sets
	return &listed
}

// maxComment is how long a comment on GitHub may be, in characters.
const maxComment = 65_536

// Markdown writes the difference as a comment on a pull request. What there is no room for is left out: first changes, then
// notes, and findings last.
func (d *Diff) Markdown(w io.Writer) error {
	summary, changes, notes := d.Difference.Markdown()
	if d.NewFindings.hasNew() {
		summary += "; " + d.NewFindings.newOn()
	}
	const rest = 256 // for what says how much is left out
	c := comment{room: maxComment - rest - len(summary)}
	found := c.fit(d.found())
	noted := c.fit(notes)
	var text strings.Builder
	printable.Fprintf(&text, "**%s**\n", summary)
	for _, part := range changes {
		text.WriteString(c.fit(part))
	}
	text.WriteString(noted + found)
	if c.left > 0 {
		printable.Fprintf(&text, "\n**%s left out**: a comment has room for %d characters. For all, run gammaguard diff without -o markdown.\n",
			Count(c.left, "line is", "lines are"), maxComment)
	}
	_, err := io.WriteString(printable.Markdown(w), text.String())
	return err
}

// comment is what a comment has room for, and how many lines are left out of it.
type comment struct{ room, left int }

// fit returns the part up to the first line for which there is no room; nothing, if that is the first.
func (c *comment) fit(part traffic.Part) string {
	size, n := len(part.Head), 0
	for n < len(part.Lines) && size+len(part.Lines[n]) <= c.room {
		size += len(part.Lines[n])
		n++
	}
	c.left += len(part.Lines) - n
	if n == 0 {
		return ""
	}
	c.room -= size
	return part.Head + strings.Join(part.Lines[:n], "")
}

// found are the new findings, denials first.
func (d *Diff) found() traffic.Part {
	part := traffic.Part{Head: "\n### new findings\n\n| effect | where | finding |\n|---|---|---|\n"}
	items := d.findings().lines()
	weights := []validate.Action{EffectUnknown, validate.Warn, validate.Deny}
	slices.SortStableFunc(items, func(a, b Item) int { return slices.Index(weights, b.Effect) - slices.Index(weights, a.Effect) })
	for _, i := range items {
		place := fmt.Sprintf("%s:%d", i.File, i.Line)
		part.Lines = append(part.Lines, printable.Sprintf("| %s | %s | %s |\n", i.Word, printable.Cell(place), printable.Cell(i.named())))
	}
	return part
}

// Since returns the routes, findings, changes, and duplicates of the report that another one does not have. A finding that denies
// is new where it did not deny before, and where it denies each edit, if the route is edited. Findings that are silenced are left out, and new where they no
// longer are.
func (r *CheckReport) Since(before *CheckReport, edited map[string]bool) *CheckReport {
	type key struct {
		route, rule string
		reference   validate.Reference
	}
	type set struct{ route, mutation, field, value string }
	known, denied, made := map[key]bool{}, map[key]bool{}, map[set]bool{}
	asked := map[key]bool{} // those that could not be judged, and what the input lacks, whichever route asks
	setOf := func(route *Route, c *Change) set {
		return set{route.String(), c.Mutation, c.Field, fmt.Sprint(c.Value)}
	}
	for i := range before.Routes {
		route := &before.Routes[i]
		for _, f := range route.Findings {
			k := key{route.String(), f.Rule, f.Reference}
			asked[k], asked[key{"", f.Lacks, f.Reference}] = true, true
			known[k], denied[k] = known[k] || f.Effect != EffectUnknown && f.Effect != validate.Off, denied[k] || f.Effect == validate.Deny
		}
		for j := range route.Changes {
			made[setOf(route, &route.Changes[j])] = true
		}
	}
	out := &CheckReport{TypeMeta: r.TypeMeta, Routes: []Route{}, Broken: []Broken{}}
	for _, route := range r.Routes {
		found, changes := []Finding{}, []Change{}
		for _, f := range route.Findings {
			held := f.Downgraded == string(validate.DowngradedByUpdate) // for the stored route too
			k := key{route.String(), f.Rule, f.Reference}
			before := asked[k] || f.Lacks != "" && asked[key{"", f.Lacks, f.Reference}]
			f.Raised = known[k] && f.Effect == validate.Deny && !denied[k]
			again := edited[route.String()] && f.Effect == validate.Deny && validate.DeniesEdits(f.Rule)
			if again || f.Raised || f.Effect != validate.Off && !held && !known[k] && (f.Effect != EffectUnknown || !before) {
				found = append(found, f)
			}
		}
		for i := range route.Changes {
			if !made[setOf(&route, &route.Changes[i])] {
				changes = append(changes, route.Changes[i])
			}
		}
		if len(found)+len(changes) > 0 {
			route.Findings, route.Changes, route.Withheld = found, changes, nil
			out.Routes = append(out.Routes, route)
		}
	}
	declared := map[string]int{} // the same object may be elsewhere
	for i := range before.Duplicates {
		declared[before.Duplicates[i].Object]++
	}
	for _, duplicate := range r.Duplicates {
		if declared[duplicate.Object]--; declared[duplicate.Object] < 0 {
			out.Duplicates = append(out.Duplicates, duplicate)
		}
	}
	out.files = r.files
	out.Count()
	return out
}
