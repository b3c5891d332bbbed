package main

import (
	"slices"
	"strings"
)

// Most is the stage with the most routes.
func (r *Result) Most() *Stage { return &r.Stages[len(r.Stages)-1] }

// At is the stage with so many routes, or nil.
func (r *Result) At(routes int) *Stage {
	i := slices.IndexFunc(r.Stages, func(s Stage) bool { return s.Routes == routes })
	if i < 0 {
		return nil
	}
	return &r.Stages[i]
}

// Settled are the stages in which status was measured.
func (r *Result) Settled() []Stage {
	return slices.DeleteFunc(slices.Clone(r.Stages), func(s Stage) bool { return s.Status == nil })
}

// Growth is how many times the CPU with the fewest routes the CPU with the most
// is, for the traffic for which that is worst.
func (r *Result) Growth() (worst float64) {
	for i := range r.Most().Webhook {
		worst = max(worst, r.Most().Webhook[i].CPU.Ratio/r.Stages[0].Webhook[i].CPU.Ratio)
	}
	return worst
}

// Crowded is the most CPU that the Service takes that many routes share.
func (r *Result) Crowded() (most float64) {
	for i := range r.Stages {
		most = max(most, r.Stages[i].Of(crowded).CPU.Ratio)
	}
	return most
}

// RouteBytes is what a cached route takes, on the heap and resident: nothing where
// the sizes are too near to each other to tell.
func (r *Result) RouteBytes() []float64 {
	least, most := &r.Stages[0], r.Most()
	more := float64(most.Routes - least.Routes)
	if more < 10_000 {
		return nil
	}
	return []float64{(most.HeapMiB - least.HeapMiB) * (1 << 20) / more, (most.RSSMiB - least.RSSMiB) * (1 << 20) / more}
}

// Of returns the comparison with the traffic; the name of the last may go on.
func (s *Stage) Of(traffic string) Comparison {
	i := slices.IndexFunc(s.Webhook, func(c Comparison) bool {
		return c.Traffic == traffic || traffic == crowded && strings.HasPrefix(c.Traffic, crowded)
	})
	return s.Webhook[i]
}

// Within reports whether the ratios are no more than that.
func (c Comparison) Within(cpu, p99 float64) bool { return c.CPU.Ratio <= cpu && c.P99.Ratio <= p99 }
