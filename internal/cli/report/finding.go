package report

import (
	"fmt"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// FindingOf returns what the engine found, without a line.
func FindingOf(f *validate.Finding) Finding {
	found := Finding{
		Rule: f.Rule, Action: f.Action, Effect: f.Effect, Downgraded: string(f.Downgraded),
		Field: f.Field, Value: f.Value, Problem: f.Problem, Remedy: f.Remedy, Message: f.Message(),
		Reference: f.Reference,
	}
	if f.Downgraded == validate.DowngradedByDormancy {
		found.Effect, found.Downgraded = EffectDormant, ""
	}
	if f.Effect == validate.Deny {
		found.Message = printable.Text(f.FieldError().ErrorBody())
	}
	return found
}

// UnknownOf returns a rule that cannot be evaluated, without an action and a line: an object
// is missing, such as "is not in the input", and the remedy.
func UnknownOf(f *validate.Finding, missing, remedy string) Finding {
	lacks := "namespace " + f.Reference.Namespace
	if f.Reference.Service != (mesh.ServiceKey{}) {
		lacks = f.Reference.Service.String()
	}
	if f.Rule == validate.RuleBackendNotPermitted {
		lacks = "a ReferenceGrant for " + lacks
	}
	problem := lacks + " " + missing
	return Finding{
		Rule: f.Rule, Effect: EffectUnknown, Unknown: true, Field: f.Field, Value: f.Value, Problem: problem, Remedy: remedy, Lacks: lacks,
		Message:   fmt.Sprintf("cannot be determined: %s; %s (%s)", problem, remedy, f.Rule),
		Reference: f.Reference,
	}
}

// ChangesOf returns what the mutations of the plan set, or what they would set but for the
// mode of the namespace, an exemption, or the controller of the route; without lines.
func ChangesOf(plan *mutate.Plan) (made, withheld []Change) {
	all := make([]Change, len(plan.Changes))
	for i := range plan.Changes {
		c := &plan.Changes[i]
		all[i] = Change{Mutation: c.ID, Withheld: plan.Withheld(), Field: c.Path, Value: c.After, Message: plan.Message(c)}
		switch {
		case plan.Withheld() == mutate.NotWithheld:
		case plan.Warns():
			all[i].Effect = validate.Warn
		default:
			all[i].Effect = validate.Audit
		}
	}
	if plan.Withheld() != mutate.NotWithheld {
		return []Change{}, all
	}
	return all, nil
}
