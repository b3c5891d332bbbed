package main

import (
	"fmt"
	"slices"
	"strings"
)

// goal is a figure that the project wants to reach, and whether a run did.
type goal struct {
	what, measured string
	holds          bool
}

// goals judges the result. Goals for sizes that were not measured are left out.
func (p page) goals() []goal {
	return slices.Concat(p.requestGoals(), p.memoryGoals(), p.statusGoals())
}

// TargetTable has all goals.
func (p page) TargetTable() string {
	var rows table
	for _, g := range p.goals() {
		holds := "yes"
		if !g.holds {
			holds = "**no**"
		}
		rows = append(rows, []string{g.what, g.measured, holds})
	}
	return rows.under("target", "measured", "holds")
}

// Missed is the number of goals that were not reached.
func (p page) Missed() int {
	return len(slices.DeleteFunc(p.goals(), func(g goal) bool { return g.holds }))
}

// requestGoals are about the cost of a request.
func (p page) requestGoals() []goal {
	const cpu, p99, growth, crowd = 1.25, 2, 1.2, 3
	var goals []goal
	if s := p.Spread(); s.Services == targetServices {
		for _, wanted := range []struct{ traffic, what string }{
			{someBad, "validating, 1,000 Services, 5 % bad: CPU at most 1.25 × floor, p99 at most 2 × floor"},
			{someBadOthersWarned, "the same, and all others warned twice"},
			{noneBad, "validating without bad requests: the same two"},
			{mutatingSomeBad, "mutating: the same two"},
		} {
			c := s.comparison(wanted.traffic)
			goals = append(goals, goal{wanted.what, ratio(c.CPU) + ", " + ratio(c.P99), c.CPU.Ratio <= cpu && c.P99.Ratio <= p99})
		}
	}
	least, most := p.Least(), p.Most()
	if least != most {
		var times []string
		worst, dearest := 0.0, 0.0
		for i := range least.Webhook {
			grown := most.Webhook[i].CPU.Ratio / least.Webhook[i].CPU.Ratio
			times = append(times, fmt.Sprintf("%.2f", grown))
			worst = max(worst, grown)
		}
		for i := range p.Stages {
			dearest = max(dearest, p.Stages[i].crowded().CPU.Ratio)
		}
		goals = append(goals,
			goal{
				fmt.Sprintf("%s routes as %s: CPU within 1.2 times, row by row as below", count(most.Routes), count(least.Routes)),
				strings.Join(times, ", ") + " times", worst <= growth,
			},
			goal{"a Service that very many routes share: under 3 × floor", fmt.Sprintf("at most %.2f", dearest), dearest < crowd})
	}
	return goals
}

// memoryGoals are about memory and the start.
func (p page) memoryGoals() []goal {
	const serving, all, kib, soon, late = 64, 200, 1024, 1, 15
	var goals []goal
	if s := p.Spread(); s.Services == targetServices {
		goals = append(goals, goal{"memory at 1,000 Services, while serving: at most 64 MiB", whole(s.LoadedMiB) + " MiB", s.LoadedMiB <= serving})
	}
	if heap, resident, ok := p.routeBytes(); ok {
		goals = append(goals, goal{"a cached route under 1 KiB", fmt.Sprintf("%.0f bytes of heap, %.0f resident", heap, resident), max(heap, resident) < kib})
	}
	if s := p.with(100_000); s != nil {
		goals = append(goals, goal{
			"100,000 routes in under 200 MiB",
			fmt.Sprintf("%.0f MiB resident (%.0f after all requests), %.0f MiB heap", s.RSSMiB, s.LoadedMiB, s.HeapMiB), max(s.RSSMiB, s.HeapMiB) < all,
		})
	}
	if s := p.with(1000); s != nil {
		goals = append(goals, goal{"ready with 1,000 routes within 1 s", fmt.Sprintf("%.2f s", s.ReadySeconds), s.ReadySeconds <= soon})
	}
	if s := p.with(100_000); s != nil {
		goals = append(goals, goal{"ready with 100,000 routes within 15 s", tenth(s.ReadySeconds) + " s", s.ReadySeconds <= late})
	}
	return goals
}

// statusGoals are about the reconciler.
func (p page) statusGoals() []goal {
	const idle, busy, cold, mass = 1000, 3000, 60, 120
	s := p.with(100_000)
	if s == nil || s.Status == nil {
		return nil
	}
	t := s.Status
	return []goal{
		{"a conflict is marked within 1 s at p99 while idle", fmt.Sprintf("%.2f s at 100,000 routes", t.Idle.P99/1e3), t.Idle.P99 <= idle},
		{"and within 3 s during a mass event", fmt.Sprintf("%.2f s", t.Busy.P99/1e3), t.Busy.P99 <= busy},
		{
			"a cold start over a settled cluster writes nothing and ends within 60 s",
			fmt.Sprintf("%d writes, %.1f s", t.ColdWrites, t.ColdSeconds), t.ColdWrites == 0 && t.ColdSeconds <= cold,
		},
		{
			"a mass event of 5,000 routes settles within 2 minutes",
			fmt.Sprintf("%.0f s, and %.0f s back", t.Withdrawn.Seconds, t.Returned.Seconds), max(t.Withdrawn.Seconds, t.Returned.Seconds) <= mass,
		},
	}
}

// with returns the stage with so many routes, or nil.
func (p page) with(routes int) *Stage {
	for i := range p.Stages {
		if p.Stages[i].Routes == routes {
			return &p.Stages[i]
		}
	}
	return nil
}

// comparison returns what was found with the traffic.
func (s *Stage) comparison(traffic string) Comparison {
	i := slices.IndexFunc(s.Webhook, func(c Comparison) bool { return c.Traffic == traffic })
	if i < 0 {
		return Comparison{}
	}
	return s.Webhook[i]
}

// crowded returns what was found on the Service that many routes share.
func (s *Stage) crowded() Comparison {
	i := slices.IndexFunc(s.Webhook, func(c Comparison) bool { return strings.HasPrefix(c.Traffic, crowded) })
	if i < 0 {
		return Comparison{}
	}
	return s.Webhook[i]
}
