package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// Table writes what was found, what to do first above the rest, a summary of the namespaces that
// counts these lines and the dormant routes, and the commands that grant what is missing. Findings that are equal but for the
// route share a line. Wide has a line for each, with how to fix it, and adds those that are for the audit
// log alone, and the parents that no mesh accepts. Notes are last.
func (r *Report) Table(w io.Writer, wide bool) error {
	lines := r.lines(wide)
	counts := r.counts(lines)
	header := []string{"NAMESPACE", "KIND", "NAME", "RULE", "ACTION", "FIELD", "MESSAGE", "FIX"}
	if !wide {
		lines, header = grouped(lines), header[:len(header)-1]
	}
	if len(lines) > 0 {
		out := printers.GetNewTabWriter(w)
		printable.Row(out, header...)
		for i := range lines {
			printable.Row(out, lines[i].cells()[:len(header)]...)
		}
		printable.Row(out)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if err := r.summary(w, counts, wide); err != nil {
		return err
	}
	if wide && len(r.NotApplied) > 0 {
		printable.Row(w)
		if err := Unapplied(w, r.NotApplied); err != nil {
			return err
		}
	}
	return grants.WriteNotes(w, r.Notes)
}

// summary writes a line for each namespace, those with most to do first, and the commands.
func (r *Report) summary(w io.Writer, counts map[string]map[string]int, wide bool) error {
	var columns []string
	for _, class := range classes {
		used := wide || slices.Contains(always, class)
		for _, of := range counts {
			used = used || of[class] > 0
		}
		if used {
			columns = append(columns, class)
		}
	}
	header := []string{"NAMESPACE", "MODE", "ROUTES", "ROUTES DENIED"}
	for _, class := range columns {
		header = append(header, headings[class])
	}
	out := printers.GetNewTabWriter(w)
	printable.Row(out, append(header, "APPLIED", "GRANT", "NEEDS")...)
	ordered := slices.Clone(r.Namespaces)
	slices.SortStableFunc(ordered, func(a, b Namespace) int {
		for _, class := range classes {
			if c := cmp.Compare(counts[b.Name][class], counts[a.Name][class]); c != 0 {
				return c
			}
		}
		return 0
	})
	var commands, wake []string
	for i := range ordered {
		n := &ordered[i]
		row := []string{n.Name, grants.Mode(n.Mode, n.Exempt), strconv.Itoa(n.Routes), strconv.Itoa(n.Denied)}
		for _, class := range columns {
			row = append(row, strconv.Itoa(counts[n.Name][class]))
		}
		printable.Row(out, append(row, fmt.Sprintf("%d/%d", n.Applied, n.Parented), n.EffectiveGrant, cmp.Or(string(n.Needs), "-"))...)
		if n.Command != "" {
			commands = append(commands, n.Command)
		}
		wake = append(wake, n.Wake...)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, part := range []struct {
		heading  string
		commands []string
	}{
		{"To grant what these routes need, a mesh admin can run:", commands},
		{"Dormant routes have no effect. To make one live, run its commands in this order, or correct the owner that a comment names; --dry-run=server shows what gammaguard says to the patch:", wake},
	} {
		if len(part.commands) == 0 {
			continue
		}
		if _, err := printable.Fprintf(w, "\n%s\n", part.heading); err != nil {
			return err
		}
		for _, command := range part.commands {
			printable.Row(w, command)
		}
	}
	return nil
}

// message reads "clients in namespace faces meet HTTPRoute faces/cart instead on port 80 of Service
// shop/cart".
func (r *Replaced) message() string {
	ports := make([]string, len(r.Ports))
	for i, port := range r.Ports {
		ports[i] = strconv.Itoa(int(port))
	}
	word := "port "
	if len(ports) > 1 {
		word = "ports "
	}
	return "clients in namespace " + r.In + " meet " + r.By + " instead on " + word + strings.Join(ports, ", ") + " of " + r.Service
}

// SARIF writes the findings as check does. The place of a route is the path NAMESPACE,
// KIND, NAME.
func (r *Report) SARIF(w io.Writer, version string) error {
	all := report.New()
	for i := range r.Routes {
		route := &r.Routes[i]
		place := report.Place{File: strings.Join([]string{route.Namespace, string(route.Kind), route.Name}, "/"), Line: 1}
		judged := report.Route{
			RouteName: route.RouteName, Place: place,
			Verdict: route.Verdict, Changes: route.Changes, Withheld: route.Withheld, Findings: route.Findings,
		}
		for j := range judged.Findings {
			judged.Findings[j].Line = 1
		}
		for _, changes := range [][]report.Change{judged.Changes, judged.Withheld} {
			for j := range changes {
				changes[j].Line = 1
			}
		}
		all.Routes = append(all.Routes, judged)
	}
	return all.SARIF(w, version)
}
