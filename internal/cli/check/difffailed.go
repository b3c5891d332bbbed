package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/traffic"
)

// isBroken reports whether all that the error says is of what stands in files, or of what cannot be built of them.
func isBroken(err error) bool {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return !slices.ContainsFunc(joined.Unwrap(), func(part error) bool { return !isBroken(part) })
	}
	_, document := errors.AsType[*manifest.Error](err)
	_, built := errors.AsType[*source.NotBuilt](err)
	return document || built
}

// lacks reports whether it is of a chart that lacks a dependency.
func lacks(err error) bool {
	built, is := errors.AsType[*source.NotBuilt](err)
	return is && built.Lacks
}

// NotCompared is the difference of an input from a base that is broken.
func NotCompared(failed error) *report.Diff {
	return &report.Diff{TypeMeta: report.Typed(report.DiffKind), NewFindings: report.New(), Difference: &traffic.Difference{
		NotCompared: 1, Notes: []string{"the input is not compared: " + oneLine(ofBase(failed).Error())},
	}}
}

// brokenInput is the difference of an input that is broken, with the error; for another error there is none.
func brokenInput(failed error) (*report.Diff, error) {
	if !isBroken(failed) {
		return nil, failed
	}
	return Failed(failed), failed
}

// Failed is the difference of an input that cannot be compared, with why.
func Failed(failed error) *report.Diff {
	diff := NotCompared(failed)
	diff.Notes = nil
	for _, part := range parts(failed) {
		diff.Failures = append(diff.Failures, "the input is not compared: "+oneLine(part.Error()))
	}
	return diff
}

// parts returns the errors that one is made of.
func parts(err error) []error {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return joined.Unwrap()
	}
	return []error{err}
}

// failure is why sets are not compared; it is noted, or an error.
type failure struct {
	why   string
	fails bool
	sets  []string
}

// fail notes that a set is not compared. It is an error if it could be before, or if it is new and broken.
func (d *setsDiff) fail(name string, before, after *sets.Set, failed [2]error) {
	built := (*source.NotBuilt)(nil)
	needs := errors.As(failed[1], &built) && (!built.Broken || needsOthers(after, built)) // more than there is in the repository, or values that other sets of the chart have
	d.out.NotCompared++
	d.out.BaseLacks = d.out.BaseLacks || lacks(failed[0]) && !lacks(failed[1])
	own, _, _ := strings.Cut(name, " with ") // the chart, whichever the values
	why := func(err error) string { return oneLine(strings.TrimPrefix(err.Error(), own+": ")) }
	if failed[1] != nil && failed[0] == nil && (before != nil || !needs) {
		for _, part := range parts(failed[1]) {
			d.failedBy(name, why(part), true)
		}
		return
	}
	d.failedBy(name, why(cmp.Or(failed[1], failed[0])), false)
}

// unreadable returns why the version cannot be compared, where it has a file of the directory that the other one has, and that cannot be read: what
// that holds would be gone, or new.
func (d *setsDiff) unreadable(version int, other *sets.Set) error {
	if other == nil || other.Kind != report.Directory {
		return nil
	}
	for _, file := range other.Files {
		at, err := d.there[1-version](file)
		if err != nil {
			return err
		}
		if why := d.sides[version].found.Unreadable(at); why != "" {
			return errors.New(why)
		}
	}
	return nil
}

// failedBy adds the set to those that are not compared for the same reason.
func (d *setsDiff) failedBy(name, why string, fails bool) {
	i := slices.IndexFunc(d.failed, func(f failure) bool { return f.why == why && f.fails == fails })
	if i < 0 {
		i, d.failed = len(d.failed), append(d.failed, failure{why: why, fails: fails})
	}
	if !slices.Contains(d.failed[i].sets, name) { // else two objects of one template
		d.failed[i].sets = append(d.failed[i].sets, name)
	}
}

// say adds what was said of sets, with the renderings of a chart that it holds for where it does not for all, and why some are not compared.
// The error names those that no longer can be.
func (d *setsDiff) say() error {
	some := report.Renderings(d.out.NewFindings.Sets)
	for i, list := range []*[]string{&d.out.LeftOut, &d.out.Notes} {
		for text, names := range d.said[i] {
			*list = append(*list, text+some(names))
		}
	}
	err := d.sayFailed()
	slices.Sort(d.out.LeftOut)
	d.out.Notes = grouped(d.out.Notes)
	return err
}

// sayFailed adds why sets are not compared, once for all of which the same is said. The error names those that no longer can be.
func (d *setsDiff) sayFailed() error {
	var errs []error
	for _, f := range d.failed {
		is := " is"
		switch {
		case f.fails:
			is = ":"
		case len(f.sets) > 1:
			is = " are"
		}
		text := fmt.Sprintf("%s%s not compared: %s", firstOf(f.sets), is, f.why)
		if f.fails {
			errs, d.out.Failures = append(errs, errors.New(text)), append(d.out.Failures, text)
		} else {
			d.out.Notes = append(d.out.Notes, text)
		}
	}
	return errors.Join(errs...)
}
