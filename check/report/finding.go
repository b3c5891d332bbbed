package report

import (
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
	if f.Effect == validate.Deny {
		found.Message = f.FieldError().ErrorBody()
	}
	return found
}

// ChangeOf returns what a mutation sets, without a line.
func ChangeOf(c *mutate.Change) Change {
	return Change{Mutation: c.ID, Field: c.Path, Value: c.After, Message: c.Warning()}
}
