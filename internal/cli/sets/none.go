package sets

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// withoutPath is the advice to run the command on all that the project is about.
func (p *Project) withoutPath() string {
	if folder := relative(p.folder); folder != "." {
		return "run the command in " + filepath.ToSlash(folder) + " without a PATH"
	}
	return "run the command without a PATH"
}

// noneAt is why none of the sets is chosen; beside says what of the paths is context.
func (p *Project) noneAt(paths []string, all []Set, beside string) error {
	var names []string
	for i := range all {
		described := all[i].Described()
		names = append(names, described.String())
	}
	return fmt.Errorf("%s names %s; none is in %s, contains it, or uses files of it; %s",
		filepath.ToSlash(p.File()), named(names, "set", "sets"), filepath.ToSlash(strings.Join(paths, ", ")), beside+p.withoutPath())
}

// beside says which of the paths are context, and begins what to do about it; it is empty if none is.
func (d *discovery) beside(paths []string) string {
	context := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !d.isContext(path) })
	if len(context) == 0 {
		return ""
	}
	is := "is"
	if len(context) > 1 {
		is = "are"
	}
	return fmt.Sprintf("%s %s context, which is read beside each set; ", filepath.ToSlash(strings.Join(context, ", ")), is)
}

// isContext reports whether the path, at which no set was found, is context of the project, which may be nil, or is in it, or holds it and no
// other manifest that was looked at. What the project stands in is more than its context.
func (d *discovery) isContext(path string) bool {
	if d.project == nil || Below(d.project.folder, path) {
		return false
	}
	context := d.project.ContextFiles()
	in := func(path string) bool {
		return slices.ContainsFunc(context, func(name string) bool { return Below(path, name) })
	}
	if in(path) {
		return true
	}
	for _, at := range d.folders {
		if slices.ContainsFunc(at.files, func(file string) bool { return Below(file, path) && !in(file) }) {
			return false
		}
	}
	return slices.ContainsFunc(context, func(name string) bool { return Below(name, path) })
}
