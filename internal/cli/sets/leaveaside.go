package sets

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
)

// leaveAside notes what is not looked at for sets.
func (d *discovery) leaveAside(path string, where place, by ignorePattern) {
	d.setAside(path, where, by)
	d.lookForHidden(path, where, by)
}

// setAside notes by which file a path is left aside.
func (d *discovery) setAside(path string, where place, by ignorePattern) {
	if absolute, err := filepath.Abs(path); err == nil && where != passedOver {
		d.aside[absolute] = cmp.Or(filepath.ToSlash(by.file), gitIgnore)
	}
}

// leaveValues notes a values file that is left aside, and with it the routes that the chart makes by it.
func (d *discovery) leaveValues(path string, by ignorePattern) {
	d.setAside(path, leftAside, by)
	if !slices.ContainsFunc(d.holders, func(h holder) bool { return h.path == path }) {
		d.holders = append(d.holders, holder{path: path, place: leftAside, by: by, values: true})
	}
}

// leaveAsideOf notes what our patterns leave aside of the folders of a named set. What is below the paths was looked at.
func (d *discovery) leaveAsideOf(set *Set, paths []string) {
	for _, root := range set.Files {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == root || cmp.Or(d.ctx.Err(), d.err) != nil {
				return nil //nolint:nilerr // who reads the set says so
			}
			by, own := d.matchOwn(d.ignoresOf(filepath.Dir(path)), path, entry.IsDir())
			if !own || slices.Contains(set.Files, path) {
				return nil
			}
			absolute, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			set.Aside[absolute] = true
			looked := slices.ContainsFunc(paths, func(folder string) bool { return Below(path, folder) })
			if !looked && d.IgnoredBy(path) == "" { // else it is noted already
				d.leaveAside(path, leftAside, by)
			}
			d.aside[absolute] = filepath.ToSlash(by.file)
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		})
	}
}
