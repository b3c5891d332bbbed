package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// Run checks the input, as one set. Apart from a report of all that could be read, the
// error names what could not; without a report it says why there is none.
func Run(ctx context.Context, options *Options) (*report.CheckReport, error) {
	disk := source.Open(&options.Options, options.named())
	defer disk.Close()
	r, err := run(ctx, options, disk.Input(nil))
	if r != nil {
		r.Count()
		err = errors.Join(append(r.Hidden(options.Strict), err)...)
	}
	return r, err
}

// run is Run, without the counts of the summary.
func run(ctx context.Context, options *Options, input *source.Input) (*report.CheckReport, error) {
	l, err := load(ctx, options, input, nil)
	if err != nil {
		return nil, err
	}
	var fixed []report.Fixed
	var notFixed []report.NotFixed
	if options.Fix {
		if fixed, notFixed, err = l.fix(input, options.Hold); err == nil && len(fixed) > 0 {
			input = input.Anew()
			l, err = load(ctx, options, input, nil) // the files as they are now
		}
		if err != nil {
			return nil, err
		}
	}
	if options.Propose {
		l.propose(input)
	}
	r, err := l.report()
	if err != nil {
		return nil, err
	}
	r.Fixed, r.NotFixed = fixed, notFixed
	r.Notices = append(r.Notices, l.unbuiltNotices()...)
	return r, errors.Join(append(input.Errors(), l.unread)...)
}

// report judges every route.
func (l *loaded) report() (*report.CheckReport, error) {
	r := report.New()
	r.Skipped, r.Notices = l.skipped, slices.Concat(l.notices, l.slips)
	for i := range l.duplicates {
		r.AddDuplicate(l.duplicates[i])
	}
	j := newJudge(l)
	for i, route := range l.routes {
		if route.undecodable != nil && len(route.refusals) == 0 {
			l.broken = append(l.broken, route.undecodable)
		}
		l.routes[i] = nil // what it was read from takes more memory than what is said of it
		judged, err := j.judge(route)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", route.file.Name, route.Key, err)
		}
		r.AddRoute(judged)
	}
	addBroken(r, l.broken)
	for _, f := range l.files {
		r.SeenFile(f.Name)
	}
	return r, nil
}

// addBroken reports documents that cannot be read.
func addBroken(r *report.CheckReport, errs []error) {
	for _, err := range errs {
		if at, ok := errors.AsType[*manifest.Error](err); ok { // all are
			r.AddBroken(report.Broken{Place: report.Place{File: at.File, Line: at.Line}, Message: wording(at.Err)})
		}
	}
}

// wording says what is wrong with a document, without a word of Go.
func wording(err error) string {
	if strings.Contains(err.Error(), "invalid map key: ") {
		return "broken YAML: a mapping is used as a key; if this is a template, render it first"
	}
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	what, _, _ := strings.Cut(err.Error(), ":")
	return fmt.Sprintf("%s: %s cannot be a %s", what, cmp.Or(mismatch.Field, "it"), mismatch.Value)
}

// FindSets is sets.Find, which may read what the options name, too.
func FindSets(ctx context.Context, options *Options, paths []string, project *sets.Project) (*sets.Found, error) {
	found, err := sets.Find(ctx, &options.Options, paths, options.named(), project)
	if err == nil {
		regain(ctx, options, found, func(set *sets.Set) bool { return len(set.Files) > 0 })
	}
	return found, err
}

// RunSets checks each set by itself, and returns one report of all. A set that cannot be
// built is broken, or, where that takes what is not on this disk, such as a remote base,
// left aside, and so is what may hold routes and no set has read. Apart from a report of all that could be read, the
// error names what could not.
func RunSets(ctx context.Context, options *Options, found *sets.Found) (*report.CheckReport, error) {
	disk := source.Open(&options.Options, options.named())
	defer disk.Close()
	if err := baseToBuild(options, found.Sets); err != nil {
		return nil, err
	}
	all := report.New()
	all.Skipped = found.Skipped
	var errs []error
	if len(options.Context) > 0 {
		over, err := forAll(options, disk)
		if err != nil {
			return nil, err
		}
		options = over
		if options.context != nil {
			addBroken(all, options.context.broken)
			all.Notices = append(all.Notices, options.context.slips...)
			errs = append(errs, options.context.err)
		}
	}
	if options.Fix {
		if err := fixSets(ctx, options, found.Sets, disk, all); err != nil {
			return nil, err
		}
	}
	var failed []unmade
	rendered := map[string]bool{} // the charts that were, with any values
	for i := range found.Sets {
		set := &found.Sets[i]
		described := set.Described()
		if options.Progress != nil {
			options.Progress(i+1, len(found.Sets), described.String())
		}
		r, err := runSet(ctx, options, set, disk.Within(set.Within))
		built := (*source.NotBuilt)(nil)
		switch {
		case errors.As(err, &source.TooLargeError{}):
			errs = append(errs, fmt.Errorf("%s: not checked: %w", &described, err))
		case errors.As(err, &built):
			failed = append(failed, unmade{set, &described, built})
		case r == nil:
			return nil, fmt.Errorf("%s: %w", &described, err)
		default:
			errs = append(errs, err)
			rendered[set.Path] = rendered[set.Path] || set.Kind == report.Chart
			described.Routes = r.CountRoutes()
			all.Add(r, described)
		}
	}
	for _, u := range failed {
		if needsOthers(u.set, u.built) && rendered[u.set.Path] { // nobody can install it without them
			all.Notices = append(all.Notices, report.Notice{
				Path: filepath.ToSlash(u.set.File()), Message: "cannot be built with its own values alone, so it is checked with its other values files: " + oneLine(u.built.Why),
			})
			continue
		}
		u.set.Excuse(disk.Within(u.set.Within))
		broken := u.built.Broken && (!needsOthers(u.set, u.built) || slices.ContainsFunc(failed, u.shownBy))
		notBuilt(all, &u, broken, rendered[u.set.Path])
	}
	if options.Progress != nil && len(found.Sets) > 0 {
		options.Progress(len(found.Sets), len(found.Sets), "what no set has")
	}
	skipped, notices := found.Unread(ctx)
	all.Skipped, all.Notices = append(all.Skipped, sets.Group(skipped)...), append(all.Notices, notices...)
	all.Count()
	return all, errors.Join(alike(append(all.Hidden(options.Strict), errs...))...)
}

