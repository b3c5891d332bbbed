package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

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
}

// Text writes the difference for people, with colors if told so.
func (d *Diff) Text(w io.Writer, color bool) error {
	if _, err := printable.Fprintf(w, "%s", printable.Layout(d.String())); err != nil || len(d.NewFindings.Routes) == 0 {
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

// Markdown writes the difference as a comment on a pull request, and leaves out what there is no room for.
func (d *Diff) Markdown(w io.Writer) error {
	var whole bytes.Buffer
	if err := d.markdown(&whole); err != nil {
		return err
	}
	_, err := printable.Markdown(w).Write(commented(whole.Bytes()))
	return err
}

// commented returns as many lines of the text as a comment has room for.
func commented(text []byte) []byte {
	if len(text) <= maxComment {
		return text
	}
	const room = 256
	kept := text[:bytes.LastIndexByte(text[:maxComment-room], '\n')+1]
	left := bytes.Count(text[len(kept):], []byte("\n"))
	return append(slices.Clip(kept), printable.Sprintf("\n**%s left out**: a comment has room for %d characters. For all, run gammaguard diff without -o markdown.\n",
		Count(left, "line is", "lines are"), maxComment)...)
}

func (d *Diff) markdown(w io.Writer) error {
	out := bufio.NewWriter(printable.Markdown(w))
	printable.Fprintf(out, "%s", printable.Layout(d.Difference.Markdown()))
	if len(d.NewFindings.Routes) > 0 {
		printable.Fprintf(out, "\n### new findings\n\n| effect | where | finding |\n|---|---|---|\n")
	}
	for _, i := range d.findings().lines() {
		place := fmt.Sprintf("%s:%d", i.File, i.Line)
		printable.Fprintf(out, "| %s | %s | %s |\n", i.Word, printable.Cell(place), printable.Cell(i.named()))
	}
	return out.Flush()
}

// Since returns the routes, findings, and changes of the report that another one does not have.
// Findings that are silenced are left out.
func (r *CheckReport) Since(before *CheckReport) *CheckReport {
	type key struct {
		route, rule string
		reference   validate.Reference
	}
	type set struct{ route, mutation, field, value string }
	known, asked, made := map[key]bool{}, map[key]bool{}, map[set]bool{} // asked are those that could not be judged, and what the input lacks, whichever route asks
	setOf := func(route *Route, c *Change) set {
		return set{route.String(), c.Mutation, c.Field, fmt.Sprint(c.Value)}
	}
	for i := range before.Routes {
		route := &before.Routes[i]
		for _, f := range route.Findings {
			k := key{route.String(), f.Rule, f.Reference}
			asked[k], asked[key{"", f.Lacks, f.Reference}] = true, true
			known[k] = known[k] || f.Effect != EffectUnknown
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
			if f.Effect != validate.Off && !held && !known[k] && (f.Effect != EffectUnknown || !before) {
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
	out.files = r.files
	out.Count()
	return out
}
