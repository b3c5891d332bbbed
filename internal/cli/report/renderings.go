package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// maxRenderings is how many values files a line names.
const maxRenderings = 3

// distinct returns the items, each once, with in how many sets it is, since the summary counts each: one file may be in several
// sets. Of those that not all renderings of a chart have, it says which have them.
func (r *CheckReport) distinct(items []Item) (all []Item) {
	key := func(i Item) Item {
		i.Edit, i.set, i.with = nil, "", ""
		return i
	}
	in, edits := map[Item][]string{}, map[Item]*Edit{}
	for _, i := range items {
		edits[key(i)] = cmp.Or(edits[key(i)], i.Edit) // what one set shows of a base counts for all
		sets, again := in[key(i)]
		if !again {
			all = append(all, i)
		}
		if !slices.Contains(sets, i.set) {
			in[key(i)] = append(sets, i.set)
		}
	}
	for i := range all {
		all[i].Edit = edits[key(all[i])]
		if sets := in[key(all[i])]; len(sets) > 1 {
			all[i].with = fmt.Sprintf(" (in %d sets)", len(sets))
		}
	}
	if !slices.ContainsFunc(r.Sets, func(s Set) bool { return s.Values != "" }) {
		return all
	}
	charts, renderings := map[string]*Set{}, map[string]int{}
	for i := range r.Sets {
		if s := &r.Sets[i]; s.Kind == Chart {
			charts[s.String()] = s
			renderings[s.Path]++
		}
	}
	for i := range all {
		item := &all[i]
		if sets := in[key(*item)]; charts[item.set] != nil && len(sets) < renderings[charts[item.set].Path] {
			item.with = with(charts, sets)
		}
	}
	return all
}

// with reads " (with ci/odd.yaml)".
func with(charts map[string]*Set, sets []string) string {
	var names []string
	for _, name := range sets {
		s := charts[name]
		switch {
		case s == nil:
			return "" // it is in something else too
		case s.Values == "":
			names = append(names, "its own values")
			continue
		}
		values := s.Values
		if inside, err := filepath.Rel(s.Path, values); err == nil && filepath.IsLocal(inside) {
			values = filepath.ToSlash(inside)
		}
		names = append(names, printable.Text(values))
	}
	if more := len(names) - maxRenderings; more > 0 {
		names = append(names[:maxRenderings], fmt.Sprintf("and %d more", more))
	}
	return " (with " + strings.Join(names, ", ") + ")"
}
