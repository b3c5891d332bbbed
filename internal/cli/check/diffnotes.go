package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/validate"
)

// alikeNotes are notes that say the same of several objects: what stands before and behind their names.
var alikeNotes = []struct{ before, one, many string }{
	{"", " is not in the input: it is assumed", " are not in the input: they are assumed"},
	{"", " is not in the base: it is assumed", " are not in the base: they are assumed"},
	{"", " matches too: ", " match too: "},
	{"", " is denied: ", " are denied: "},
	{"", " has other weights now, ", " have other weights now, "},
	{"", " lacks the grant now: ", " lack the grant now: "},
	{"", " is refused on ", " are refused on "},
	{"regular expressions of ", " are compared as text", " are compared as text"},
}

// grouped returns the notes, with one for all objects of which the same is said.
func grouped(notes []string) (all []string) {
	slices.Sort(notes)
	type same struct {
		form int
		rest string
	}
	objects := map[same][]string{}
	for _, note := range slices.Compact(notes) {
		form := slices.IndexFunc(alikeNotes, func(n struct{ before, one, many string }) bool {
			return strings.HasPrefix(note, n.before) && strings.Contains(note, n.one)
		})
		if form < 0 {
			all = append(all, note)
			continue
		}
		object, rest, _ := strings.Cut(strings.TrimPrefix(note, alikeNotes[form].before), alikeNotes[form].one)
		at := same{form, rest}
		objects[at] = append(objects[at], object)
	}
	for _, at := range slices.SortedFunc(maps.Keys(objects), func(a, b same) int { return cmp.Or(cmp.Compare(a.form, b.form), cmp.Compare(a.rest, b.rest)) }) {
		form := &alikeNotes[at.form]
		says := form.one
		if len(objects[at]) > 1 {
			says = form.many
		}
		all = append(all, form.before+firstOf(objects[at])+says+at.rest)
	}
	return all
}

// denied notes the edited routes that are denied for that: rows show them as if they were stored. What the stored route has too denies no update.
func denied(findings *report.CheckReport, edited map[string]bool) (notes []string) {
	for i := range findings.Routes {
		route := &findings.Routes[i]
		if edited[route.String()] && slices.ContainsFunc(route.Findings, func(f report.Finding) bool { return f.Effect == validate.Deny && !f.Raised }) {
			notes = append(notes, route.String()+" is denied: in mode enforce, what is stored stays as it was until that is corrected")
		}
	}
	return notes
}

// reconfigured notes that each version is judged by its own configuration, and in which fields these differ: what one allows is no finding.
func reconfigured(before, after *config.GuardConfiguration) []string {
	if before == after {
		return nil
	}
	var differ []string
	was, is := reflect.ValueOf(*before), reflect.ValueOf(*after)
	for i := range is.NumField() {
		if !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			name, _, _ := strings.Cut(is.Type().Field(i).Tag.Get("json"), ",")
			differ = append(differ, name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return []string{"the configuration differs from that of the base (" + strings.Join(differ, ", ") + "): each version is judged by its own, and what it allows now is no finding"}
}

// newSlips returns what check notes of the version after, and not of the one before.
func newSlips(before, after []report.Notice) []report.Notice {
	return slices.DeleteFunc(slices.Clone(after), func(n report.Notice) bool {
		return slices.ContainsFunc(before, func(old report.Notice) bool { return old.Message == n.Message }) // files may be others
	})
}

// maxShown is how many names a note has.
const maxShown = 8

// firstOf lists the first names, and how many more there are.
func firstOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxShown)], ", ")
	if more := len(names) - maxShown; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// noteUnread notes what may hold routes and was not compared, apart from what the version before has the same, and from that version
// itself where it is in the one after. Where nothing is compared, the patterns say why.
func (d *setsDiff) noteUnread(ctx context.Context, before, after *Found, at func(path string) (string, error)) error {
	known := map[string]bool{}
	skipped, _ := before.Unread(ctx)
	for _, s := range slices.Concat(before.Skipped, skipped) {
		if path, err := filepath.Abs(s.Path); err == nil && s.Hides {
			known[path] = true
		}
	}
	root, failed := filepath.Abs(before.Path)
	start, err := filepath.Abs(after.Path)
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	within := before.Path != "" && root != start && sets.Below(root, start)
	news := func(path string) (was string, is bool, err error) {
		if here, err := filepath.Abs(path); err != nil || within && sets.Below(here, root) {
			return "", false, err
		}
		was, err = at(path)
		return was, err == nil && !known[was], err
	}
	skipped, notices := after.Unread(ctx)
	var paths []string
	for _, s := range slices.Concat(after.Skipped, skipped) {
		if !s.Hides || after.IsOther(s.Path) {
			continue
		}
		_, is, err := news(s.Path)
		if err != nil {
			return err
		}
		if is {
			paths = append(paths, s.Path)
		}
	}
	if len(paths) > 0 {
		d.out.Notes = append(d.out.Notes, "may hold routes that no set has: "+firstOf(paths)+"; run gammaguard check for details")
	}
	if n := after.Others(); n != nil {
		d.out.Notes = append(d.out.Notes, n.String())
	}
	for _, n := range notices {
		if n.Ignored == 0 {
			continue
		}
		was, is, err := news(n.Path)
		if err != nil {
			return err
		}
		if is && !before.HasPattern(was, n.Pattern) || d.compared == 0 {
			d.out.Notes = append(d.out.Notes, n.Path+": "+n.Message)
		}
	}
	return nil
}
