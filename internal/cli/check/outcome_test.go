package check_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/test/scenarios/runner"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// outcomeOf reads the report of one route as its author would.
func outcomeOf(r *report.CheckReport) (*runner.Outcome, error) {
	if len(r.Routes) != 1 || len(r.Broken) > 0 {
		return nil, fmt.Errorf("want one route, got %d and broken documents %v", len(r.Routes), r.Broken)
	}
	route := &r.Routes[0]
	outcome := &runner.Outcome{Denied: route.Verdict == report.Deny, Rules: []string{}, Warnings: []string{}}
	var lines []string
	for _, change := range route.Changes {
		outcome.Warnings = append(outcome.Warnings, change.Mutation)
		lines = append(lines, "Warning: "+change.Message)
	}
	for _, change := range route.Withheld {
		if change.Effect == validate.Warn {
			outcome.Warnings = append(outcome.Warnings, change.Mutation)
			lines = append(lines, "Warning: "+change.Message)
		}
	}
	for _, f := range route.Findings {
		rule := rules.Find(f.Rule)
		switch {
		case outcome.Denied && f.Effect == validate.Warn && rule != nil && rule.OfTraffic: // a denial leaves it out
		case f.Rule == explain.IgnoreAnnotation: // no rule
			lines = append(lines, "Warning: "+f.Field+": "+f.Message)
		case f.Effect == validate.Deny:
			outcome.Rules = append(outcome.Rules, f.Rule)
			lines = append(lines, f.Field+": "+f.Message)
		case f.Effect == validate.Warn:
			outcome.Warnings = append(outcome.Warnings, f.Rule)
			lines = append(lines, "Warning: "+f.Field+": "+f.Message)
		case f.Effect == report.EffectUnknown:
			return nil, fmt.Errorf("unknown, where the files are complete: %s", f.Message)
		}
	}
	slices.Sort(outcome.Rules)
	slices.Sort(outcome.Warnings)
	outcome.Rules, outcome.Warnings = slices.Compact(outcome.Rules), slices.Compact(outcome.Warnings)
	outcome.Text = strings.Join(lines, "\n")
	return outcome, nil
}
