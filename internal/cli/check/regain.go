package check

import (
	"context"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// regain has those directories of which that is true have the files again that kustomizations use and that cannot be built.
func regain(ctx context.Context, options *Options, found *sets.Found, is func(*sets.Set) bool) {
	disk := source.Open(&options.Options, options.named())
	defer disk.Close()
	known := map[string]bool{}
	unmade := func(folder string) bool {
		at := slices.IndexFunc(found.Sets, func(set sets.Set) bool { return set.Kustomization == folder })
		if _, judged := known[folder]; !judged && at >= 0 {
			known[folder] = !builds(ctx, options, &found.Sets[at], disk)
		}
		return known[folder]
	}
	for _, list := range [][]sets.Set{found.Sets, found.Bare} {
		for i := range list {
			if set := &list[i]; len(set.Lent) > 0 && is(set) {
				set.Regain(unmade)
			}
		}
	}
}

// builds reports whether all of the set can be read.
func builds(ctx context.Context, options *Options, set *sets.Set, disk *source.Disk) bool {
	input := disk.Within(set.Within).Input(nil)
	l, err := load(ctx, options.Over(set), input, nil)
	return err == nil && len(l.broken)+len(input.Errors()) == 0
}

// regainBare is regain for the directories without a set in one version that are one in the other.
func regainBare(ctx context.Context, versions ...*Found) error {
	for i, version := range versions {
		others, err := versions[1-i].byKey(versions[1-i].Sets)
		if err != nil {
			return err
		}
		regain(ctx, version.Options, version.Found, func(set *sets.Set) bool {
			key, failed := version.key(set)
			return failed == nil && others[key] != nil
		})
		version.Bare = slices.DeleteFunc(version.Bare, func(set sets.Set) bool { return len(set.Files) == 0 })
	}
	return nil
}

// readGone notes which kustomizations of the version before that have no other version cannot be read: what those use may be a set now.
func (d *setsDiff) readGone(ctx context.Context, before *Found, was map[string]*sets.Set) {
	for i := range before.Sets {
		set := &before.Sets[i]
		if key, err := before.key(set); err == nil && was[key] == set && set.Kustomization != "" {
			d.unread[set] = !builds(ctx, d.sides[0].options, set, d.sides[0].disk)
		}
	}
}

// leaveUnmade leaves out a directory that only one version has as a set, for the reason that a kustomization that has files of it cannot be built.
func (d *setsDiff) leaveUnmade(version int, set *sets.Set) {
	if len(set.Unmade) == 0 || d.aside[set] {
		return
	}
	by := sets.Set{Kind: report.Kustomization, Path: set.Unmade[0]}
	d.leaveFor(version, set, nameOf(&by)+" has files of it, and is not compared, either")
}

// leaveFor leaves out a set of a version, and notes why.
func (d *setsDiff) leaveFor(version int, set *sets.Set, why string) {
	d.aside[set] = true
	d.out.NotCompared++
	d.failedBy(nameOf(set), why, false)
	set.Excuse(d.sides[version].disk.Within(set.Within))
}
