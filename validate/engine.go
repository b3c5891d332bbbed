package validate

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Engine judges routes by a catalog of rules, under one policy. It is immutable and safe
// for concurrent use.
type Engine struct {
	policy *Policy
	// rules are those that are not off, by stage and then by ID.
	rules []activeRule
	// byID are all rules, and byFault those that report faults of parents, those that are off too.
	byID    map[string]activeRule
	byFault [faults]activeRule
	// marking are the faults whose rules deny or warn.
	marking Faults
}

type activeRule struct {
	*Rule
	action Action
	// set reports whether the configuration sets the action.
	set bool
}

// actionOf returns the action of a finding of the rule.
func (r activeRule) actionOf(f *Finding) Action {
	if r.set || f.Default == "" {
		return r.action
	}
	return f.Default
}

// of returns the rule as it acts on routes of the kind.
func (r activeRule) of(kind mesh.RouteKind) activeRule {
	if action, differs := r.KindDefaults[kind]; differs && !r.set {
		r.action = action
	}
	return r
}

// describe returns the rule's finding on a parentRef of which it is known that something
// keeps it from taking effect.
func (r activeRule) describe(policy *Policy, parent *Parent) Finding {
	f := r.Describe(policy, parent)
	f.Rule = r.ID
	f.quote()
	return f
}

// New returns an engine that judges by the rules of the catalog under the policy. It fails
// where the policy names a rule or an action that does not exist, and where the catalog has
// two rules for one thing, or none for one that the engine needs.
func New(catalog []*Rule, policy *Policy) (*Engine, error) {
	engine := &Engine{policy: policy, byID: make(map[string]activeRule, len(catalog))}
	for _, rule := range catalog {
		if err := engine.add(rule); err != nil {
			return nil, err
		}
	}
	for fault := GrantMissing; fault < faults; fault++ {
		if engine.byFault[fault].Rule == nil {
			return nil, fmt.Errorf("no rule is about fault %d", fault)
		}
	}
	for _, id := range []string{RuleParentGroupInvalid, RuleMeshUnsupported} {
		if rule := engine.byID[id].Rule; rule == nil || rule.Describe == nil {
			return nil, fmt.Errorf("no rule %s describes parentRefs", id)
		}
	}
	for id, action := range policy.Actions {
		if engine.byID[id].Rule == nil {
			return nil, fmt.Errorf("unknown rule %q", id)
		}
		if !slices.Contains(Actions(), action) {
			return nil, fmt.Errorf("rule %s: unknown action %q", id, action)
		}
	}
	slices.SortFunc(engine.rules, func(a, b activeRule) int {
		return cmp.Or(cmp.Compare(a.stage(), b.stage()), strings.Compare(a.ID, b.ID))
	})
	return engine, nil
}

// add adds a rule of the catalog.
func (e *Engine) add(rule *Rule) error {
	active := activeRule{rule, cmp.Or(e.policy.Actions[rule.ID], rule.Default), e.policy.Actions[rule.ID] != ""}
	if e.byID[rule.ID].Rule != nil {
		return fmt.Errorf("two rules are %s", rule.ID)
	}
	if rule.Route != nil && (rule.Fault != NoFault || rule.Parent != nil || rule.Backend != nil || rule.Other != nil) {
		return fmt.Errorf("rule %s: Route runs without a grant, and so no other function of the rule may read", rule.ID)
	}
	e.byID[rule.ID] = active
	if active.action != Off && !rule.OfServices && (!rule.OfMesh || e.policy.Mesh != nil) {
		e.rules = append(e.rules, active)
	}
	if rule.Fault == NoFault {
		return nil
	}
	if other := e.byFault[rule.Fault].Rule; other != nil || rule.Describe == nil {
		return fmt.Errorf("rule %s: another one is about its fault, or it does not describe it", rule.ID)
	}
	e.byFault[rule.Fault] = active
	if active.action == Deny || active.action == Warn {
		e.marking |= Only(rule.Fault)
	}
	return nil
}

// Action returns the action of the rule with the ID by the configuration, or its default.
func (e *Engine) Action(id string) Action { return e.byID[id].action }

