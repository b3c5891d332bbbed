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

// Inputs says what of the world a rule reads beside the route itself.
type Inputs uint8

// The inputs that a rule may declare.
const (
	ReadsNamespaces Inputs = 1 << iota
	ReadsServices
	ReadsEndpoints
	ReadsReferenceGrants
	ReadsRoutes
)

// Stage orders rules: a stage whose finding denies ends the judgement for all
// rules of later stages that read anything, so that who has no grant learns
// nothing of the cluster.
type Stage uint8

const (
	// GrantStage: is the route's namespace granted what the route does?
	GrantStage Stage = iota
	// HandshakeStage: does the Service's side accept the route?
	HandshakeStage
	// RouteStage: everything else.
	RouteStage
)

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
	// Stage is when the rule runs.
	Stage Stage
	// Kinds are the route kinds that the rule is about; empty for all.
	Kinds []mesh.RouteKind
	// Reads declares what the rule looks at; a test holds it to that.
	Reads Inputs
	// Check reports the rule's findings on the pass.
	Check func(*Pass)
}
