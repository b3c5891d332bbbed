package report

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
)

// Unchecked is why a check fails: something was not checked. The report has it too.
type Unchecked struct {
	Path, Reason string
	// Set is set for a set that was not built as a whole, and More is how many others have the same reason.
	Set  bool
	More int
}

// Error reads "kustomization a, and 2 more: why".
func (u *Unchecked) Error() string { return andMore(u.Path, u.More) + ": " + u.Reason }

// WithoutUnchecked returns the error without those that the text of the report has already, which it counts.
func WithoutUnchecked(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	first, count, others := "", 0, []error{nil}
	for _, err := range joined.Unwrap() {
		if u, ok := errors.AsType[*Unchecked](err); ok {
			first, count = cmp.Or(first, u.Path), count+1+u.More
		} else {
			others = append(others, err)
		}
	}
	if count > 0 {
		others[0] = fmt.Errorf("%s: not accepted; the report above says why", andMore(first, count-1))
	}
	return errors.Join(others...)
}

// andMore reads "a", or "a, and 2 more".
func andMore(name string, more int) string {
	if more > 0 {
		name += fmt.Sprintf(", and %d more", more)
	}
	return name
}

// notChecked reports whether the notice is about an object that is not checked, and may be meant for a route.
func (n *Notice) notChecked() bool { return n.Fails && n.Line > 0 }

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
			Place: s.At, ID: explain.NotChecked, Effect: EffectUnknown, Word: string(EffectUnknown), Object: s.Path,
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
	for i := range r.Notices {
		if n := &r.Notices[i]; n.notChecked() {
			items = append(items, Item{Place: Place{n.Path, n.Line}, ID: explain.NotChecked, Effect: EffectUnknown, Word: string(EffectUnknown), Text: n.Message})
		}
	}
	for i, n := range more {
		if items[i].Object != "" {
			items[i].Object = andMore(items[i].Object, n)
		}
	}
	return items
}