// Unenrolled returns why the mesh applies no routes of the scope on the Service, as RuleServiceNotEnrolled reports it, or nil,
// also where that rule is off. The error is a read that failed.
func (e *Engine) Unenrolled(reader mesh.Reader, key mesh.ServiceKey, scope mesh.Scope) (*mesh.Gap, error) {
	if e.policy.Mesh == nil || e.Action(RuleServiceNotEnrolled) == Off {
		return nil, nil
	}
	service, err := mesh.Known(mesh.FindService(reader, key))
	if err != nil {
		return nil, err
	}
	home, err := mesh.Known(mesh.FindNamespace(reader, key.Namespace))
	if err != nil || scope.Role() == mesh.Producer {
		return e.policy.Mesh.Unenrolled(service, home, nil), err
	}
	clients, err := mesh.Known(mesh.FindNamespace(reader, scope.ConsumerNamespace))
	if err != nil || clients == nil {
		return nil, err
	}
	return e.policy.Mesh.Unenrolled(service, home, clients), nil
}

// Policy returns the policy that the engine judges by. It is not to be changed.
func (e *Engine) Policy() *Policy { return e.policy }

// Verdict is the outcome of judging one route.
type Verdict struct {
	// Findings are all findings, sorted by field path, with their effects.
	Findings []Finding
	// Unknown are findings that could not be determined because the reader does not
	// know enough.
	Unknown []Finding
	// UnknownIgnores are warnings about the names in the route's ignore annotation that silence
	// nothing: they are not rules, or rules that deny.
	UnknownIgnores []Finding
}

// Denied reports whether any finding denies the request.
func (v *Verdict) Denied() bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Effect == Deny })
}

// Answered yields the findings that the author of the request reads: those that deny or warn. Where
// the request is denied, the warnings about what requests meet once the route is stored are left out.
func (v *Verdict) Answered() iter.Seq[*Finding] {
	return func(yield func(*Finding) bool) {
		denied := v.Denied()
		for i := range v.Findings {
			f := &v.Findings[i]
			if (f.Effect == Deny || f.Effect == Warn && (!denied || !f.ofTraffic)) && !yield(f) {
				return
			}
		}
	}
}

// Add adds findings, in their places.
func (v *Verdict) Add(findings ...Finding) {
	if len(findings) > 0 {
		v.Findings = append(v.Findings, findings...)
		sortFindings(v.Findings)
	}
}

// says reports whether there is anything to answer but that the request is admitted.
func (v *Verdict) says() bool { return len(v.Findings)+len(v.Unknown)+len(v.UnknownIgnores) > 0 }

// Judge runs the rules over the request's route. Routes without a parentRef that
// concerns a mesh have no findings, and neither has an update that changes nothing that
// counts: the match conditions do not even send it. The error is not nil if a read
// failed; there is no verdict then.
func (e *Engine) Judge(req *Request, world mesh.Reader) (Verdict, error) {
	return e.judge(req, e.newPass(req.Route, world))
}

func (e *Engine) judge(req *Request, pass *Pass) (Verdict, error) {
	if !e.Concerns(req.Route) {
		return Verdict{}, nil
	}
	j := &judgment{engine: e, req: req, pass: pass}
	if err := j.run(); err != nil {
		return Verdict{}, err
	}
	sortFindings(j.pass.findings)
	verdict := Verdict{Findings: j.pass.findings, Unknown: j.pass.unknown}
	if req.Route.Metadata.Annotations.Ignore != "" && !req.Route.Kind.GrantOnly() {
		verdict.UnknownIgnores = e.unknownIgnores(req.Route, verdict.Findings)
	}
	// To read the old object costs: it is done only where there is something to say.
	if verdict.says() && req.Before == nil && j.unchanged() && j.sameIgnores() {
		return Verdict{}, nil
	}
	return verdict, nil
}

// NeedsGrant reports whether a route without its grant is denied, wherever the mode enforces:
// its author then learns of nothing that exists.
func (e *Engine) NeedsGrant() bool { return e.byFault[GrantMissing].action == Deny }

