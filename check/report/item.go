package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/check/explain"
	"github.com/gammaguard/gammaguard/validate"
)

// item is one line of the forms that list what was found.
type item struct {
	Place
	// id is a rule's or mutation's, or one of package explain.
	id     string
	effect validate.Action
	// word says to people what it is: the effect, "change" or "broken".
	word string
	// object names the route, or a duplicate; empty for a broken document.
	object string
	field  string
	// text is what to say, with the field.
	text string
	// edit makes the change of a mutation; it may be nil.
	edit *Edit
}

// levels are what GitHub, SARIF, and GitLab call the effects.
var levels = map[validate.Action]struct{ github, sarif, gitlab string }{
	validate.Deny:  {"error", "error", "major"},
	validate.Warn:  {"warning", "warning", "minor"},
	validate.Audit: {"notice", "note", "info"},
	validate.Off:   {"notice", "note", "info"},
	EffectUnknown:  {"notice", "none", "info"},
}

// items returns what was found, by file and line.
func (r *CheckReport) items() []item {
	var items []item
	for i := range r.Routes {
		route := &r.Routes[i]
		for _, change := range route.Changes {
			items = append(items, item{
				Place: Place{cmp.Or(change.File, route.File), change.Line}, id: change.Mutation, effect: validate.Warn, word: "change",
				object: route.String(), field: change.Field, text: change.Message, edit: change.Edit,
			})
		}
		for j := range route.Findings {
			f := &route.Findings[j]
			items = append(items, item{
				Place: Place{cmp.Or(f.File, route.File), f.Line}, id: f.Rule, effect: f.Effect, word: string(f.Effect),
				object: route.String(), field: f.Field, text: about(f.Field, f.Message),
			})
		}
	}
	for _, broken := range r.Broken {
		items = append(items, item{
			Place: broken.Place, id: explain.BrokenDocument, effect: validate.Deny, word: "broken",
			text: broken.Message + " (" + explain.BrokenDocument + ")",
		})
	}
	for _, duplicate := range r.Duplicates {
		items = append(items, item{
			Place: duplicate.Place, id: explain.ObjectDuplicate, effect: validate.Warn, word: string(validate.Warn), object: duplicate.Object,
			text: fmt.Sprintf("is declared at %s:%d already, and this declaration replaces it; keep one of them (%s)",
				duplicate.First.File, duplicate.First.Line, explain.ObjectDuplicate),
		})
	}
	slices.SortStableFunc(items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	seen := map[item]bool{} // one file may be in several sets
	return slices.DeleteFunc(items, func(i item) bool {
		i.edit = nil
		again := seen[i]
		seen[i] = true
		return again
	})
}

// fingerprint is the same when lines move.
func (i *item) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.id, i.File, i.object, i.field, i.text}, "\x00")))
	const length = 16
	return hex.EncodeToString(sum[:length])
}

// about reads "field: message", or the message alone where it is about the whole object.
func about(field, message string) string {
	if field == "" {
		return message
	}
	return field + ": " + message
}

// named is the text after the route that it is about.
func (i *item) named() string {
	if i.object == "" {
		return i.text
	}
	return i.object + ": " + i.text
}
