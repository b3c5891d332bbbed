package main

import (
	"fmt"
	"slices"
	"strings"
)

// Goal is a target of the project, and whether a run reached it.
type Goal struct {
	What, Measured string
	Holds          bool
}

// Goals judges the result. Targets for sizes that were not measured are left out.
func (r *Result) Goals() []Goal {
	var goals []Goal
	add := func(what string, holds bool, measured string, args ...any) {
		goals = append(goals, Goal{what, fmt.Sprintf(measured, args...), holds})
	}
	least, most := &r.Stages[0], r.Most()
	if s := r.with(func(s *Stage) bool { return s.Services == 1000 }); s != nil {
		for _, target := range []struct {
			traffic  string
			cpu, p99 float64
		}{{someBad, 1.1, 2}, {someBadOthersWarned, 1.25, 2}, {noneBad, 0.8, 2}, {mutatingSomeBad, 0.7, 2}} {
			c := s.comparison(target.traffic)
			add(fmt.Sprintf("%s, at 1,000 Services: CPU at most %g × floor, p99 at most %g × floor", target.traffic, target.cpu, target.p99),
				c.CPU.Ratio <= target.cpu && c.P99.Ratio <= target.p99, "%.2f, %.2f", c.CPU.Ratio, c.P99.Ratio)
		}
		add("memory at 1,000 Services, while serving: at most 64 MiB", s.LoadedMiB <= 64, "%.0f MiB", s.LoadedMiB)
	}
	if least != most {
		worst, dearest := 0.0, 0.0
		for i := range least.Webhook {
			worst = max(worst, most.Webhook[i].CPU.Ratio/least.Webhook[i].CPU.Ratio)
		}
		for i := range r.Stages {
			dearest = max(dearest, r.Stages[i].comparison(crowded).CPU.Ratio)
		}
		add(fmt.Sprintf("%s routes as %s: CPU within 1.2 times, whatever the traffic", count(most.Routes), count(least.Routes)), worst <= 1.2, "at most %.2f times", worst)
		add("a Service that very many routes share: CPU under 3 × floor", dearest < 3, "at most %.2f", dearest)
	}
	if b := r.RouteBytes(); b != nil {
		add("a cached route under 1 KiB", max(b[0], b[1]) < 1024, "%.0f bytes of heap, %.0f resident", b[0], b[1])
	}
	if s := r.routes(1000); s != nil {
		add("ready with 1,000 routes within 1 s", s.ReadySeconds <= 1, "%.2f s", s.ReadySeconds)
	}
	s := r.routes(100_000)
	if s == nil {
		return goals
	}
	add("ready with 100,000 routes within 15 s", s.ReadySeconds <= 15, "%.1f s", s.ReadySeconds)
	add("100,000 routes in under 200 MiB", max(s.RSSMiB, s.HeapMiB) < 200,
		"%.0f MiB resident (%.0f after all requests), %.0f MiB heap", s.RSSMiB, s.LoadedMiB, s.HeapMiB)
	if t := s.Status; t != nil {
		add("a conflict is marked within 1 s at p99 while idle", t.Idle.P99 <= 1000, "%.2f s at 100,000 routes", t.Idle.P99/1e3)
		add("and within 3 s during a mass event", t.Busy.P99 <= 3000, "%.2f s", t.Busy.P99/1e3)
		add("a cold start over a settled cluster writes nothing and ends within 60 s", t.ColdWrites == 0 && t.ColdSeconds <= 60,
			"%d writes, %.1f s", t.ColdWrites, t.ColdSeconds)
		add("a mass event of 5,000 routes settles within 2 minutes", max(t.Withdrawn.Seconds, t.Returned.Seconds) <= 120,
			"%.0f s, and %.0f s back", t.Withdrawn.Seconds, t.Returned.Seconds)
	}
	return goals
}

// Missed is the number of targets that were not reached.
func (r *Result) Missed() int {
	return len(slices.DeleteFunc(r.Goals(), func(g Goal) bool { return g.Holds }))
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

// with returns the first stage that is as wanted, or nil.
func (r *Result) with(wanted func(*Stage) bool) *Stage {
	for i := range r.Stages {
		if wanted(&r.Stages[i]) {
			return &r.Stages[i]
		}
	}
	return nil
}

func (r *Result) routes(n int) *Stage {
	return r.with(func(s *Stage) bool { return s.Routes == n })
}

// comparison returns what was found with the traffic, or the one that begins so.
func (s *Stage) comparison(traffic string) Comparison {
	i := slices.IndexFunc(s.Webhook, func(c Comparison) bool {
		return c.Traffic == traffic || traffic == crowded && strings.HasPrefix(c.Traffic, crowded)
	})
	if i < 0 {
		return Comparison{}
	}
	return s.Webhook[i]
}
