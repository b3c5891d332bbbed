package describe

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// Text writes the description for people.
func (d *OneRoute) Text(w io.Writer) error {
	parents := [][]string{{"PARENT", "FIELD", "PORT", "SCOPE", "STATE", "ACKNOWLEDGED", "REASON"}}
	for i := range d.Parents {
		parents = append(parents, d.Parents[i].rows()...)
	}
	findings := [][]string{{"RULE", "ACTION", "FIELD", "PROBLEM", "FIX"}}
	for _, change := range slices.Concat(d.Changes, d.Withheld) {
		action := "change"
		if change.Withheld != mutate.NotWithheld {
			action = string(change.Effect) + " (" + string(change.Withheld) + ")"
		}
		findings = append(findings, []string{change.Mutation, action, change.Field, change.Message, "-"})
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		action := string(f.Effect)
		if f.Downgraded != "" {
			action += " (" + f.Downgraded + ")"
		}
		findings = append(findings, []string{f.Rule, action, cmp.Or(f.Field, "-"), f.Problem, cmp.Or(f.Remedy, "-")})
	}
	sections := []section{{"", [][]string{{"Name:", d.Name}, {"Namespace:", d.Namespace}, {"Kind:", string(d.RouteKind)}}}, {"", parents}, {"Findings:", findings}}
	if len(findings) == 1 {
		sections[2] = section{"No findings.", nil}
	}
	if err := write(w, sections, "Grant of its namespace:", d.Grants, d.Notes); err != nil || len(d.Commands) == 0 {
		return err
	}
	heading := "To fix what a command can fix:"
	if d.needsGrant {
		heading = "To fix what a command can fix; a grant takes a mesh admin:"
	}
	printable.Fprintf(w, "\n%s\n", heading)
	for _, command := range d.Commands {
		printable.Row(w, command)
	}
	return nil
}

// rows returns the lines of a parentRef: one for each port and scope.
func (p *Parent) rows() [][]string {
	if !p.Mesh {
		reason := "not a parent in the mesh: " + p.acts
		if p.Reason != "" {
			reason += ". " + p.Reason
		}
		return [][]string{{p.Parent, p.Field, "-", "-", "-", "-", reason}}
	}
	acknowledged, said := p.Acknowledgement.State, ""
	if p.Acknowledgement.By != "" {
		acknowledged += " by " + p.Acknowledgement.By
	}
	if !p.Acknowledgement.Applied() {
		said = cmp.Or(p.Acknowledgement.Message, p.Acknowledgement.Reason)
	}
	if len(p.Ports) == 0 {
		return [][]string{{p.Parent, p.Field, "-", "-", string(validate.Unknown), acknowledged, cmp.Or(said, "-")}}
	}
	rows := make([][]string, len(p.Ports))
	for i := range p.Ports {
		r := &p.Ports[i]
		port := "-"
		if r.Port != 0 {
			port = fmt.Sprintf("%d/%s", r.Port, r.Protocol)
		}
		rows[i] = []string{p.Parent, p.Field, port, r.Scope, string(r.State), acknowledged, cmp.Or(r.Reason, said, "-")}
	}
	return rows
}
