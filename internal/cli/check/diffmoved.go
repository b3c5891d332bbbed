package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// moveBare notes what the directories without routes have now, and what is another one there, if a set asks for it. Was are the sets that were compared, and the
// directories of the version before; bare are those of the version after.
func (d *setsDiff) moveBare(ctx context.Context, before *Found, was, bare map[string]*sets.Set) error {
	if len(d.later) == 0 && !d.foreign() {
		return nil
	}
	gone, err := before.byKey(before.Bare)
	if err != nil {
		return err
	}
	keys := maps.Clone(bare)
	for key, set := range gone {
		if was[key] == set { // else a set that has routes now
			keys[key] = set
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := d.move(ctx, was[key], bare[key]); err != nil {
			return err
		}
	}
	return nil
}

// move notes what a directory without routes has now, and what is another one there, of what can be read of it; one of the versions may be nil.
func (d *setsDiff) move(ctx context.Context, before, after *sets.Set) error {
	var loads [2]*loaded
	name := nameOf(cmp.Or(after, before))
	for i, set := range []*sets.Set{before, after} {
		var err error
		loads[i], err = d.load(i, set, func(options *Options, input *source.Input) (*loaded, error) { return load(ctx, options, input, nil) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	d.moves(loads)
	d.edits(name, loads)
	return nil
}

// moves notes what a set has and did not have before, or had only as the context said it too.
func (d *setsDiff) moves(loads [2]*loaded) {
	before := loads[0].world
	for read := range loads[1].world.files.Has() {
		if _, known := d.moved[read]; !known && (before.Do(read).Err != nil || before.context.read(read).Err == nil) {
			d.moved[read] = loads[1].world.Do(read)
		}
	}
}

// wander notes the routes that only one version of a set has, or of which only that can be read.
func (d *setsDiff) wander(routes [2]map[manifest.Key]bool, before, after *sets.Set) {
	for i, others := range [...]map[manifest.Key][]*sets.Set{d.left, d.arrived} {
		for key := range routes[i] {
			if !routes[1-i][key] {
				others[key] = append(others[key], [...]*sets.Set{before, after}[i])
			}
		}
	}
}

// noteMoved notes the routes that some sets no longer have and others have now: nothing else says that they are the same. A rendering of a
// chart with other values is no move. It returns the sets that they moved from.
func (d *setsDiff) noteMoved() (sources map[*sets.Set]bool) {
	moved := map[[2]string][]string{}
	sources = map[*sets.Set]bool{}
	for key, left := range d.left {
		var from, to []string
		for _, set := range left {
			for _, other := range d.arrived[key] {
				if sameValues(set, other) {
					sources[set] = true
					from, to = append(from, nameOf(set)), append(to, nameOf(other))
				}
			}
		}
		if len(to) > 0 {
			at := [2]string{firstOf(distinct(from)), firstOf(distinct(to))}
			moved[at] = append(moved[at], key.String())
		}
	}
	for at, routes := range moved {
		slices.Sort(routes)
		d.out.Notes = append(d.out.Notes, fmt.Sprintf("moved from %s to %s: %s. Each set is compared by itself: if these are deployed to one cluster, the routes are neither removed nor new", at[0], at[1], firstOf(routes)))
	}
	return sources
}

// noteLost notes what the sets no longer have, where they are not all of the repository: rows read as if it were removed.
func (d *setsDiff) noteLost(before *Found) {
	if root := before.Options.Root; root == "" || before.Path == root {
		return
	}
	var names []string
	for _, read := range d.lost {
		if d.elsewhere(read).Err != nil && (read.Kind == mesh.ReadService || read.Kind == mesh.ReadNamespace) {
			names = append(names, read.String())
		}
	}
	for key, left := range d.left {
		if d.arrived[key] == nil && slices.ContainsFunc(left, func(set *sets.Set) bool { return !d.aside[set] }) { // else it is not compared
			names = append(names, key.String())
		}
	}
	if len(names) > 0 {
		d.out.Notes = append(d.out.Notes, fmt.Sprintf("no longer below PATH: %s. What moved elsewhere in the repository is not removed: to see that, compare from its root, without a PATH", firstOf(distinct(names))))
	}
}

// noteWithout notes the charts that are still there, but not with a values file of theirs, whose rows read as if the chart were gone; but not those
// that moved to another file.
func (d *setsDiff) noteWithout(before, after *Found, moved map[*sets.Set]bool) error {
	now, err := after.byKey(after.Sets, after.Elsewhere)
	for i := range before.Sets {
		set := &before.Sets[i]
		shown := slices.ContainsFunc(d.out.Ports, func(port traffic.PortDifference) bool { return slices.Contains(port.Sets, nameOf(set)) })
		if set.Values == "" || moved[set] || !shown {
			continue
		}
		bare := *set
		bare.Values, bare.Chart = "", &source.Chart{Path: set.Chart.Path}
		key, failed := before.key(set)
		without, bareFailed := before.key(&bare)
		if err = errors.Join(err, failed, bareFailed); err == nil && now[key] == nil && now[without] != nil {
			text := "%s is still there, without %s: what the rows with that file say is lost only where the chart is deployed with it"
			d.out.Notes = append(d.out.Notes, fmt.Sprintf(text, nameOf(now[without]), filepath.ToSlash(set.Values)))
		}
	}
	return err
}

// sameValues reports whether the sets are not both charts with values, or most lines of the values of one are in those of the other.
func sameValues(a, b *sets.Set) bool {
	if a.Values == "" || b.Values == "" {
		return true
	}
	var lines [2]map[string]bool
	for i, set := range []*sets.Set{a, b} {
		lines[i] = map[string]bool{}
		for _, file := range set.Chart.Values {
			data, err := set.Within.Read(file)
			if err != nil {
				return false
			}
			for line := range strings.Lines(string(data)) {
				lines[i][strings.TrimSpace(line)] = true
			}
		}
	}
	same := 0
	for line := range lines[0] {
		if lines[1][line] {
			same++
		}
	}
	return 2*same >= max(len(lines[0]), len(lines[1]))
}

// distinct returns the names in order, each once.
func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
