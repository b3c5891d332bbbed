package check

import (
	"errors"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

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

// grow has each set of the version before that the one after lacks count as the only one there that has the same and more, or less.
func grow(before, after *Found) error {
	was, err := before.byKey(before.Sets, before.Elsewhere)
	now, failed := after.byKey(after.Sets, after.Elsewhere)
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	same := map[string][]string{}
	for key, set := range was {
		if now[key] != nil {
			continue
		}
		for other, grown := range now {
			if was[other] != nil {
				continue
			}
			is, err := grew(before, after, set, grown)
			if err != nil {
				return err
			}
			if is {
				same[key], same[other] = append(same[key], other), append(same[other], key)
			}
		}
	}
	before.now = map[string]string{}
	for key := range was {
		if others := same[key]; len(others) == 1 && len(same[others[0]]) == 1 {
			before.now[key] = others[0]
		}
	}
	return nil
}

// grew reports whether one of the sets of files has all that the other one has, or one of a chart all values files of the other one, which has some;
// or whether one is a kustomization, and the other one the files of its directory.
func grew(before, after *Found, set, grown *sets.Set) (bool, error) {
	was, err := places(set, before.at)
	now, failed := places(grown, after.at)
	if err := errors.Join(err, failed); err != nil {
		return false, err
	}
	switch kinds := []report.SetKind{set.Kind, grown.Kind}; {
	case set.Kind != grown.Kind:
		return !slices.Contains(kinds, report.Chart) && slices.Equal(was, now), nil
	case set.Kind == report.Directory:
		return set.Named && grown.Named && (have(was, now) || have(now, was)), nil
	}
	return set.Chart != nil && was[0] == now[0] && len(was) > 1 && len(now) > 1 && (have(was[1:], now[1:]) || have(now[1:], was[1:])), nil
}

// have reports whether each of the paths is one of the others, or is in one.
func have(others, paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		return !slices.ContainsFunc(others, func(other string) bool { return sets.Below(path, other) })
	})
}
