package sets

import (
	"path/filepath"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/source"
)

// Users says which sets use a file or a folder, without a look at each file of each set.
type Users struct {
	all []Set
	// reading are the sets that read a path whole, by that; holding are those that use it or something in it, and charts those whose folder it is.
	// All paths are absolute, and the sets are indices.
	reading, holding, charts map[string][]int
}

// NewUsers returns the users among the sets. These may leave aside more later, but read no others.
func NewUsers(all []Set) *Users {
	u := &Users{all, map[string][]int{}, map[string][]int{}, map[string][]int{}}
	for i := range all {
		set := &all[i]
		for _, file := range set.Files {
			path := absolute(file)
			u.reading[path] = append(u.reading[path], i)
			u.hold(path, i)
		}
		if set.Kustomization != "" {
			for file := range source.Uses(set.Within.Read, set.Kustomization) {
				u.hold(absolute(file), i)
			}
		}
		if set.Chart != nil {
			path := absolute(set.Chart.Path)
			u.charts[path] = append(u.charts[path], i)
		}
	}
	return u
}

// hold notes that a set uses the path.
func (u *Users) hold(path string, set int) {
	for {
		sets, above := u.holding[path], filepath.Dir(path)
		if len(sets) > 0 && sets[len(sets)-1] == set { // and so is what is above
			return
		}
		if u.holding[path] = append(sets, set); above == path {
			return
		}
		path = above
	}
}

// Of returns the sets, in their order, that are of files or of a kustomization and use the path or something in it, or are of a folder that it is in
// and do not leave it aside, and those of the chart in that folder.
func (u *Users) Of(path string) (users []*Set) {
	start := absolute(path)
	found := slices.Concat(u.holding[start], u.charts[start])
	for at := start; ; at = filepath.Dir(at) {
		for _, i := range u.reading[at] {
			if aside := u.all[i].Aside; closest(start, func(absolute string) bool { return aside[absolute] }) == "" {
				found = append(found, i)
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		users = append(users, &u.all[i])
	}
	return users
}
