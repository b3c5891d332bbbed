package report

import (
	"fmt"

	"github.com/gammaguard/gammaguard/internal/printable"
)

// unchecked returns what was not checked and may hold routes: one for all sets at one place that have the same reason.
func (r *CheckReport) unchecked() []Item {
	type same struct {
		Place
		reason string
	}
	var items []Item
	index, more := map[same]int{}, map[int]int{}
	for _, s := range r.Skipped {
		item := Item{
			Place: s.At, ID: "not-checked", Effect: EffectUnknown, Word: string(EffectUnknown), Object: s.Path,
			Text: "not checked: " + printable.Text(s.Reason),
		}
		if s.At == (Place{}) {
			item.Place, item.Object = Place{s.Path, 1}, ""
			if !s.Hides {
				continue
			}
		}
		key := same{item.Place, s.Reason}
		if first, again := index[key]; again {
			more[first]++
			continue
		}
		index[key] = len(items)
		items = append(items, item)
	}
	for i, n := range more {
		if items[i].Object != "" {
			items[i].Object += fmt.Sprintf(", and %d more", n)
		}
	}
	return items
}
