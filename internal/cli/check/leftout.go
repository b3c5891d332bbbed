package check

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/repository"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// chooseAlike has each version compare the named sets that the other one chose: what a set uses may be at PATH in one of them only.
func chooseAlike(before, after *Found) error {
	was, err := before.byKey(before.Sets)
	now, failed := after.byKey(after.Sets)
	in := func(chosen map[string]*sets.Set, version *Found) func(*sets.Set) bool {
		return func(set *sets.Set) bool {
			key, err := version.key(set)
			return err == nil && chosen[key] != nil
		}
	}
	before.Choose(in(now, before))
	after.Choose(in(was, after))
	back, outside := after.back()
	if err := errors.Join(err, failed, outside); err != nil {
		return err
	}
	return errors.Join(before.have(after, was, after.at), after.have(before, now, back))
}

// back returns where a path of the version before is in this one.
func (f *Found) back() (func(path string) (string, error), error) {
	root, err := f.at(f.Path)
	return func(path string) (string, error) {
		absolute, err := filepath.Abs(path)
		within, outside := filepath.Rel(root, absolute)
		return filepath.Join(f.Path, within), errors.Join(err, outside)
	}, err
}

// have has the version, unless it names its sets, compare the kustomizations that were found in the other one to use a file at PATH, if it has them and did
// not find the same. Those that it found are in chosen, by their keys, and to returns where a path of the other one is in it.
func (f *Found) have(other *Found, chosen map[string]*sets.Set, to func(path string) (string, error)) error {
	if f.Project.Names() {
		return nil
	}
	for i := range other.Sets {
		set := &other.Sets[i]
		if !set.Outside {
			continue
		}
		name, err := other.key(set)
		there, failed := moved(set, to)
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		if chosen[name] == nil && len(makers(there)) > 0 {
			there.Within, there.Taken = repository.New(f.Options.Root, there.Path), source.NewTaken()
			f.Sets = append(f.Sets, *there)
		}
	}
	return nil
}

// regroup has a version before that names no sets be in the sets of files that the project of the one after names.
func regroup(before, after *Found) error {
	if before.Path == "" || before.Project.Names() {
		return nil
	}
	var named []sets.Set
	for i := range after.Sets {
		if set := &after.Sets[i]; set.Named && set.Kind == report.Directory {
			there, err := moved(set, after.at)
			if err != nil {
				return err
			}
			named = append(named, *there)
		}
	}
	before.Regroup(named)
	return nil
}

