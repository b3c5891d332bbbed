package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Found is one version of a repository, with the sets that were found in it.
type Found struct {
	Options *Options
	// Path is a path that the sets were looked for below, and Project what names or ignores them; nil if nothing does.
	Path    string
	Project *sets.Project
	*sets.Found

	// at returns where a path is in the version before, and now are the keys of sets that have others in the version after, by their own.
	at  func(path string) (string, error)
	now map[string]string
	// Lacks reports whether the version before has nothing of what is at a path of the one after, since that is in a submodule; nil if it has no submodules.
	Lacks func(path string) bool
	// context is what its sets have beside them; nil for nothing.
	context *surroundings
}

// DiffSets compares each set with the one of its kind and path in the version before; at returns where a path of the
// version after is in that. A set of one version is compared with none, unless the other one has its files and leaves them out. Apart from a difference of all
// that could be compared, the error names the sets that no longer can.
func DiffSets(ctx context.Context, before, after *Found, at func(path string) (string, error)) (*report.Diff, error) {
	d := &setsDiff{users: map[*Found]*sets.Users{}, aside: map[*sets.Set]bool{}, unread: map[*sets.Set]bool{}, ports: map[string]int{}, left: map[manifest.Key][]*sets.Set{}, arrived: map[manifest.Key][]*sets.Set{}, shares: map[string]map[string]*share{}, edited: map[mesh.Read][]string{}, moved: map[mesh.Read]mesh.Answer{}, said: [2]map[string][]string{{}, {}}, out: &report.Diff{
		TypeMeta: report.Typed(report.DiffKind), Difference: &traffic.Difference{}, NewFindings: report.New(),
	}}
	for i, version := range []*Found{before, after} {
		disk := source.Open(&version.Options.Options, version.Options.named())
		defer disk.Close() //nolint:gocritic // of two versions, which are compared below
		options, err := forAll(version.Options, disk)
		if err == nil && options.context != nil {
			err = errors.Join(append(options.context.broken, options.context.err)...)
		}
		switch {
		case err != nil && i == 0 && ctx.Err() == nil: // who repairs it is not to blame
			return NotCompared(err), nil
		case err != nil:
			return nil, err
		}
		d.sides[i], version.context = &side{version, options, disk}, options.context
	}
	d.former = newFormer(before.Options, after.Options, d.sides[1].disk, after.Options.Config.Policy().Mesh)
	before.at, after.at = filepath.Abs, at
	for _, step := range []func(before, after *Found) error{grow, chooseAlike, regroup} {
		if err := step(before, after); err != nil {
			return nil, err
		}
	}
	if err := regainBare(ctx, before, after); err != nil {
		return nil, err
	}
	back, err := after.back()
	if err != nil {
		return nil, err
	}
	d.there = [2]func(path string) (string, error){back, at}
	if len(before.Sets) == 0 {
		if err := after.None(); err != nil {
			return nil, err
		}
	}
	if err := d.compareAll(ctx, before, after); err != nil {
		return nil, err
	}
	for _, compare := range d.later {
		if err := compare(); err != nil {
			return nil, err
		}
	}
	if d.compared == 1 {
		for i := range d.out.Ports {
			d.out.Ports[i].Sets = nil
		}
	}
	if err := d.noteUnread(ctx, before, after, at); err != nil {
		return nil, err
	}
	d.noteLost(before)
	if err := d.noteWithout(before, after, d.noteMoved()); err != nil {
		return nil, err
	}
	d.noteShared()
	for _, n := range newSlips(before.context.noted(), after.context.noted()) {
		d.out.Notes = append(d.out.Notes, n.String())
	}
	d.out.Notes = append(d.out.Notes, d.former.notes()...)
	err = d.say()
	d.out.Sets, d.out.NewFindings.Sets = d.out.NewFindings.Sets, nil
	d.out.NewFindings.Count()
	return d.out, err
}

