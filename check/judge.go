package check

import (
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// judge judges one route as the webhook would.
func (c *checker) judge(r *route) (*report.Route, error) {
	verdict, err := c.engine.Judge(c.request(r), c.world)
	if err != nil {
		return nil, err
	}
	judged := &report.Route{
		Kind: r.Route.Kind, Namespace: r.Key.Namespace, Name: r.Key.Name,
		Place:    report.Place{File: r.file.name, Line: r.line("")},
		Verdict:  report.Admit,
		Findings: []report.Finding{},
		Changes:  changesOf(r),
	}
	if len(verdict.Unknown) > 0 {
		judged.Verdict = report.Unknown
		if c.options.Strict {
			judged.Verdict = report.Deny
		}
	}
	if verdict.Denied() {
		judged.Verdict = report.Deny
	}
	for i := range verdict.Findings {
		judged.Findings = append(judged.Findings, findingOf(r, &verdict.Findings[i]))
	}
	for i := range verdict.Unknown {
		if c.firstMention(&verdict.Unknown[i]) {
			judged.Findings = append(judged.Findings, c.unknown(r, &verdict.Unknown[i]))
		}
	}
	if len(verdict.UnknownIgnores) > 0 {
		judged.Findings = append(judged.Findings, ignoresNothing(r, verdict.UnknownIgnores))
	}
	judged.Status, err = c.status(r)
	return judged, err
}

func (c *checker) request(r *route) *validate.Request {
	req := &validate.Request{Route: r.mutated, DryRun: c.options.DryRun, User: c.options.User}
	if r.old != nil {
		req.Old = func() (*mesh.Route, error) { return r.old.Route, nil }
		req.SpecUnchanged = func() bool {
			same, err := r.specUnchanged()
			return err == nil && same
		}
	}
	return req
}

func changesOf(r *route) []report.Change {
	changes := make([]report.Change, len(r.changes))
	for i := range r.changes {
		changes[i] = report.Change{
			Mutation: r.changes[i].ID, Field: r.changes[i].Path, Line: r.line(r.changes[i].Path),
			Value: r.changes[i].After, Message: r.changes[i].Warning(),
		}
	}
	return changes
}

func findingOf(r *route, f *validate.Finding) report.Finding {
	return report.Finding{
		Rule: f.Rule, Action: report.Effect(f.Action), Effect: report.Effect(f.Effect), Lowered: string(f.Lowered),
		Field: f.Field, Line: r.line(f.Field), Value: f.Value, Problem: f.Problem, Remedy: f.Remedy, Message: f.Message(),
	}
}

// firstMention says whether the unknown is to be told: that a namespace's grants
// are not known is told once.
func (c *checker) firstMention(f *validate.Finding) bool {
	if f.Rule != "grant-missing" {
		return true
	}
	told := c.ungranted[f.Reference.Namespace]
	c.ungranted[f.Reference.Namespace] = true
	return !told
}

// unknown tells of a rule that cannot be judged, by what it lacks.
func (c *checker) unknown(r *route, f *validate.Finding) report.Finding {
	lacks, remedy := "namespace "+f.Reference.Namespace, "add it to the files, or use --cluster"
	if f.Reference.Service != (mesh.ServiceKey{}) {
		lacks = f.Reference.Service.String()
	}
	if f.Rule == "backend-not-permitted" {
		lacks = "a ReferenceGrant for " + lacks
	}
	problem := lacks + " is in no file"
	if c.options.Cluster != nil {
		problem, remedy = lacks+" is in no file, and may not be read from the cluster", "add it to the files, or ask for the right to read it"
	}
	finding := report.Finding{
		Rule: f.Rule, Action: c.action(f.Rule), Effect: report.EffectUnknown, Unknown: true,
		Field: f.Field, Line: r.line(f.Field), Value: f.Value, Problem: problem, Remedy: remedy,
		Message: fmt.Sprintf("not known: %s; %s (%s)", problem, remedy, f.Rule),
	}
	if c.options.Strict {
		finding.Effect = report.EffectDeny
	}
	return finding
}

// action returns the rule's action by the configuration.
func (c *checker) action(id string) report.Effect {
	if action, set := c.engine.Policy().Actions[id]; set {
		return report.Effect(action)
	}
	return report.Effect(validate.Find(id).Default)
}

// ignoresNothing tells of names in the ignore annotation that silence nothing.
func ignoresNothing(r *route, names []string) report.Finding {
	field := "metadata.annotations[" + mesh.IgnoreAnnotation + "]"
	problem := strings.Join(names, ", ") + " silences nothing"
	remedy := "name rules that do not deny"
	return report.Finding{
		Rule: report.IgnoreAnnotation, Action: report.EffectWarn, Effect: report.EffectWarn,
		Field: field, Line: r.line(field), Value: r.Route.Metadata.Annotations.Ignore, Problem: problem, Remedy: remedy,
		Message: fmt.Sprintf("%s; %s (%s)", problem, remedy, report.IgnoreAnnotation),
	}
}