// leaveOut leaves out the sets, and the files of directories, that both versions have and only one of them compares.
func (d *setsDiff) leaveOut(before, after *Found) error {
	was, err := before.byKey(before.Sets, before.Bare)
	if err != nil {
		return err
	}
	now, err := after.byKey(after.Sets, after.Bare)
	if err != nil {
		return err
	}
	back, err := after.back()
	if err != nil {
		return err
	}
	for range 2 { // what only a set that is left out used may be a set in the other version
		for i := range before.Sets {
			set := &before.Sets[i]
			key, err := before.key(set)
			if err := errors.Join(err, d.leave(0, set, after, back, now[key])); err != nil {
				return err
			}
		}
		for i := range after.Sets {
			set := &after.Sets[i]
			key, err := after.key(set)
			if err := errors.Join(err, d.leave(1, set, before, after.at, was[key])); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave leaves out a set of a version, or files of it, if the other version has them and leaves them out. A set may be paired with one of the other
// version: what a kustomization no longer uses of the files of its directory is removed.
func (d *setsDiff) leave(version int, set *sets.Set, other *Found, to func(path string) (string, error), paired *sets.Set) error {
	there, err := moved(set, to)
	if err != nil || d.aside[set] {
		return err
	}
	name := nameOf([2]*sets.Set{there, set}[version]) // as it is called now
	why := ""
	if paired == nil {
		if why, err = d.why(other, makers(there)...); err != nil {
			return err
		}
	}
	if why != "" {
		d.aside[set] = true
		d.leftOut(version, set, name, why)
		return nil
	}
	if set.Kind != report.Directory || paired != nil && paired.Kind != set.Kind {
		return nil
	}
	files, kept := set.Files, []string{}
	if set.Named {
		files = source.Files(set.Files, set.Aside)
	}
	for _, file := range files {
		at, err := to(file)
		if err != nil {
			return err
		}
		why, err := d.why(other, at)
		switch {
		case err != nil:
			return err
		case other.IsOther(at):
			d.sides[version].found.AddOther(file)
		case why == "":
			kept = append(kept, file)
		default:
			if absolute, err := filepath.Abs(file); err == nil && set.Named {
				set.Aside[absolute] = true
			}
			d.leftOut(version, &sets.Set{Files: []string{file}, Within: set.Within, Taken: set.Taken}, filepath.ToSlash([2]string{at, file}[version]), why)
		}
	}
	if !set.Named && len(kept) < len(files) {
		set.Files = kept
		delete(d.users, d.sides[version].found)
	}
	return nil
}

// usersOf returns which sets of the version use a file.
func (d *setsDiff) usersOf(f *Found) *sets.Users {
	if d.users[f] == nil {
		d.users[f] = sets.NewUsers(f.Sets)
	}
	return d.users[f]
}

// leftOut notes that what one version has is not compared, and why the other one, which has it too, leaves it out.
func (d *setsDiff) leftOut(version int, set *sets.Set, name, why string) {
	d.out.NotCompared++
	d.out.Notes = append(d.out.Notes, name+" is not compared: "+[2]string{"it is still there", "the base has it too"}[version]+", but "+why)
	set.Excuse(d.sides[version].disk.Within(set.Within))
}

// moved returns the set with its paths in the other version.
func moved(set *sets.Set, to func(path string) (string, error)) (*sets.Set, error) {
	var errs error
	all := func(paths []string) (there []string) {
		for _, path := range paths {
			path, err := to(path)
			there, errs = append(there, path), errors.Join(errs, err)
		}
		return there
	}
	there := *set
	there.Files = all(set.Files)
	switch {
	case set.Named && set.Files != nil:
		there.Path = strings.Join(there.Files, ", ")
	case set.Chart != nil:
		there.Chart = &source.Chart{Values: all(set.Chart.Values)}
		there.Values = strings.Join(there.Chart.Values, ", ")
		fallthrough
	default:
		there.Path = all([]string{set.Path})[0]
	}
	if set.Kustomization != "" {
		there.Kustomization = there.Path
	}
	return &there, errs
}

// makers returns the files that make the set; none for a folder that has lost its kustomization.
func makers(set *sets.Set) []string {
	switch file := set.File(); {
	case set.Chart != nil:
		return append([]string{file}, set.Chart.Values...)
	case set.Kind == report.Directory:
		return set.Files
	case file != set.Path:
		return []string{file}
	}
	return nil
}

// why returns why the version leaves out the files, which make a set of the other one or are a part of it. It is empty if it lacks one of them, and if
// it compares one, in a set that is not left out, or as context, too, unless a set that cannot be read uses it as well: what that would have is not known.
func (d *setsDiff) why(f *Found, files ...string) (why string, err error) {
	ignored, users, unread, compared := "", []string(nil), []string(nil), false
	for i, file := range files {
		if there, err := holdsFiles(file); err != nil || !there {
			return "", err
		}
		if f.surrounds(file) {
			return "", nil
		}
		for _, set := range d.usersOf(f).Of(file) {
			switch {
			case d.unread[set]:
				unread = append(unread, nameOf(set))
			case d.aside[set]:
				users = append(users, nameOf(set))
			default:
				compared = true
			}
		}
		by := f.IgnoredBy(file)
		if chart := filepath.Base(files[0]) == source.ChartFile; i == 0 || chart && ignored == "" || !chart && by == "" { // of a chart, one is enough
			ignored = by
		}
	}
	only := "only "
	if users = distinct(append(users, unread...)); compared {
		only, users = "", distinct(unread)
	}
	switch {
	case len(files) == 0, compared && len(users) == 0:
	case ignored != "" && !compared:
		return ignored + " ignores it", nil
	case len(users) == 1:
		return only + users[0] + " uses it, which is not compared", nil
	case len(users) > 1:
		return only + firstOf(users) + " use it, which are not compared", nil
	case f.Project.Names():
		return "no set of " + filepath.ToSlash(f.Project.File()) + " has it", nil
	}
	return "", nil
}

// surrounds reports whether the context of the version has the file. It has no routes.
func (f *Found) surrounds(file string) bool {
	is := func(path string) bool { return sets.Below(file, path) }
	return slices.ContainsFunc(f.Options.Context, is) && !slices.ContainsFunc(f.context.routes, func(path string) bool { return sets.Below(path, file) })
}

// holdsFiles reports whether the file exists, or the folder and a file in it, or what cannot be read: git keeps no others, which remain where files moved.
func holdsFiles(path string) (holds bool, _ error) {
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil && at == path {
			return err
		}
		if holds = err != nil || !entry.IsDir(); holds {
			return filepath.SkipAll
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return holds, err
}