// compareAll compares each set with that of the other version.
func (d *setsDiff) compareAll(ctx context.Context, before, after *Found) error {
	was, err := before.byKey(before.Sets, before.Bare)
	if err != nil {
		return err
	}
	bare, err := after.byKey(after.Bare)
	if err != nil {
		return err
	}
	if err := d.leaveOut(before, after); err != nil {
		return err
	}
	var arrived []*sets.Set
	for i := range after.Sets {
		set := &after.Sets[i]
		key, err := after.key(set)
		switch {
		case err != nil:
			return err
		case d.aside[set]:
			continue
		case was[key] == nil && before.Lacks != nil && before.Lacks(set.Path):
			d.leaveFor(1, set, "the base has nothing of submodules")
			continue
		case was[key] == nil:
			arrived = append(arrived, set)
			continue
		}
		if err := d.compare(ctx, was[key], set); err != nil {
			return err
		}
		delete(was, key)
	}
	if len(arrived) > 0 {
		d.readGone(ctx, before, was)
	}
	for _, set := range arrived { // by now, it is known what failed, and so which sets only those use in the other version
		d.leaveUnmade(1, set)
		if err := d.leave(1, set, before, after.at, nil); err != nil {
			return err
		}
		if d.aside[set] {
			continue
		}
		if err := d.compare(ctx, nil, set); err != nil {
			return err
		}
	}
	for i := range before.Sets {
		set := &before.Sets[i]
		key, err := before.key(set)
		if err != nil || was[key] != set {
			continue
		}
		if bare[key] == nil {
			d.leaveUnmade(0, set)
			err = d.leave(0, set, after, d.there[0], nil)
		}
		if err == nil && !d.aside[set] {
			err = d.compare(ctx, set, bare[key])
			delete(bare, key)
		}
		if err != nil {
			return err
		}
	}
	return d.moveBare(ctx, before, was, bare)
}

// setsDiff is one comparison of two versions of a repository.
type setsDiff struct {
	sides [2]*side
	// there returns where a path of the version is in the other one.
	there [2]func(path string) (string, error)
	out   *report.Diff
	// aside are the sets that only one version compares, though both have them, or can read; unread are those that cannot be read.
	aside, unread map[*sets.Set]bool
	// users are what uses a file in each version, once that was asked.
	users map[*Found]*sets.Users
	// ports are the indices in the difference of what changes for a port, by that in JSON: overlays often share it.
	ports map[string]int
	// left and arrived are the sets that no longer have a route, and those that have it now.
	left, arrived map[manifest.Key][]*sets.Set
	// shares are what sets have of each Service and Namespace, by its name and theirs.
	shares map[string]map[string]*share
	// edited are the sets that have a Service or a Namespace that is another one now, or gone.
	edited map[mesh.Read][]string
	// moved are what sets have now and did not have before, and lost the Services and Namespaces that some have no longer; later are the
	// comparisons that ask for what moved.
	moved    map[mesh.Read]mesh.Answer
	lost     []mesh.Read
	later    []func() error
	compared int
	// former is what was context before, and is none now.
	former *former
	// said are the routes that are left out, and the notes, each with the names of its sets.
	said [2]map[string][]string
	// failed says why sets are not compared.
	failed []failure
}

// side is a version.
type side struct {
	found   *Found
	options *Options
	disk    *source.Disk
}

