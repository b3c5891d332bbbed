// Package runner reads scenarios and plays them: text archives that say what is in
// a cluster, what is applied to it, and what must come of that. The format is
// described in test/scenarios/README.md.
//
// A Driver is a way to play one. All of them must lead to the same verdicts: the
// core in memory, the webhook's handlers over the same memory, and a real API
// server with the real kubectl and gammaguard in front of it.
package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/manifest"
)

// Driver is a way to play scenarios.
type Driver interface {
	// Name names the driver: "core", "handlers", "apiserver".
	Name() string
	// Begin prepares for one scenario. Only one is played at a time.
	Begin(ctx context.Context, scenario *Scenario) (Session, error)
}

// Session is one scenario being played. An error of any method but Apply's outcome
// means that the scenario cannot be played, not that a verdict is wrong.
type Session interface {
	// Put creates or replaces the objects without the guard.
	Put(ctx context.Context, documents []*Document) error
	// Apply applies the document as kubectl does. The outcome is nil if this
	// driver cannot judge it and has passed it over.
	Apply(ctx context.Context, document *Document) (*Outcome, error)
	// Delete deletes the object, and returns what the user reads, if the document says what
	// must come of that.
	Delete(ctx context.Context, document *Document) (warnings []string, err error)
	// Status returns gammaguard's entries in the route's status once they are as
	// wanted, or as they are once there is no hope left that they will be. A route
	// that does not exist has none.
	Status(ctx context.Context, route manifest.Key, wanted func([]Entry) bool) ([]Entry, error)
	// End removes whatever the scenario has made.
	End(ctx context.Context) error
}

// Outcome is what came of applying a document.
type Outcome struct {
	Denied bool
	// Rules are the rules that denied, and Warnings the rules and mutations that
	// warned, both sorted, each once.
	Rules, Warnings []string
	// Text is all that the user reads.
	Text string
	// Previews are the lines of it about parentRefs that an update takes away.
	Previews []string
	// Object is the admitted object as JSON; nil after a denial.
	Object []byte
}

// AddPreviews adds lines about parentRefs that an update takes away.
func (o *Outcome) AddPreviews(lines []string) {
	o.Previews = append(o.Previews, lines...)
	if len(lines) > 0 {
		o.Text = strings.TrimSuffix(strings.Join(lines, "\n")+"\n"+o.Text, "\n")
	}
}

// Play plays the scenario and returns every difference between what it wants and what
// came of it, or its mistakes. Each reads "path:line: text".
func Play(ctx context.Context, driver Driver, scenario *Scenario) []error {
	if scenario.Mistakes != nil {
		return []error{scenario.Mistakes}
	}
	start := manifest.Origin{File: scenario.Path, Line: 1}
	session, err := driver.Begin(ctx, scenario)
	if err != nil {
		return []error{failure(start, "cannot begin: %w", err)}
	}
	failures := play(ctx, session, scenario)
	if err := session.End(context.WithoutCancel(ctx)); err != nil {
		failures = append(failures, failure(start, "cannot clean up: %w", err))
	}
	return failures
}

func failure(at manifest.Origin, format string, args ...any) error {
	return &manifest.Error{Origin: at, Err: fmt.Errorf(format, args...)}
}

func play(ctx context.Context, session Session, scenario *Scenario) (failures []error) {
	for i := range scenario.Steps {
		step := &scenario.Steps[i]
		var found []error
		var err error
		switch step.Kind {
		case Cluster:
			err = session.Put(ctx, step.Documents)
		case Delete:
			found, err = deleteAll(ctx, session, step)
		case Apply:
			found, err = applyAll(ctx, session, step)
		case Want:
			found, err = statuses(ctx, session, step)
		}
		failures = append(failures, found...)
		if err != nil {
			return append(failures, failure(step.Origin, "%s: %w", step.Kind, err))
		}
	}
	return failures
}

// applyAll applies the documents, and compares what comes of each with its verdict.
func applyAll(ctx context.Context, session Session, step *Step) (failures []error, err error) {
	for _, document := range step.Documents {
		outcome, err := session.Apply(ctx, document)
		if err != nil {
			return failures, fmt.Errorf("%s (%s): %w", document.Key, document.Origin, err)
		}
		if document.Want == nil || outcome == nil {
			continue
		}
		if differences := document.Want.differences(outcome); len(differences) > 0 {
			text := document.Key.String() + "\n  " + strings.Join(differences, "\n  ")
			if outcome.Text != "" {
				text += "\n  the user reads:\n    " + strings.ReplaceAll(strings.TrimSpace(outcome.Text), "\n", "\n    ")
			}
			failures = append(failures, failure(document.Want.Origin, "%s", text))
		}
	}
	return failures, nil
}

// deleteAll deletes the objects, and compares the warnings.
func deleteAll(ctx context.Context, session Session, step *Step) (failures []error, err error) {
	for _, document := range step.Documents {
		got, err := session.Delete(ctx, document)
		if err != nil {
			return failures, fmt.Errorf("%s (%s): %w", document.Key, document.Origin, err)
		}
		if want := document.Deletion; want != nil && !slices.EqualFunc(want.Warnings, got, func(part, whole string) bool { return strings.Contains(whole, part) }) {
			failures = append(failures, failure(want.Origin, "%s\n  warnings: want %q, got %q", document.Key, want.Warnings, got))
		}
	}
	return failures, nil
}

// differences returns how the outcome differs from the verdict.
func (want *Verdict) differences(outcome *Outcome) (differences []string) {
	differ := func(format string, args ...any) {
		differences = append(differences, fmt.Sprintf(format, args...))
	}
	verdict := map[bool]string{true: "deny", false: "admit"}
	if outcome.Denied != want.Deny {
		differ("verdict: want %s, got %s", verdict[want.Deny], verdict[outcome.Denied])
	}
	if want.Rules != nil && !slices.Equal(outcome.Rules, want.Rules) {
		differ("rules: want %v, got %v", want.Rules, outcome.Rules)
	}
	if want.Warnings != nil && !slices.Equal(outcome.Warnings, want.Warnings) {
		differ("warnings: want %v, got %v", want.Warnings, outcome.Warnings)
	}
	if !strings.Contains(outcome.Text, want.Message) {
		differ("message: want %q in it", want.Message)
	}
	if want.Object != nil && outcome.Object != nil {
		differences = append(differences, compareJSON("object", map[string]any(want.Object), outcome.Object)...)
	}
	return differences
}

// statuses compares the status of routes with what is wanted.
func statuses(ctx context.Context, session Session, step *Step) (failures []error, err error) {
	for _, want := range step.Status {
		got, err := session.Status(ctx, want.Route, func(got []Entry) bool { return compareEntries(want.Entries, got) == "" })
		if err != nil {
			return failures, fmt.Errorf("status of %s: %w", want.Route, err)
		}
		if difference := compareEntries(want.Entries, got); difference != "" {
			failures = append(failures, failure(want.Origin, "status of %s\n  %s", want.Route, difference))
		}
	}
	return failures, nil
}