// Marked returns the faults of parentRefs that show in the status of routes in the
// namespace. Status follows the actions of the rules as admission does: off and audit
// mark nothing. A grant that is not enforced counts as held.
func (e *Engine) Marked(namespace *mesh.Namespace) Faults {
	if e.policy.ModeIn(namespace) == mesh.Audit {
		return 0
	}
	marked := e.marking
	if !e.enforces(namespace) || !e.NeedsGrant() {
		marked &^= Only(GrantMissing)
	}
	return marked
}

// enforces reports whether denials of routes in the namespace are: by its mode, and unless it is exempt.
func (e *Engine) enforces(namespace *mesh.Namespace) bool {
	exempt := namespace != nil && e.policy.Exemptions.CoverNamespace(namespace.Name)
	return e.policy.ModeIn(namespace) == mesh.Enforce && !exempt
}

// excluding returns the faults that keep routes of the namespace from owning ports.
// Where denials are not enforced, routes are admitted, and so applied.
func (e *Engine) excluding(namespace *mesh.Namespace) Faults {
	if !e.enforces(namespace) {
		return 0
	}
	return e.Marked(namespace) & (Only(GrantMissing) | Only(ConsumerRefused))
}

// Describe returns the finding that the fault of the parentRef is, as one that
// denies: the message is the same at admission and in status.
func (e *Engine) Describe(fault Fault, parent *Parent) Finding {
	f := e.byFault[fault].describe(e.policy, parent)
	f.Action, f.Effect = Deny, Deny
	return f
}

// Concerns reports whether any parentRef is one that the rules are about, or needs the grant where that is all that is
// checked. No other route is judged, or audited.
func (e *Engine) Concerns(route *mesh.Route) bool {
	return slices.ContainsFunc(route.Spec.ParentRefs, func(ref mesh.ParentRef) bool {
		if route.Kind.GrantOnly() {
			return e.policy.Grants.Covers(&ref)
		}
		return ref.Class(nil) != mesh.GatewayParent
	})
}

// unknownIgnores returns warnings about the names in the ignore annotation that silence nothing. A rule
// whose findings may warn is named where one of those found denies.
func (e *Engine) unknownIgnores(route *mesh.Route, found []Finding) []Finding {
	var unknown []Finding
	for _, id := range slices.Sorted(maps.Keys(ignored(route))) {
		rule := e.byID[id]
		denies := rule.Rule != nil && rule.action == Deny
		if denies && rule.HasWarnings {
			denies = slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == id && f.Action == Deny })
		}
		if rule.Rule != nil && !rule.OfServices && !denies {
			continue
		}
		f := Finding{
			Rule: IgnoreAnnotationID, Action: Warn, Effect: Warn, Field: "metadata.annotations[" + mesh.IgnoreAnnotation + "]",
			Value: route.Metadata.Annotations.Ignore, Reference: Reference{Detail: id},
			Problem: fmt.Sprintf("%.100q is not a rule", id), Remedy: "use the ID at the end of a warning",
		}
		switch near := mesh.Nearest(id, slices.Sorted(maps.Keys(e.byID))); {
		case rule.Rule != nil && rule.OfServices:
			f.Problem, f.Remedy = fmt.Sprintf("%q is about Services, so a route cannot ignore it", id), "remove it"
		case rule.Rule != nil:
			f.Problem, f.Remedy = fmt.Sprintf("%q denies, so a route cannot ignore it", id), "correct the route, and remove the ID"
		case len(strings.Fields(id)) > 1:
			f.Remedy = "separate IDs by commas"
		case near != "":
			f.Remedy = "did you mean " + near + "?"
		}
		f.quote()
		unknown = append(unknown, f)
	}
	return unknown
}

// maxIgnored is how many names in the ignore annotation are read: more than there are
// rules.
const maxIgnored = 100

// ignored returns the rule IDs in the route's ignore annotation.
func ignored(route *mesh.Route) map[string]bool {
	ids := map[string]bool{}
	for id := range strings.SplitSeq(route.Metadata.Annotations.Ignore, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids[id] = true
		}
		if len(ids) == maxIgnored {
			break
		}
	}
	return ids
}
