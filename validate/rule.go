package validate

import (
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// Action is what a finding leads to.
type Action string

const (
	// Deny refuses the request.
	Deny Action = "deny"
	// Warn admits it with a warning.
	Warn Action = "warn"
	// Audit admits it without a warning; metrics and the audit log record the finding.
	Audit Action = "audit"
	// Off: the rule does not run, or the finding leads to nothing.
	Off Action = "off"
)

// Actions returns every action, the strictest first.
func Actions() []Action { return []Action{Deny, Warn, Audit, Off} }

// compare is negative where a is stricter than b.
func (a Action) compare(b Action) int {
	return slices.Index(Actions(), a) - slices.Index(Actions(), b)
}

// Rule is one check. Its texts are written for the catalogue, which is also the
// documentation: `gammaguard explain` and docs/rules print them.
type Rule struct {
	// ID is stable, carries no severity, and is never reused.
	ID string
	// Title describes in one line when the rule fires.
	Title string
	// Rationale explains why that is worth a finding.
	Rationale string
	// Remedy describes how to fix it, in more detail than a finding.
	Remedy string
	// Citation names the document and section that require it.
	Citation string
	// Default is the rule's action where the configuration sets none.
	Default Action
	// KindDefaults are the defaults for routes of some kinds, where they differ.
	KindDefaults map[mesh.RouteKind]Action
	// DryRun is the mildest a denial becomes on a dry run; empty for no change.
	DryRun Action
	// Milder: some findings have a milder Default than the rule, so that the annotation can
	// silence them.
	Milder bool
	// Kinds are the route kinds that the rule is about; empty for all.
	Kinds []mesh.RouteKind

	// What the rule does is one or several of the following. Only Route may not read
	// through the Pass.

	// Fault is the fault of a mesh parent that the rule reports, described by
	// Describe: the finding's field, value, problem, remedy, type and reference.
	Fault    Fault
	Describe func(*Policy, *Parent) Finding
	// Parent is called for each mesh parent, with its Service and ports, if it has
	// any.
	Parent func(*Pass, *Parent)
	// Backend is called for each backendRef to a Service or ServiceImport of a route
	// with a mesh parent.
	Backend func(*Pass, *BackendService)
	// Other is called for each parent of another implementation, by its index in
	// spec.parentRefs.
	Other func(p *Pass, index int)
	// Route is called once.
	Route func(*Pass)
}

// stage orders rules: first the grants, then refusals by the Service's side, then all
// others. After a denial, rules of later stages that read parents or backends do not
// run, so that a user without a grant learns nothing about the cluster.
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