// compare compares two versions of a set, of which one may be nil. The error says why nothing more can be compared.
func (d *setsDiff) compare(ctx context.Context, before, after *sets.Set) error {
	var routes [2]map[manifest.Key]bool
	name := nameOf(cmp.Or(after, before))
	d.compared++
	loads, failed := loadBoth(func(version int, leftOut []string, earlier *loaded) (*loaded, error) {
		return d.load(version, [2]*sets.Set{before, after}[version], func(options *Options, input *source.Input) (*loaded, error) {
			return loadWhole(ctx, options.leavingOut(leftOut), input, earlier)
		})
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for version, other := range []*sets.Set{after, before} {
		if failed[version] == nil {
			failed[version] = d.unreadable(version, other)
		}
	}
	if failed[0] != nil {
		failed[0] = ofBase(failed[0])
	}
	whole := len(loads[0].lacking())+len(loads[1].lacking()) == 0
	for i, set := range []*sets.Set{before, after} {
		d.unread[set] = failed[i] != nil
		if set != nil && (failed[i] != nil || !whole) {
			set.Excuse(d.sides[i].disk.Within(set.Within))
		}
		if failed[i] != nil {
			continue
		}
		routes[i] = map[manifest.Key]bool{}
		for _, r := range loads[i].routes {
			routes[i][r.Key] = true
		}
	}
	if err := errors.Join(failed[:]...); err != nil {
		d.aside[before], d.aside[after] = failed[1] != nil, failed[0] != nil
		d.wander(routes, before, after)
		d.fail(name, before, after, failed)
		return nil //nolint:nilerr // it is noted
	}
	if before != nil && after != nil {
		if key, err := keyOf(before, d.sides[0].found.at); err == nil && d.sides[0].found.now[key] != "" {
			d.out.Notes = append(d.out.Notes, name+" is compared with "+nameOf(before)+" of the base")
		}
	}
	d.moves(loads)
	d.share(name, loads)
	d.edits(name, loads)
	d.wander(routes, cmp.Or(after, before), cmp.Or(after, before))
	compare := func() error {
		diff, err := difference(loads[0], loads[1], mesh.ReaderFunc(d.elsewhere))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		d.add(diff, name, after)
		return nil
	}
	if lost := slices.Collect(loads[1].world.lost(loads[0].world)); len(lost) > 0 { // once it is known what other sets have now
		d.lost = append(d.lost, lost...)
		d.later = append(d.later, compare)
		return nil
	}
	return compare()
}

// elsewhere answers of what sets have now and did not have before.
func (d *setsDiff) elsewhere(read mesh.Read) mesh.Answer {
	was := d.former.Do(read) // also where a set has it now: check has nothing of other sets
	if answer, moved := d.moved[read]; moved {
		return answer
	}
	return was
}

// load loads a set of a version; nil is an empty one.
func (d *setsDiff) load(version int, set *sets.Set, load func(*Options, *source.Input) (*loaded, error)) (*loaded, error) {
	side := d.sides[version]
	if set == nil {
		return load(side.options.Over(&sets.Set{}), side.disk.Input(nil))
	}
	return load(side.options.Over(set), side.disk.Within(set.Within).Input(set.Taken))
}

// add adds what changes in a set.
func (d *setsDiff) add(diff *report.Diff, name string, after *sets.Set) {
	for i := range diff.Ports {
		port := diff.Ports[i]
		key, err := json.Marshal(port)
		if at, known := d.ports[string(key)]; err == nil && known {
			d.out.Ports[at].Sets = append(d.out.Ports[at].Sets, name)
			continue
		}
		d.ports[string(key)] = len(d.out.Ports)
		port.Sets = []string{name}
		d.out.Ports = append(d.out.Ports, port)
	}
	for _, change := range diff.Expressions {
		if !slices.Contains(d.out.Expressions, change) {
			d.out.Expressions = append(d.out.Expressions, change)
		}
	}
	for i := range diff.Ages {
		if text := diff.Ages[i].String(); !slices.ContainsFunc(d.out.Ages, func(a traffic.AgeChange) bool { return a.String() == text }) {
			d.out.Ages = append(d.out.Ages, diff.Ages[i])
		}
	}
	d.out.Unchanged += diff.Unchanged
	d.out.BaseLacks = d.out.BaseLacks || diff.BaseLacks
	d.out.NotCompared += diff.NotCompared
	d.out.Dependencies = distinct(append(d.out.Dependencies, diff.Dependencies...))
	for i, texts := range [][]string{diff.LeftOut, diff.Notes} {
		for _, text := range texts {
			if in := d.said[i][text]; !slices.Contains(in, name) {
				d.said[i][text] = append(in, name)
			}
		}
	}
	if after != nil {
		d.out.NewFindings.Add(diff.NewFindings, after.Described())
	}
}
