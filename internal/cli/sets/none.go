package sets

import (
	"fmt"
	"path/filepath"
	"strings"
)

// noneAt is why none of the sets is chosen, with the advice to run the command on all that the project is about.
func (p *Project) noneAt(paths []string, all []Set) error {
	var names []string
	for i := range all {
		described := all[i].Described()
		names = append(names, described.String())
	}
	where := ""
	if folder := relative(p.folder); folder != "." {
		where = "in " + filepath.ToSlash(folder) + " "
	}
	return fmt.Errorf("%s names %s; none is in %s, contains it, or uses files of it; run the command %swithout a PATH",
		filepath.ToSlash(p.File()), named(names, "set", "sets"), filepath.ToSlash(strings.Join(paths, ", ")), where)
}
