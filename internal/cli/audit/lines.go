package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// The classes of lines besides the actions of rules and their effects.
const (
	classChange   = "change"
	classReplaced = string(validate.Replaced)
)

// classes are those of lines: what to do first comes first. Always are those that the summary counts
// also where there are none.
var (
	classes = []string{
		string(validate.Deny), string(validate.Warn), classChange, string(report.EffectUnknown), string(report.EffectDormant), classReplaced, string(validate.Audit),
	}
	always   = []string{string(validate.Deny), string(validate.Warn), classChange}
	headings = map[string]string{
		string(validate.Deny): "DENIALS", string(validate.Warn): "WARNINGS", classChange: "CHANGES", string(report.EffectUnknown): "UNKNOWN",
		string(report.EffectDormant): "DORMANT", classReplaced: "REPLACED", string(validate.Audit): "AUDITS",
	}
)

// line is one finding, change, or replaced parentRef; or several that are equal but for the route.
type line struct {
	namespace, kind, rule, action, field, message, fix string
	names                                              []string
	class                                              string
	// rank is the class that it would have in mode enforce, and that it is sorted by.
	rank string
	// first: it comes before others of its class.
	first bool
}

// lines returns what the table shows, what to do first above the rest.
func (r *Report) lines(wide bool) []line {
	var all []line
	for i := range r.Routes {
		route := &r.Routes[i]
		for _, l := range route.lines(wide) {
			l.namespace, l.kind, l.names = route.Namespace, string(route.Kind), []string{route.Name}
			all = append(all, l)
		}
	}
	slices.SortStableFunc(all, line.compare)
	return all
}

// compare is negative if a is to be done before b.
func (a line) compare(b line) int {
	at := func(class string) int { return slices.Index(classes, class) }
	if c := cmp.Or(cmp.Compare(at(a.rank), at(b.rank)), cmp.Compare(at(a.class), at(b.class))); c != 0 {
		return c
	}
	if a.first != b.first {
		if a.first {
			return -1
		}
		return 1
	}
	return 0
}

// lines returns what the table shows of the route.
func (r *Route) lines(wide bool) []line {
	var lines []line
	for _, change := range slices.Concat(r.Changes, r.Withheld) {
		l := line{rule: change.Mutation, class: classChange, rank: classChange, action: classChange, field: change.Field, message: change.Message}
		if change.Withheld != mutate.NotWithheld {
			l.class, l.action = string(change.Effect), string(change.Effect)+" ("+string(change.Withheld)+")"
			if change.Withheld != mutate.WithheldByMode {
				l.rank = l.class
			}
		}
		lines = append(lines, l)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		// A missing grant hides other findings.
		l := line{rule: f.Rule, class: string(f.Effect), rank: string(f.Effect), action: string(f.Effect), field: cmp.Or(f.Field, "-"), message: f.Problem, fix: f.Remedy}
		if f.Downgraded == string(validate.DowngradedByMode) {
			l.rank = string(f.Action)
		}
		l.first = f.Action == validate.Deny && (l.rank != string(validate.Deny) || f.Rule == validate.RuleGrantMissing)
		if f.Downgraded != "" {
			l.action += " (" + f.Downgraded + ")"
		}
		shown := f.Effect == validate.Deny || f.Effect == validate.Warn || f.Effect == report.EffectUnknown || f.Effect == report.EffectDormant || f.Action == validate.Deny
		if shown || wide {
			lines = append(lines, l)
		}
	}
	for i := range r.Replaced {
		replaced := &r.Replaced[i]
		lines = append(lines, line{
			rule: classReplaced, class: classReplaced, rank: classReplaced, action: "-", field: replaced.Field, message: replaced.message(),
			fix: "add the rule that these clients lack to their routes, or ask their owner to remove these",
		})
	}
	return lines
}

// counts returns how many lines of each class each namespace has, and how many dormant routes: of these, some lines
// have another class, since they say what would be denied.
func (r *Report) counts(lines []line) map[string]map[string]int {
	counts := map[string]map[string]int{}
	for i := range r.Namespaces {
		counts[r.Namespaces[i].Name] = map[string]int{}
	}
	for i := range lines {
		counts[lines[i].namespace][lines[i].class]++
	}
	for i := range r.Namespaces {
		counts[r.Namespaces[i].Name][string(report.EffectDormant)] = r.Namespaces[i].Dormant
	}
	return counts
}

// grouped puts findings together that are equal but for the route. In a class, those come first that
// concern most routes.
func grouped(lines []line) []line {
	at := map[[5]string]int{}
	var groups []line
	for _, l := range lines {
		key := [5]string{l.namespace, l.kind, l.rule, l.action, l.message}
		i, again := at[key]
		if !again {
			at[key] = len(groups)
			groups = append(groups, l)
			continue
		}
		groups[i].names = append(groups[i].names, l.names...)
		if groups[i].field != l.field {
			groups[i].field = "several"
		}
	}
	slices.SortStableFunc(groups, func(a, b line) int {
		return cmp.Or(a.compare(b), cmp.Compare(len(b.names), len(a.names)))
	})
	return groups
}

// maxNames is how many routes a line names.
const maxNames = 3

// cells returns the columns of the line.
func (a *line) cells() []string {
	names := slices.Clone(a.names)
	total := len(names)
	names = slices.Compact(names) // one route may have a finding in several fields
	if more := len(names) - maxNames; more > 0 {
		names = append(names[:maxNames], fmt.Sprintf("and %d more", more))
	}
	name := strings.Join(names, ", ")
	if total > len(slices.Compact(slices.Clone(a.names))) {
		name += fmt.Sprintf(" (%d times)", total)
	}
	return []string{a.namespace, a.kind, name, a.rule, a.action, a.field, a.message, a.fix}
}
