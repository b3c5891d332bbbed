package report_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/report"
)

// TestRenderings: what some renderings of a chart have names their values files, each as it is in the chart, and several of one set together.
func TestRenderings(t *testing.T) {
	sets := []report.Set{
		{Kind: report.Chart, Path: "till", Values: "till/prod.yaml, till/eu.yaml"}, {Kind: report.Chart, Path: "till", Values: "till/prod.yaml, envs/us.yaml"}, {Kind: report.Chart, Path: "till"},
	}
	if got := report.Renderings(sets)([]string{sets[0].String(), sets[1].String()}); got != " (with prod.yaml and eu.yaml, prod.yaml and envs/us.yaml)" {
		t.Error(got)
	}
}
