package audit

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Table writes the findings, a summary of the namespaces, and the commands that grant
// what is missing. Wide adds how to fix each finding, those that are for the audit log
// alone, and the parents that no mesh accepts.
func (r *Report) Table(w io.Writer, wide bool) error {
	rows := [][]string{{"NAMESPACE", "KIND", "NAME", "RULE", "ACTION", "FIELD", "MESSAGE", "FIX"}}
	for i := range r.Routes {
		route := &r.Routes[i]
		for _, line := range route.lines(wide) {
			rows = append(rows, append([]string{route.Namespace, string(route.Kind), route.Name}, line...))
		}
	}
	out := printers.GetNewTabWriter(w)
	for _, row := range rows {
		if !wide {
			row = row[:len(row)-1]
		}
		if len(rows) > 1 {
			printable.Row(out, row...)
		}
	}
	if len(rows) > 1 {
		printable.Row(out)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := r.summary(w); err != nil || !wide || len(r.NotApplied) == 0 {
		return err
	}
	printable.Row(w)
	return Unapplied(w, r.NotApplied)
}

// lines returns rule, action, field, message and fix of what the table shows.
func (r *Route) lines(wide bool) [][]string {
	var lines [][]string
	for _, change := range slices.Concat(r.Changes, r.Withheld) {
		action := "change"
		if change.Withheld != mutate.NotWithheld {
			action = string(change.Effect) + " (" + string(change.Withheld) + ")"
		}
		lines = append(lines, []string{change.Mutation, action, change.Field, change.Message, ""})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		action := string(f.Effect)
		if f.Downgraded != "" {
			action += " (" + f.Downgraded + ")"
		}
		shown := f.Effect == validate.Deny || f.Effect == validate.Warn || f.Effect == report.EffectUnknown || f.Effect == report.EffectDormant || f.Action == validate.Deny
		if shown || wide {
			lines = append(lines, []string{f.Rule, action, cmp.Or(f.Field, "-"), f.Problem, f.Remedy})
		}
	}
	for i := range r.Replaced {
		replaced := &r.Replaced[i]
		lines = append(lines, []string{string(validate.Replaced), "-", replaced.Field, replaced.message(), "add the rule that these clients lack to their routes, or ask their owner to remove these"})
	}
	return lines
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

// summary writes a line for each namespace, and the commands.
func (r *Report) summary(w io.Writer) error {
	out := printers.GetNewTabWriter(w)
	printable.Row(out, "NAMESPACE", "MODE", "ROUTES", "WOULD BE DENIED", "WARNINGS", "UNKNOWN", "DORMANT", "APPLIED", "GRANT", "NEEDS")
	var commands, wake []string
	for i := range r.Namespaces {
		n := &r.Namespaces[i]
		printable.Row(out, n.Name, string(n.Mode), strconv.Itoa(n.Routes), strconv.Itoa(n.Denied), strconv.Itoa(n.Warned), strconv.Itoa(n.Unknown), strconv.Itoa(n.Dormant),
			fmt.Sprintf("%d/%d", n.Applied, n.Parented),
			string(n.Grant), cmp.Or(string(n.Needs), "-"))
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
		{"Dormant routes have no effect. To make one live, grant first, then patch it, or correct the owner that a comment names; --dry-run=server shows what gammaguard says to the patch:", wake},
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
