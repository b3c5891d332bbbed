package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/test/bed/guard"
)

// Policies plays scenarios with the real kubectl on a real API server, with the policies on
// grants that the configuration asks for, and without gammaguard or its webhooks.
type Policies struct {
	server *apiServer
	config string
}

// NewPolicies starts a control plane. The caller must Close it.
func NewPolicies(ctx context.Context) (*Policies, error) {
	server, err := newAPIServer(ctx)
	return &Policies{server: server}, err
}

// Close stops everything that was started.
func (p *Policies) Close() error { return p.server.close() }

// AboutGrants reports whether a scenario has something that policies decide.
func AboutGrants(scenario *Scenario) bool {
	topic, _, _ := strings.Cut(scenario.Name, "/")
	return topic == "grants" || topic == grantMissing ||
		slices.ContainsFunc(scenario.Documents(), func(d *Document) bool {
			return d.Want != nil && (slices.Contains(d.Want.Rules, grantMissing) || slices.Contains(d.Want.Warnings, grantMissing))
		})
}

const grantMissing = "grant-missing"

// Play plays a scenario, and returns where the policies decide about grants otherwise than it
// wants, and how many verdicts it compared. What another rule is to refuse is a dry run, so that
// it does not stay. Mutations are not made: what the schema refuses without them is refused.
func (p *Policies) Play(ctx context.Context, scenario *Scenario) (failures []error, compared int, err error) {
	if configuration := compact(scenario.Config); p.config != configuration {
		if err := guard.InstallPolicies(ctx, p.server.plane, scenario.Config.Policy(), cluster); err != nil {
			return nil, 0, err
		}
		p.config = configuration
	}
	s := &apiSession{apiServer: p.server, scenario: scenario, rivals: rivals(scenario)}
	defer func() { err = errors.Join(err, s.End(context.WithoutCancel(ctx))) }()
	if err := s.createNamespaces(ctx); err != nil {
		return nil, 0, err
	}
	for i := range scenario.Steps {
		switch step := &scenario.Steps[i]; step.Kind {
		case Cluster:
			err = s.putAll(ctx, step.Documents)
		case Delete:
			for _, document := range step.Documents {
				err = errors.Join(err, s.delete(ctx, document))
			}
		case Apply:
			for _, document := range step.Documents {
				outcome, err := s.Apply(ctx, withoutOtherRules(document))
				if err != nil {
					return failures, compared, fmt.Errorf("%s: %w", document.Origin, err)
				}
				if document.Want == nil {
					continue
				}
				compared++
				if difference := differs(document, outcome); difference != "" {
					failures = append(failures, failure(document.Want.Origin, "%s: %s\n  the user reads:\n    %s", document.Key, difference, outcome.Text))
				}
			}
		}
		if err != nil {
			return failures, compared, err
		}
	}
	return failures, compared, nil
}

// withoutOtherRules has what other rules refuse be a dry run.
func withoutOtherRules(document *Document) *Document {
	want := document.Want
	if want == nil || !want.Deny || len(want.Rules) == 0 || slices.Contains(want.Rules, grantMissing) {
		return document
	}
	tried := *document
	tried.DryRun = true
	return &tried
}

// differs says how the outcome differs from what the scenario wants of grants.
func differs(document *Document, got *Outcome) string {
	want := document.Want
	denies, denied := slices.Contains(want.Rules, grantMissing), slices.Contains(got.Rules, grantMissing)
	warns, warned := slices.Contains(want.Warnings, grantMissing), slices.Contains(got.Warnings, grantMissing)
	bySchema := got.Denied && len(got.Rules) == 0 && strings.Contains(got.Text, " is invalid: ")
	switch {
	case want.ByOthers() && want.Rules == nil && document.IsRoute(), bySchema && want.Warnings != nil, bySchema && denies:
		return ""
	case want.ByOthers() && !got.Denied:
		return "want that it is refused"
	case denies != denied:
		return fmt.Sprintf("want a refusal for grants: %t, got %t", denies, denied)
	case denies && !strings.Contains(got.Text, want.Message):
		return fmt.Sprintf("message: want %q in it", want.Message)
	case want.Warnings != nil && warns != warned:
		return fmt.Sprintf("want a warning about grants: %t, got %t", warns, warned)
	case !want.Deny && got.Denied:
		return "want that it is admitted"
	}
	return ""
}