// fixSets writes the changes of all sets before any is judged: what one set shows of a base is written for the others too.
// A set that cannot be read is reported when it is judged.
func fixSets(ctx context.Context, options *Options, all []sets.Set, disk *source.Disk, r *report.CheckReport) error {
	for i := range all {
		set := &all[i]
		input := disk.Within(set.Within).Input(nil)
		l, err := load(ctx, options.Over(set), input, nil)
		if err != nil {
			continue
		}
		fixed, _, err := l.fix(input, options.Hold)
		if err != nil {
			return err
		}
		r.Fixed = append(r.Fixed, fixed...)
	}
	return nil
}

// runSet checks one set.
func runSet(ctx context.Context, options *Options, set *sets.Set, disk *source.Disk) (*report.CheckReport, error) {
	if set.Taken != nil {
		set.Taken.Reset()
	}
	r, err := run(ctx, options.Over(set), disk.Input(set.Taken))
	if errors.As(err, &source.TooLargeError{}) {
		set.Excuse(disk)
	}
	return r, err
}

// unmade is a set that could not be built.
type unmade struct {
	set       *sets.Set
	described *report.Set
	built     *source.NotBuilt
}

// needsOthers reports whether the sets of the chart with other values show what it holds.
func needsOthers(set *sets.Set, built *source.NotBuilt) bool { return built.Values && set.Others }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// alike returns the errors, with one for all sets that cannot be built for the same reason.
func alike(errs []error) (all []error) {
	first := map[string]*report.Unchecked{}
	for _, err := range errs {
		if u, ok := errors.AsType[*report.Unchecked](err); ok {
			if before := first[u.Reason]; before != nil && u.Set && before.Set {
				before.More++
				continue
			}
			first[u.Reason] = u
		}
		all = append(all, err)
	}
	return all
}

// shownBy reports whether the other set, of the same chart with other values, is broken for the same reason.
func (u *unmade) shownBy(other unmade) bool {
	return other.set != u.set && other.set.Path == u.set.Path && other.built.Broken && other.built.Why == u.built.Why
}

// notBuilt reports that the set could not be built, as it is broken or may be; others: the chart was rendered with other values.
func notBuilt(all *report.CheckReport, u *unmade, broken, others bool) {
	set, described, built := u.set, u.described, u.built
	why := oneLine(built.Why)
	switch {
	case !built.Values || set.Named:
	case broken && others:
		why += "; if it needs the values of another file too, name the chart with both files in the sets of " + sets.ProjectFile
	case set.Values == "" && !set.Others:
		why += "; if it needs values, add a file with these to the chart's directory ci"
	}
	at, placed := built.At, why
	if set.Kustomization != "" && at != (report.Place{}) { // Helm names it itself
		placed = fmt.Sprintf("%s:%d: %s", filepath.ToSlash(at.File), at.Line, why)
	}
	if at == (report.Place{}) {
		at = report.Place{File: set.File(), Line: 1}
	}
	if broken {
		all.SeenFile(set.File())
		all.Unbuilt = append(all.Unbuilt, *described)
		all.AddBroken(report.Broken{Place: at, Message: "cannot be built: " + why, Set: described.String()})
		return
	}
	reason := "cannot be built, so its routes are not checked: "
	if built.Remote {
		reason = "needs what is not in the repository, so its routes are not checked: "
	}
	all.Skipped = append(all.Skipped, report.Skipped{Path: described.String(), Reason: reason + placed, At: at, Named: set.Named})
}
