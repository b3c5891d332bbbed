package validate

import "github.com/gammaguard/gammaguard/mesh"

// Action is what a finding leads to.
type Action string

const (
	// Deny refuses the request.
	Deny Action = "deny"
	// Warn admits it with a warning.
	Warn Action = "warn"
	// Audit admits it in silence; metrics and the audit log keep the finding.
	Audit Action = "audit"
	// Off: the rule does not run, or the finding leads to nothing.
	Off Action = "off"
)

// Actions returns every action, the strictest first.
func Actions() []Action { return []Action{Deny, Warn, Audit, Off} }

// Rule is one check. Its texts are written for the catalogue, which is also the
// documentation: `gammaguard explain` and docs/rules print them.
type Rule struct {
	// ID is stable, carries no severity, and is never reused.
	ID string
	// Title says in one line when the rule fires.
	Title string
	// Rationale says why that is worth a finding.
	Rationale string
	// Remedy says how to mend it, at greater length than a finding can.
	Remedy string
	// Citation names the document and section that demand it.
	Citation string
	// Default is the rule's action where the configuration sets none.
	Default Action
	// DryRun is the mildest a denial becomes on a dry run; empty for no change.
	DryRun Action
	// Kinds are the route kinds that the rule is about; empty for all.
	Kinds []mesh.RouteKind

	// What the rule does is one or several of the following. Only Route may not read
	// the world.

	// Fault is the fault of a mesh parent that the rule reports, in the words of
	// Describe: the finding's field, value, problem, remedy, type and reference.
	Fault    Fault
	Describe func(*Policy, *Parent) Finding
	// Parent is called for each mesh parent, with its Service and ports, if it has
	// any.
	Parent func(*Pass, *Parent)
	// Backend is called for each backendRef to a Service or ServiceImport of a route
	// with a mesh parent.
	Backend func(*Pass, *BackendService)
	// Route is called once.
	Route func(*Pass)
}

// stage orders rules: first who may attach, then what the Service's side says, then
// all else. A denial ends the judgement for all rules of later stages that look at
// parents or backends, so that who has no grant learns nothing of the cluster.
func (r *Rule) stage() int {
	switch r.Fault {
	case GrantMissing:
		return 0
	case ConsumerRefused:
		return 1
	}
	return lastStage
}

// lastStage is that of the rules that neither grant nor refuse.
const lastStage = 2
