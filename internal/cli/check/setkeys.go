package check

import (
	"errors"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// nameOf names a set in reports.
func nameOf(set *sets.Set) string {
	described := set.Described()
	return described.String()
}

// places returns where the parts of a set are: of a chart, its directory first; of files, whatever their order.
func places(set *sets.Set, at func(string) (string, error)) (all []string, errs error) {
	paths := []string{set.Path}
	if set.Named && set.Files != nil {
		paths = set.Files
	}
	if set.Chart != nil {
		paths = append([]string{set.Chart.Path}, set.Chart.Values...)
	}
	for _, path := range paths {
		place, err := at(path)
		all, errs = append(all, place), errors.Join(errs, err)
	}
	if set.Kind == report.Directory {
		slices.Sort(all)
	}
	return all, errs
}

// keyOf identifies a set by where its parts are.
func keyOf(set *sets.Set, at func(string) (string, error)) (string, error) {
	all, err := places(set, at)
	return string(set.Kind) + "\x00" + strings.Join(all, "\x00"), err
}

// key identifies a set in both versions.
func (f *Found) key(set *sets.Set) (string, error) {
	key, err := keyOf(set, f.at)
	if now, grown := f.now[key]; grown {
		key = now
	}
	return key, err
}

// byKey returns the sets by what identifies them.
func (f *Found) byKey(lists ...[]sets.Set) (map[string]*sets.Set, error) {
	all := map[string]*sets.Set{}
	for _, list := range lists {
		for i := range list {
			key, err := f.key(&list[i])
			if err != nil {
				return nil, err
			}
			all[key] = &list[i]
		}
	}
	return all, nil
}

// grow has each set of the version before that the one after lacks count as the one there that has the same and more, or less, or a part of the same
// files: the one with the fewest others, if it has none that is closer.
func grow(before, after *Found) error {
	was, err := before.byKey(before.Sets, before.Elsewhere)
	now, failed := after.byKey(after.Sets, after.Elsewhere)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	near := map[string]*nearest{}
	for key, set := range was {
		if now[key] != nil {
			continue
		}
		for other, grown := range now {
			if was[other] != nil {
				continue
			}
			others, is, err := grew(before, after, set, grown)
			if err != nil {
				return err
			}
			if is {
				keepNearest(near, key, other, others)
				keepNearest(near, other, key, others)
			}
		}
	}
	before.now = map[string]string{}
	for key := range was {
		if n := near[key]; n != nil && !n.tied && near[n.key].key == key && !near[n.key].tied {
			before.now[key] = n.key
		}
	}
	return nil
}

// nearest is the set of the other version with the fewest paths that only one of the two has.
type nearest struct {
	key    string
	others int
	// tied is set if there is another one with as few.
	tied bool
}

// keepNearest has the other set be the nearest one of the set with the key, if none is nearer.
func keepNearest(near map[string]*nearest, key, other string, others int) {
	switch n := near[key]; {
	case n == nil || others < n.others:
		near[key] = &nearest{key: other, others: others}
	case others == n.others:
		n.tied = true
	}
}

// grew reports whether the sets of files have one of these in common, or one of a chart all values files of the other one, which has some;
// or whether they are of different kinds, and the same directory, or a kustomization uses files of all those of the other one, or no others. It returns how
// many paths only one has.
func grew(before, after *Found, set, grown *sets.Set) (others int, is bool, _ error) {
	was, err := places(set, before.at)
	now, failed := places(grown, after.at)
	if err := errors.Join(err, failed); err != nil {
		return 0, false, err
	}
	switch {
	case set.Kind != grown.Kind && slices.Equal(was, now):
		return 0, true, nil
	case set.Kind == report.Directory && grown.Kind == report.Kustomization:
		now = usedOf(grown, was, after.at)
		is = set.Named && outside(was, now) < len(was)
	case set.Kind == report.Kustomization && grown.Kind == report.Directory:
		was = usedOf(set, now, before.at)
		is = grown.Named && outside(now, was) < len(now)
	case set.Kind != grown.Kind:
		return 0, false, nil
	case set.Kind == report.Directory:
		gone, added := outside(was, now), outside(now, was)
		return gone + added, set.Named && grown.Named && (gone < len(was) || added < len(now)), nil
	case set.Chart != nil && was[0] == now[0]:
		was, now = was[1:], now[1:]
		is = len(was) > 0 && len(now) > 0
	}
	gone, added := outside(was, now), outside(now, was)
	return gone + added, is && (gone == 0 || added == 0), nil
}

// usedOf returns the files of objects that a kustomization uses, each as the one of the paths that it is, or is in, if there is one.
func usedOf(set *sets.Set, paths []string, at func(string) (string, error)) (all []string) {
	for file, as := range source.Uses(set.Within.Read, set.Kustomization) {
		place, err := at(file)
		if as != source.ObjectOf || err != nil { // kustomize says why it cannot be used
			continue
		}
		if i := slices.IndexFunc(paths, func(path string) bool { return sets.Below(place, path) }); i >= 0 {
			place = paths[i]
		}
		all = append(all, place)
	}
	return distinct(all)
}

// outside returns how many of the paths are not the others, nor in them.
func outside(paths, others []string) (n int) {
	for _, path := range paths {
		if !slices.ContainsFunc(others, func(other string) bool { return sets.Below(path, other) }) {
			n++
		}
	}
	return n
}
