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

// Rule is one check: what it looks for, its texts, and what it leads to by default.
//
// A rule keeps nothing between runs, and one rule may run in several goroutines. It sees the
// route, the policy, and the cluster through a Pass, or a Parent, and reports Findings to it.
// What a rule reads is noted: a denial is answered only when live reads have confirmed all of
// it. A read that fails ends the judgment, so that a rule has no error to handle. What cannot
// be known, it passes to Pass.Unknown.
//
// Rules run in three stages: first that about GrantMissing, then that about ConsumerRefused,
// then all others. After a denial in one of the first two, only rules with a Route run, which
// read nothing: who lacks a grant learns nothing about the cluster.
type Rule struct {
	// ID is stable, carries no severity, and is never reused.
	ID string
	// Title describes in one line when the rule fires. Like the other texts, it is printed by
	// `gammaguard explain` and in docs/rules.
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
	// HasWarnings: some findings have a milder Default than the rule, so that the annotation can
	// silence them.
	HasWarnings bool
	// OfMesh: the rule is about what one mesh does, and does not run without a profile.
	OfMesh bool
	// Kinds are the route kinds that the rule is about; empty for all.
	Kinds []mesh.RouteKind

	// OfTraffic: its findings say what requests meet once the route is stored. As warnings, they are
	// left out of a denial, where nothing is stored.
	OfTraffic bool
	// OfServices: the rule is about changes of Services (ServiceChange), and never runs on a route. It
	// has none of the following.
	OfServices bool

	// A rule has Route, which may not read through the Pass, or one or several of the other
	// four, which may. They are called in this order.

	// Route is called once, also after a denial for lack of a grant.
	Route func(*Pass)
	// Fault is the fault of a mesh parent that the rule reports, in the words of Describe.
	// Each fault has one rule.
	Fault Fault
	// Parent is called for each mesh parent, with its Service and ports, if it has
	// any.
	Parent func(*Pass, *Parent)
	// Other is called for each parent of another implementation, by its index in
	// spec.parentRefs.
	Other func(p *Pass, index int)
	// Backend is called for each backendRef to a Service or ServiceImport of a route
	// with a mesh parent.
	Backend func(*Pass, *BackendService)

	// Describe describes a parentRef of which the engine knows what is wrong: the finding's
	// field, value, problem, remedy, type and reference. Rules with a Fault have it, for
	// admission and status, and RuleParentGroupInvalid and RuleMeshUnsupported, for bindings.
	Describe func(*Policy, *Parent) Finding
}

// Run runs the rule alone, without an engine, as a test of it does: its findings have no action
// yet, and no finding of another rule hides them. Other routes that lack a grant, or are
// refused, hold no ports.
func (r *Rule) Run(policy *Policy, route *mesh.Route, world mesh.Reader) (found, unknown []Finding, err error) {
	alone := &Engine{policy: policy, marking: allFaults}
	alone.byFault[GrantMissing].action = Deny
	pass := alone.newPass(route, world)
	pass.run(activeRule{r, Deny, true})
	return pass.findings, pass.unknown, pass.err
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

// DeniesEdits reports whether a finding of the rule denies each edit of a route, though the stored one has it too: by then, its namespace lost
// the grant, or the Service refuses it.
func DeniesEdits(id string) bool { return id == RuleGrantMissing || id == RuleConsumerRefused }

// lastStage is that of the rules that neither grant nor refuse.
const lastStage = 2
