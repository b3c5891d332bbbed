package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/validate"
)

// NewCore returns the driver core alone, which needs no control plane.
func NewCore(ctx context.Context) (Driver, error) {
	crds, err := loadDefinitions(ctx)
	return newCore(crds), err
}

// newCore returns the driver that asks the core: mutations and the engine, as Go
// values.
func newCore(crds *definitions.Set) Driver {
	return &memory{"core", crds, func(scenario *Scenario, engine *validate.Engine, set *manifest.Set) (admit, error) {
		return func(_ context.Context, c *change) (*Outcome, error) {
			return judgeByCore(c, scenario.Config, engine, set)
		}, nil
	}}
}

func judgeByCore(c *change, config *config.GuardConfiguration, engine *validate.Engine, set *manifest.Set) (*Outcome, error) {
	text, err := c.object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	route, err := mesh.DecodeRoute(text)
	if err != nil {
		return nil, err
	}
	var changes []mutate.Change
	if c.old == nil || !sameSpec(c.object, c.old) {
		changes = mutate.Changes(route, set, mutate.Options{
			Off:     config.DisabledMutations(),
			MayRead: mutate.Granted(route, &engine.Policy().Grants, set),
		})
	}
	if text, err = mutate.Apply(text, changes); err != nil {
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
	verdict, err := engine.Judge(request, set)
	if err != nil {
		return nil, err
	}
	return outcomeOf(changes, &verdict), nil
}

// UserOf returns the user with the groups that the API server gives to it.
func UserOf(name string) validate.User {
	if name == "" {
		return validate.User{Name: administrator, Groups: []string{"system:masters", "system:authenticated"}}
	}
	user := validate.User{Name: name}
	if account, ok := strings.CutPrefix(name, "system:serviceaccount:"); ok {
		if namespace, _, ok := strings.Cut(account, ":"); ok {
			user.Groups = append(user.Groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
		}
	}
	user.Groups = append(user.Groups, "system:authenticated")
	return user
}

// outcomeOf returns the outcome as the user would read it.
func outcomeOf(changes []mutate.Change, verdict *validate.Verdict) *Outcome {
	var lines []string
	for i := range changes {
		lines = append(lines, "Warning: "+changes[i].Warning())
	}
	for i := range verdict.Findings {
		switch finding := &verdict.Findings[i]; finding.Effect {
		case validate.Deny:
			lines = append(lines, finding.FieldError().Error())
		case validate.Warn:
			lines = append(lines, "Warning: "+finding.Warning())
		}
	}
	for _, name := range verdict.UnknownIgnores {
		lines = append(lines, "Warning: "+validate.UnknownIgnore(name))
	}
	outcome := read(lines...)
	outcome.Denied = verdict.Denied()
	return outcome
}

func sortedOnce(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
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
