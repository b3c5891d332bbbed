package check

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// loadBoth loads two versions of an input, each without the dependencies of charts that the other one lacks: what those make would be new, or gone.
func loadBoth(load func(version int, leftOut []string, earlier *loaded) (*loaded, error)) (loads [2]*loaded, failed [2]error) {
	loads[0], failed[0] = load(0, nil, nil)
	lacks := loads[0].lacking()
	loads[1], failed[1] = load(1, lacks, loads[0])
	if failed[1] != nil && len(lacks) > 0 {
		whole, err := load(1, nil, loads[0])
		if err != nil {
			return loads, [2]error{nil, err}
		}
		return [2]*loaded{nil, whole}, [2]error{source.Lacking(lacks), nil} // which this version cannot be compared without
	}
	if more := without(loads[1].lacking(), lacks); len(more) > 0 && failed[0] == nil {
		loads[0], failed[0] = load(0, more, nil)
		loads[1], failed[1] = load(1, lacks, loads[0])
	}
	return loads, failed
}

// leavingOut returns the options with dependencies of charts left out.
func (o *Options) leavingOut(dependencies []string) *Options {
	leaving := *o
	leaving.without = dependencies
	return &leaving
}

// lacking returns the dependencies that charts of the input, which may be nil, lack.
func (l *loaded) lacking() (names []string) {
	if l == nil {
		return nil
	}
	for _, s := range l.skipped {
		if s.Lacks != "" {
			names = append(names, s.Lacks)
		}
	}
	return distinct(names)
}

// without returns the names that are not in the others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// dependencies returns the dependencies that one of the versions lacks, and a note on each.
func dependencies(before, after *loaded) (names, notes []string) {
	for _, l := range []*loaded{after, before} {
		missing := without(l.lacking(), names)
		for _, s := range l.skipped {
			if slices.Contains(missing, s.Lacks) {
				notes = append(notes, fmt.Sprintf("%s: dependency %s is not in its directory charts, so what it makes is not compared; run helm dependency build", s.Path, s.Lacks))
			}
		}
		names = append(names, missing...)
	}
	return distinct(names), notes
}
