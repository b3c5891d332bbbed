package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reached is a result that reaches every goal, each by as little as can be.
func reached() *Result {
	comparisons := func(growth float64) []Comparison {
		var all []Comparison
		for _, kind := range []struct {
			traffic string
			cpu     float64
		}{{someBad, 1.1}, {someBadOthersWarned, 1.25}, {mutatingSomeBad, 0.75}, {noneBad, 0.95}, {allWarned, 0.95}, {updated, 0.95}} {
			c := Comparison{Traffic: kind.traffic, CPU: Measure{Ratio: growth * kind.cpu}, P99: Measure{Ratio: 1.25}}
			if kind.traffic == someBad {
				c.Denied = &Measure{Ratio: 2}
			}
			all = append(all, c)
		}
		return append(all, Comparison{Traffic: crowded, CPU: Measure{Ratio: 1.25 * growth}})
	}
	return &Result{Machine: "2 x CPU", Stages: []Stage{
		{Routes: 100, Services: 20, Webhook: comparisons(1), HeapMiB: 10, RSSMiB: 40},
		{Routes: 1000, Services: 1000, Webhook: comparisons(1), ReadySeconds: 1, LoadedMiB: 64},
		{
			Routes: 100_000, Services: 20_000, Webhook: comparisons(1.199), ReadySeconds: 15, HeapMiB: 75, RSSMiB: 105, LoadedMiB: 170,
			Status: &Status{
				Idle: Latency{P99: 1000}, Busy: Latency{P99: 3000}, ColdSeconds: 60,
				Withdrawn: Mass{Seconds: 120}, Returned: Mass{Seconds: 120},
			},
			Audit: &Audit{
				With:    Rest{Seconds: 30, CPUMillis: 50, HeapMiB: 73.4},
				Without: Rest{Seconds: 30, CPUMillis: 20, HeapMiB: 70},
				Changes: []Change{{What: "a route is created", Routes: 1, Latency: Latency{P99: 60000}}, {What: "a grant", Routes: 5000, Latency: Latency{P99: 59000}}},
			},
		},
	}}
}

// Each figure that is over its limit is told as a miss, and no other.
func TestGoals(t *testing.T) {
	few, many := 1, 2
	for _, test := range []struct {
		name   string
		spoil  func(stages []Stage)
		missed []string
	}{
		{"all reached", func([]Stage) {}, nil},
		{"CPU", func(s []Stage) { s[few].Webhook[0].CPU.Ratio = 1.11 }, []string{"validating, 1,000 Services, 5 % bad"}},
		{"p99 of denials", func(s []Stage) { s[few].Webhook[0].Denied.Ratio = 2.01 }, []string{"validating, 1,000 Services, 5 % bad"}},
		{"p99 with warnings", func(s []Stage) { s[few].Webhook[1].P99.Ratio = 1.26 }, []string{"the same, and all others"}},
		{"p99 of mutating", func(s []Stage) { s[few].Webhook[2].P99.Ratio = 1.26 }, []string{"mutating"}},
		{"p99 at another size", func(s []Stage) { s[many].Webhook[0].P99.Ratio = 3 }, nil},
		{"growth", func(s []Stage) { s[many].Webhook[3].CPU.Ratio = 1.15 }, []string{"100,000 routes as 100"}},
		{"a crowded Service", func(s []Stage) { s[few].Webhook[6].CPU.Ratio = 1.51 }, []string{"a Service that 1,000"}},
		{"memory while serving", func(s []Stage) { s[few].LoadedMiB = 64.1 }, []string{"memory at 1,000"}},
		{"bytes a route", func(s []Stage) { s[0].HeapMiB, s[0].RSSMiB = -23, 7 }, []string{"a cached route"}},
		{"memory", func(s []Stage) { s[many].RSSMiB = 105.1 }, []string{"100,000 routes in at most"}},
		{"memory after requests", func(s []Stage) { s[many].LoadedMiB = 170.1 }, []string{"100,000 routes in at most"}},
		{"ready", func(s []Stage) { s[few].ReadySeconds, s[many].ReadySeconds = 1.1, 16 }, []string{"ready with 1,000", "ready with 100,000"}},
		{"marks", func(s []Stage) { s[many].Status.Idle.P99, s[many].Status.Busy.P99 = 1001, 3001 }, []string{"a conflict is marked", "and within 3 s"}},
		{"a write at the start", func(s []Stage) { s[many].Status.ColdWrites = 1 }, []string{"a cold start"}},
		{"CPU of the audit", func(s []Stage) { s[many].Audit.With.CPUMillis = 50.1 }, []string{"the standing audit"}},
		{"memory of the audit", func(s []Stage) { s[many].Audit.With.HeapMiB = 73.5 }, []string{"and under 5 %"}},
		{"a change", func(s []Stage) { s[many].Audit.Changes[1].P99 = 60001 }, []string{"and is right again"}},
		{"mending", func(s []Stage) { s[many].Status.Returned.Seconds = 121 }, []string{"a mass event"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := reached()
			test.spoil(result.Stages)
			text, err := page(measurementsText, result)
			if err != nil {
				t.Fatal(err)
			}
			var missed []string
			for line := range strings.Lines(string(text)) {
				if strings.HasSuffix(line, "| **no** |\n") {
					missed = append(missed, strings.TrimPrefix(line, "| "))
				}
			}
			if diff := cmp.Diff(test.missed, missed, cmp.Comparer(func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) })); diff != "" {
				t.Errorf("missed targets (-want +got):\n%s", diff)
			}
		})
	}
}

// A run that was cut short, or was small from the start, still makes a page.
func TestPageOfPartOfARun(t *testing.T) {
	for n := 1; n <= 3; n++ {
		result := reached()
		result.Stages = result.Stages[:n]
		for _, template := range []string{objectivesText, measurementsText} {
			text, err := page(template, result)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
				t.Errorf("the page of %d sizes has no number somewhere:\n%s", n, text)
			}
		}
	}
}

// TestObjectives: what docs/performance.md promises holds in the run that it shows, and what
// is missed is said.
func TestObjectives(t *testing.T) {
	var result Result
	if err := read(&result, "../../../docs/performance"); err != nil {
		t.Fatal(err)
	}
	holds := func() (met, missed int) {
		text, err := page(objectivesText, &result)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "| yes |\n"), strings.Count(string(text), "| **no** |\n")
	}
	if met, missed := holds(); met < 13 || missed > 0 {
		t.Errorf("%d objectives hold, %d do not", met, missed)
	}
	result.At(1000).LoadedMiB = 65
	if _, missed := holds(); missed != 1 {
		t.Errorf("with 65 MiB, %d objectives do not hold", missed)
	}
}
