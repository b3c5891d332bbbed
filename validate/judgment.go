package validate

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
)

// judgment is one run of the engine over one request.
type judgment struct {
	engine *Engine
	req    *Request
	pass   *Pass

	// The following are worked out when first needed.
	modeResolved bool
	mode         mesh.Mode
	exempt       bool
	ignored      map[string]bool
	old          *mesh.Route
	same         *bool
}

// unchanged reports whether the request is an update that changes nothing that a mesh reads.
func (j *judgment) unchanged() bool {
	if j.same == nil {
		same := len(j.req.Old) > 0 && mesh.Unchanged(j.req.Object, j.req.Old)
		j.same = &same
	}
	return *j.same
}

// sameIgnores reports whether an update leaves the ignore annotation as it is.
func (j *judgment) sameIgnores() bool {
	old, err := mesh.DecodeRoute(j.req.Old)
	return err == nil && old.Metadata.Annotations == j.req.Route.Metadata.Annotations
}

// run runs the rules stage by stage. A finding of the first two stages whose action is to
// deny prevents all rules that read from running, also where a mode or an exemption admits
// the route, and where the finding is dropped because the update changes nothing that counts.
func (j *judgment) run() error {
	blind := false
	stage := 0
	blindNext := false
	for _, rule := range j.engine.rules {
		if rule.stage() != stage {
			stage, blind = rule.stage(), blindNext
		}
		if stage == lastStage && j.req.Route.Kind.GrantOnly() {
			return nil
		}
		if blind && rule.Route == nil {
			continue
		}
		rule = rule.of(j.req.Route.Kind)
		before := len(j.pass.findings)
		j.pass.run(rule)
		if j.pass.err != nil {
			return j.pass.err
		}
		if len(j.pass.findings) == before {
			continue
		}
		closed, err := j.decide(rule, before)
		if err != nil {
			return err
		}
		blindNext = blindNext || closed
	}
	return nil
}

// decide sets the effects of the findings from index from on, which are all of
// one rule. It reports whether they close the judgment to rules that read.
func (j *judgment) decide(rule activeRule, from int) (closed bool, err error) {
	findings := j.pass.findings[from:]
	for i := range findings {
		action := rule.actionOf(&findings[i])
		findings[i].Action, findings[i].Effect = action, action
	}
	if rule.stage() != lastStage && j.req.Before == nil && j.unchanged() {
		j.pass.findings = j.pass.findings[:from]
		return rule.action == Deny, nil
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return a.Action.compare(b.Action) })
	denying, _ := slices.BinarySearchFunc(findings, Warn, func(f Finding, to Action) int { return f.Action.compare(to) })
	j.silence(findings[denying:])
	if findings = findings[:denying]; denying == 0 {
		return false, nil
	}
	if rule.DryRun != "" && j.req.DryRun {
		downgrade(findings, rule.DryRun, DowngradedByDryRun)
	}
	if rule.stage() == lastStage || j.unchanged() {
		if err := j.downgradeExisting(rule, findings); err != nil {
			return false, err
		}
	}
	if err := j.downgradeByNamespace(findings); err != nil {
		return false, err
	}
	if j.req.Stored {
		return rule.stage() != lastStage && slices.ContainsFunc(findings, func(f Finding) bool { return f.Effect == Deny }), nil
	}
	return rule.stage() != lastStage, nil
}

// downgradeByNamespace applies the namespace's mode and the exemptions.
func (j *judgment) downgradeByNamespace(findings []Finding) error {
	if !j.modeResolved {
		namespace := j.req.Route.Metadata.Namespace
		labels, err := mesh.Known(mesh.FindNamespace(j.pass.world, namespace)) // none that is known: the default mode
		if err != nil {
			return err
		}
		j.mode = j.engine.policy.ModeIn(labels)
		j.exempt = j.engine.policy.Exemptions.Cover(j.req.User, namespace)
		j.modeResolved = true
	}
	for i := range findings {
		if findings[i].Downgraded == DowngradedByUpdate {
			findings[i].reads = nil // the finding denies nothing
		} else {
			findings[i].reads = append(findings[i].reads, mesh.Read{Kind: mesh.ReadNamespace, Namespace: j.req.Route.Metadata.Namespace})
		}
	}
	switch j.mode {
	case mesh.Warn:
		downgrade(findings, Warn, DowngradedByMode)
	case mesh.Audit:
		downgrade(findings, Audit, DowngradedByMode)
	}
	if j.exempt {
		downgrade(findings, Audit, DowngradedByExemption)
	}
	return nil
}

// downgrade makes the findings at most as strict as the action.
func downgrade(findings []Finding, to Action, why DowngradeReason) {
	for i := range findings {
		if findings[i].Effect.compare(to) < 0 {
			findings[i].Effect, findings[i].Downgraded = to, why
		}
	}
}

// silence turns off the rules in the route's annotation. It is never called for
// findings that deny.
func (j *judgment) silence(findings []Finding) {
	if j.req.Route.Metadata.Annotations.Ignore == "" || len(findings) == 0 {
		return
	}
	if j.ignored == nil {
		j.ignored = ignored(j.req.Route)
	}
	if j.ignored[findings[0].Rule] {
		downgrade(findings, Off, DowngradedByAnnotation)
	}
}

// downgradeExisting lowers to warnings the findings that held for the old object too: an
// update is denied only for what it brings in.
func (j *judgment) downgradeExisting(rule activeRule, findings []Finding) error {
	if len(j.req.Old) == 0 {
		return nil
	}
	if j.old == nil {
		old, err := mesh.DecodeRoute(j.req.Old)
		if err != nil {
			return fmt.Errorf("oldObject: %w", err)
		}
		old.Metadata.Namespace = j.req.Route.Metadata.Namespace
		j.old = old
	}
	before := j.req.Before
	if before == nil {
		before = j.pass.world.recent.Reader
	}
	pass := j.engine.newPass(j.old, before)
	pass.run(rule)
	if pass.err != nil {
		return pass.err
	}
	existing := make(map[fault]bool, len(pass.findings))
	for i := range pass.findings {
		existing[pass.findings[i].fault()] = true
	}
	for i := range findings {
		if existing[findings[i].fault()] {
			downgrade(findings[i:i+1], Warn, DowngradedByUpdate)
		}
	}
	return nil
}
