package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/explain"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/validate"
)

// Item is one line of the forms that list what was found.
type Item struct {
	Place
	// ID is a rule's or mutation's, or one of package explain.
	ID     string
	Effect validate.Action
	// Word says to people what it is: the effect, "change" or "broken".
	Word string
	// Object names the route, or a duplicate; empty for a broken document.
	Object string
	Field  string
	// Text is what to say, with the field, in a form that only shows.
	Text string
	// Edit makes the change of a mutation; it may be nil.
	Edit *Edit
	// of is the file of the route.
	of string
	// set is the set that it is in, and with, if not all renderings of a chart have it, says which do.
	set, with string
	// lacks is set if it is unknown because of what the input lacks.
	lacks bool
}

// levels are what GitHub, SARIF, and GitLab call the effects.
var levels = map[validate.Action]struct{ github, sarif, gitlab string }{
	validate.Deny:  {"error", "error", "major"},
	validate.Warn:  {"warning", "warning", "minor"},
	validate.Audit: {"notice", "note", "info"},
	validate.Off:   {"notice", "note", "info"},
	EffectUnknown:  {"notice", "none", "info"},
	EffectDormant:  {"notice", "note", "info"},
}

// Items returns what was found, by file and line.
func (r *CheckReport) Items() []Item {
	var items []Item
	for i := range r.Routes {
		route := &r.Routes[i]
		for _, change := range slices.Concat(route.Changes, route.Withheld) {
			items = append(items, Item{
				Place: Place{cmp.Or(change.File, route.File), change.Line}, ID: change.Mutation,
				Effect: cmp.Or(change.Effect, validate.Warn), Word: cmp.Or(string(change.Effect), "change"),
				Object: route.String(), Field: change.Field, Text: change.Message, Edit: change.Edit, of: route.File, set: route.Set,
			})
		}
		for j := range route.Findings {
			f := &route.Findings[j]
			items = append(items, Item{
				Place: Place{cmp.Or(f.File, route.File), f.Line}, ID: f.Rule, Effect: f.Effect, Word: string(f.Effect),
				Object: route.String(), Field: f.Field, Text: about(f.Field, f.Message),
				lacks: f.Effect == EffectUnknown && f.Lacks != "", of: route.File, set: route.Set,
			})
		}
	}
	for _, broken := range r.Broken {
		items = append(items, Item{
			Place: broken.Place, ID: explain.BrokenDocument, Effect: validate.Deny, Word: "broken",
			Text: broken.Message + " (" + explain.BrokenDocument + ")", set: broken.Set,
		})
	}
	for _, duplicate := range r.Duplicates {
		items = append(items, Item{
			Place: duplicate.Place, ID: explain.ObjectDuplicate, Effect: validate.Warn, Word: string(validate.Warn), Object: duplicate.Object,
			Text: fmt.Sprintf("is declared at %s:%d already, and this declaration replaces it; keep one of them (%s)",
				duplicate.First.File, duplicate.First.Line, explain.ObjectDuplicate),
		})
	}
	for i := range items {
		items[i].Text = printable.Text(items[i].Text)
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	items = r.distinct(items)
	if r.since {
		items = withoutAlike(items)
	}
	return items
}

// withoutAlike leaves out what is found in the same words on several routes, such as all of a Service port, but for the first
// one, which counts them and names the places of the first few. What is found at several places of one route stays.
func withoutAlike(items []Item) (kept []Item) {
	type words struct{ id, word, text string }
	first, more := map[words]int{}, map[int][]string{}
	for _, i := range items {
		key := words{i.ID, i.Word, i.text()}
		at, again := first[key]
		if again && i.Object != "" && i.Object != kept[at].Object && !i.lacks {
			more[at] = append(more[at], fmt.Sprintf("%s:%d", i.File, i.Line))
			continue
		}
		if !again {
			first[key] = len(kept)
		}
		kept = append(kept, i)
	}
	for at, others := range more {
		kept[at].Object += " and " + Count(len(others), "more route", "more routes")
		places := slices.Compact(others) // they are sorted
		const named = 4
		if others := len(places) - named; others > 0 {
			places = append(places[:named:named], "and "+Count(others, "more place", "more places"))
		}
		kept[at].Object += " (" + strings.Join(places, ", ") + ")"
	}
	return kept
}

// fingerprint is the same when lines move.
func (i *Item) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.ID, i.File, i.Object, i.Field, i.Text}, "\x00")))
	const length = 16
	return hex.EncodeToString(sum[:length])
}

// about reads "Field: message", or the message alone where it is about the whole object.
func about(field, message string) string {
	if field == "" {
		return message
	}
	return field + ": " + message
}

// named is the text after the route that it is about.
func (i *Item) named() string {
	if i.Object == "" {
		return i.text()
	}
	return printable.Text(i.Object) + ": " + i.text()
}

// text is Text, with what says in which renderings of a chart it is.
func (i *Item) text() string { return i.Text + i.with }
