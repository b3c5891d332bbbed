package runner

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/validate"
)

// NewCore returns the driver that asks the core: mutations and the engine, as Go
// values. It needs no control plane.
func NewCore(ctx context.Context) (Driver, error) {
	crds, err := loadDefinitions(ctx)
	return &memory{"core", crds, func(scenario *Scenario, engine *validate.Engine, set *manifest.Set) (admit, error) {
		judge := &creation.Judge{Engine: engine, Off: scenario.Config.DisabledMutations()}
		return func(_ context.Context, c *change) (*Outcome, error) { return judgeByCore(c, judge, set) }, nil
	}}, err
}

func judgeByCore(c *change, judge *creation.Judge, set *manifest.Set) (*Outcome, error) {
	if c.object == nil {
		lines, err := previewByCore(c, nil, judge, set)
		return read(lines...), err
	}
	text, err := c.object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	route, err := mesh.DecodeRoute(text)
	if err != nil {
		return nil, err
	}
	var plan mutate.Plan
	if c.old == nil || !sameSpec(c.object, c.old) {
		if plan, err = judge.Plan(route, UserOf(c.User), judge.Changes(route, set), set); err != nil {
			return nil, err
		}
	}
	if text, err = mutate.Apply(text, plan.Made()); err != nil {
		return nil, err
	}
	if c.object, err = decodeObject(text); err != nil {
		return nil, err
	}
	request := &validate.Request{User: UserOf(c.User), DryRun: c.DryRun}
	if request.Route, err = mesh.DecodeRoute(text); err != nil {
		return nil, err
	}
	if c.old != nil {
		if request.Old, err = c.old.MarshalJSON(); err != nil {
			return nil, err
		}
		request.Object = text
	}
	verdict, err := judge.Judge(request, &plan, set)
	if err != nil {
		return nil, err
	}
	outcome := outcomeOf(&plan, &verdict)
	if c.old != nil && !verdict.Denied() {
		lines, err := previewByCore(c, request.Route, judge, set)
		if err != nil {
			return nil, err
		}
		outcome.AddPreviews(lines)
	}
	return outcome, nil
}

// previewByCore returns the warnings about parentRefs that are gone, or about the whole route.
func previewByCore(c *change, now *mesh.Route, judge *creation.Judge, set *manifest.Set) ([]string, error) {
	text, err := c.old.MarshalJSON()
	if err != nil {
		return nil, err
	}
	old, err := mesh.DecodeRoute(text)
	if err != nil {
		return nil, err
	}
	lines, err := judge.Engine.PreviewRoute(set, old, now)
	for i := range lines {
		lines[i] = "Warning: " + lines[i]
	}
	return lines, err
}

// UserOf returns the user with the groups that the API server gives to it.
func UserOf(name string) validate.User {
	if name == "" {
		return validate.User{Name: administrator, Groups: []string{"system:masters", "system:authenticated"}}
	}
	user := validate.User{Name: name}
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		user.Groups = serviceaccount.MakeGroupNames(namespace)
	}
	user.Groups = append(user.Groups, "system:authenticated")
	return user
}

// outcomeOf returns the outcome as the user would read it.
func outcomeOf(plan *mutate.Plan, verdict *validate.Verdict) *Outcome {
	var lines []string
	for i := range plan.Changes {
		if plan.Warns() {
			lines = append(lines, "Warning: "+plan.Message(&plan.Changes[i]))
		}
	}
	for finding := range verdict.Answered() {
		if finding.Effect == validate.Deny {
			lines = append(lines, finding.FieldError().Error())
		} else {
			lines = append(lines, "Warning: "+finding.Warning())
		}
	}
	for i := range verdict.UnknownIgnores {
		lines = append(lines, "Warning: "+verdict.UnknownIgnores[i].Warning())
	}
	outcome := read(lines...)
	outcome.Denied = verdict.Denied()
	return outcome
}

// bedOptions are those of the control plane that scenarios are played on. Both
// mcs-api's definitions and the standard channel of the Gateway API are installed.
var bedOptions = bed.Options{MultiCluster: true}

// loadDefinitions reads the definitions that the test bed installs. In memory they
// fill in defaults, as the API server does before admission: an omitted group of a
// parentRef, above all.
func loadDefinitions(ctx context.Context) (*definitions.Set, error) {
	crds, err := bed.CustomResourceDefinitions(ctx, bedOptions)
	if err != nil {
		return nil, err
	}
	set := definitions.New()
	for _, crd := range crds {
		if err := set.Put(crd); err != nil {
			return nil, err
		}
	}
	return set, nil
}
