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
	some := Renderings(slices.Concat(r.Sets, r.Unbuilt))
	for i := range all {
		all[i].Edit = edits[key(all[i])]
		sets := in[key(all[i])]
		if all[i].with = some(sets); all[i].with == "" && len(sets) > 1 {
			all[i].with = fmt.Sprintf(" (in %d sets)", len(sets))
		}
	}
	return all
}

// Renderings returns what says of something that only the sets of these names have, in which renderings of a chart it is; the text is
// empty where it is in all of the chart, or not in a chart.
func Renderings(all []Set) func(names []string) string {
	charts, renderings := map[string]*Set{}, map[string]int{}
	for i := range all {
		if s := &all[i]; s.Kind == Chart {
			charts[s.String()] = s
			renderings[s.Path]++
		}
	}
	return func(names []string) string {
		if first := charts[names[0]]; first == nil || len(names) >= renderings[first.Path] {
			return ""
		}
		return with(charts, names)
	}
}

// with reads " (with ci/odd.yaml, prod.yaml and eu.yaml)" of two renderings.
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
		values := strings.Split(s.Values, ", ")
		for i, file := range values {
			if inside, err := filepath.Rel(s.Path, file); err == nil && filepath.IsLocal(inside) {
				values[i] = filepath.ToSlash(inside)
			}
		}
		names = append(names, printable.Text(strings.Join(values, " and ")))
	}
	if more := len(names) - maxRenderings; more > 0 {
		names = append(names[:maxRenderings], fmt.Sprintf("and %d more", more))
	}
	return " (with " + strings.Join(names, ", ") + ")"
}
