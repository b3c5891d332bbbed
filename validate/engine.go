package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Engine judges routes by the catalogue under one policy. It is immutable and safe
// for concurrent use.
type Engine struct {
	policy *Policy
	// rules are those that are not off, by stage and then by ID.
	rules []activeRule
}

type activeRule struct {
	*Rule
	action Action
}

// New returns an engine for the policy. It fails where the policy names a rule or
// an action that does not exist.
func New(policy *Policy) (*Engine, error) {
	engine := &Engine{policy: policy}
	catalogue := Catalogue()
	for id, action := range policy.Actions {
		if !slices.ContainsFunc(catalogue, func(r *Rule) bool { return r.ID == id }) {
			return nil, fmt.Errorf("unknown rule %q", id)
		}
		if !slices.Contains(Actions(), action) {
			return nil, fmt.Errorf("rule %s: unknown action %q", id, action)
		}
	}
	for _, rule := range catalogue {
		if action := cmp.Or(policy.Actions[rule.ID], rule.Default); action != Off {
			engine.rules = append(engine.rules, activeRule{rule, action})
		}
	}
	slices.SortStableFunc(engine.rules, func(a, b activeRule) int { return cmp.Compare(a.Stage, b.Stage) })
	return engine, nil
}

// Policy returns the policy that the engine judges by. It is not to be changed.
func (e *Engine) Policy() *Policy { return e.policy }

// Verdict is the outcome of judging one route.
type Verdict struct {
	// Findings are all findings, sorted by field path, with their effects.
	Findings []Finding
	// Unknown are findings that could not be decided because the world does not
	// know enough.
	Unknown []Finding
	// UnknownIgnores are the names in the route's ignore annotation that silence
	// nothing: they are no rules, or rules that deny.
	UnknownIgnores []string

	// namespace is the route's, whose labels bear on every denial.
	namespace string
}

// Denied says whether any finding denies the request.
func (v *Verdict) Denied() bool {
	return slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.Effect == Deny })
}

// With returns the findings of the given effect.
func (v *Verdict) With(effect Action) []Finding {
	var found []Finding
	for _, f := range v.Findings {
		if f.Effect == effect {
			found = append(found, f)
		}
	}
	return found
}

// Grounds returns what the verdict's denials rest on, those included that a mode,
// an exemption or a dry run lowers: the objects to be read again before the
// verdict is acted on. Each names either a Service or a namespace.
func (v *Verdict) Grounds() []Reference {
	var grounds []Reference
	add := func(ground Reference) {
		if ground != (Reference{}) && !slices.Contains(grounds, ground) {
			grounds = append(grounds, ground)
		}
	}
	for _, f := range v.Findings {
		if f.Action != Deny || f.Lowered == LoweredByUpdate {
			continue
		}
		add(Reference{Namespace: v.namespace})
		add(Reference{Namespace: f.Reference.Namespace})
		add(Reference{Service: f.Reference.Service})
	}
	return grounds
}

// Judge runs the rules over the request's route. Routes without a parentRef that
// concerns a mesh, and routes that are being deleted, have no findings. The error
// is not nil if the world could not be asked; no verdict may then be drawn.
func (e *Engine) Judge(req *Request, world mesh.World) (Verdict, error) {
	if req.Route.Deleting() || !e.concerns(req.Route) {
		return Verdict{}, nil
	}
	j := &judgement{engine: e, req: req, pass: e.newPass(req.Route, world)}
	if err := j.run(); err != nil {
		return Verdict{}, err
	}
	sortFindings(j.pass.findings)
	verdict := Verdict{Findings: j.pass.findings, Unknown: j.pass.unknown, namespace: req.Route.Metadata.Namespace}
	if req.Route.Metadata.Annotations.Ignore != "" {
		verdict.UnknownIgnores = e.unknownIgnores(req.Route)
	}
	return verdict, nil
}

// concerns says whether any parentRef is one that the rules are about.
func (e *Engine) concerns(route *mesh.Route) bool {
	for i := range route.Spec.ParentRefs {
		switch route.Spec.ParentRefs[i].Class() {
		case mesh.MeshParent, mesh.MisgroupedParent:
			return true
		case mesh.ForeignParent:
			if len(e.policy.AllowedParentKinds) > 0 {
				return true
			}
		}
	}
	return false
}

func (e *Engine) newPass(route *mesh.Route, world mesh.World) *Pass {
	return &Pass{Route: route, Policy: e.policy, world: world}
}

// unknownIgnores returns the names in the ignore annotation that silence nothing.
func (e *Engine) unknownIgnores(route *mesh.Route) []string {
	var unknown []string
	for id := range ignored(route) {
		rule := Find(id)
		if rule == nil || cmp.Or(e.policy.Actions[id], rule.Default) == Deny {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// UnknownIgnore is the warning about a name among the UnknownIgnores.
func UnknownIgnore(name string) string {
	return fmt.Sprintf("metadata.annotations[%s]: %q is no rule that can be ignored", mesh.IgnoreAnnotation, name)
}

// ignored returns the rule IDs in the route's ignore annotation.
func ignored(route *mesh.Route) map[string]bool {
	ids := map[string]bool{}
	for id := range strings.SplitSeq(route.Metadata.Annotations.Ignore, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids[id] = true
		}
	}
	return ids
}
