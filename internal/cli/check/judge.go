package check

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// judge judges the routes of an input.
type judge struct {
	*loaded
	// view is what status says, and tables are what becomes of routes.
	view   *desired.View
	tables *validate.Tables
	// before is what there was without the input.
	before mesh.Reader
	// ungranted are the namespaces whose grants were said to be unknown.
	ungranted map[string]bool
	// needed are the roles that routes need, by namespace and kind: routes are let go once they are judged.
	needed map[string]map[mesh.RouteKind][]mesh.Role
}

func newJudge(l *loaded) *judge {
	return &judge{
		loaded: l, view: desired.NewView(l.engine, l.sees, desired.Settings(l.options.Config.Status)), tables: l.engine.Tables(l.sees), before: l.world.before(),
		ungranted: map[string]bool{}, needed: l.needed(),
	}
}

// judge judges one route, and finds the places of what kustomize or Helm has set.
func (j *judge) judge(r *route) (*report.Route, error) {
	judged, err := j.judged(r)
	if err != nil || !r.file.Built() {
		return judged, err
	}
	place := func(field string, file *string, line *int) {
		if at := r.Place(r.file, field); at.File != r.file.Name {
			*file, *line = at.File, at.Line
		}
	}
	for i := range judged.Findings {
		place(judged.Findings[i].Field, &judged.Findings[i].File, &judged.Findings[i].Line)
	}
	for _, change := range each(judged.Changes, judged.Withheld) {
		if change.Edit == nil { // else it is where the edit is, in the file of the route
			place(change.Field, &change.File, &change.Line)
		}
	}
	return judged, nil
}

// judged judges the route: what the API server says of it by its definition, and what the
// webhook would. All places are in the file of the route.
func (j *judge) judged(r *route) (*report.Route, error) {
	judged := &report.Route{
		RouteName: report.RouteName{Kind: mesh.RouteKind(r.Key.Kind), Namespace: r.Key.Namespace, Name: r.Key.Name},
		Place:     report.Place{File: r.file.Name, Line: r.Line("")},
		Verdict:   report.Admit,
		Findings:  []report.Finding{},
	}
	judged.Changes, judged.Withheld = changesOf(r)
	for i := range r.refusals {
		judged.Findings = append(judged.Findings, j.refusal(r, &r.refusals[i]))
	}
	if r.mutated == nil { // it cannot be decoded
		judged.Verdict, judged.Status.Parents = report.Deny, []report.ParentStatus{}
		return judged, nil
	}
	judge := j.tables.Judge
	if j.world.rejected[r.Key] || j.world.files.Get(r.Key).Route != r.mutated { // another one of its name is in its place, or none
		judge = func(req *validate.Request) (validate.Verdict, error) { return j.engine.Judge(req, j.sees) }
	}
	request := j.request(r)
	verdict, err := judge(request)
	if err == nil {
		err = j.creation.Relate(&verdict, request, &r.plan, j.sees)
	}
	if err != nil {
		return nil, err
	}
	if len(verdict.Unknown)+len(r.refusals) > 0 {
		judged.Verdict = report.Unknown
		if j.options.Strict {
			judged.Verdict = report.Deny
		}
	}
	if verdict.Denied() || r.refused() {
		judged.Verdict = report.Deny
	}
	if r.refused() {
		verdict.Findings = slices.DeleteFunc(verdict.Findings, func(f validate.Finding) bool { return ofNoName(f) || r.misread(&f) })
		verdict.Unknown = slices.DeleteFunc(verdict.Unknown, ofNoName)
	}
	names, err := j.ofNames(r)
	if err != nil {
		return nil, err
	}
	for i := range verdict.Findings {
		j.together(&verdict.Findings[i])
		j.alsoInFiles(&verdict.Findings[i])
		if found := findingOf(r, &verdict.Findings[i]); !tells(names, &found, found.Effect) {
			judged.Findings = append(judged.Findings, found)
		}
	}
	for i := range verdict.Unknown {
		if !j.firstMention(&verdict.Unknown[i]) {
			continue
		}
		effect := validate.Warn
		if j.options.Strict {
			effect = validate.Deny
		}
		if unknown := j.unknown(r, &verdict.Unknown[i]); !tells(names, &unknown, effect) {
			judged.Findings = append(judged.Findings, unknown)
		}
	}
	for i := range verdict.UnknownIgnores {
		judged.Findings = append(judged.Findings, findingOf(r, &verdict.UnknownIgnores[i]))
	}
	judged.Findings = append(judged.Findings, names...)
	judged.Status, err = j.status(r)
	return judged, err
}

// ofNoName reports whether the finding is on a reference without a name, of which the API server says more.
func ofNoName(f validate.Finding) bool {
	return f.Reference.Service.Kind != "" && f.Reference.Service.Name == ""
}

// misread reports whether the finding compares matches that were not read as they are meant: a part of one is refused, or those of a rule are misspelled,
// so that it has others.
func (r *route) misread(f *validate.Finding) bool {
	return slices.ContainsFunc(r.refusals, func(refused refusal) bool {
		return strings.Contains(f.Field, ".matches[") && strings.HasPrefix(refused.Field, f.Field+".") || f.Rule == validate.RuleMatchUnreachable && refused.Meant == "matches"
	})
}

func (j *judge) request(r *route) *validate.Request {
	req := &validate.Request{Route: r.mutated, DryRun: j.options.DryRun, User: j.options.User}
	if r.old != nil {
		req.Object, req.Old, req.Before = r.stored, r.old.JSON, j.before
	}
	return req
}

// changesOf returns what the mutations set in the route, and what they would set.
func changesOf(r *route) (made, withheld []report.Change) {
	made, withheld = report.ChangesOf(&r.plan)
	for i, change := range each(made, withheld) {
		change.Line = r.Line(change.Field)
		if i < len(r.proposals) && r.proposals[i].edit != nil {
			change.Line, change.Edit = r.proposals[i].Line, r.proposals[i].edit
		}
	}
	return made, withheld
}

// each yields the changes of both lists, of which one is empty.
func each(made, withheld []report.Change) iter.Seq2[int, *report.Change] {
	return func(yield func(int, *report.Change) bool) {
		for _, list := range [][]report.Change{made, withheld} {
			for i := range list {
				if !yield(i, &list[i]) {
					return
				}
			}
		}
	}
}

// alsoInFiles adds to the remedy of a label or an annotation that is missing where the object is in files, whatever the cluster has. With a cluster,
// what the files do not set is as it has it.
func (j *judge) alsoInFiles(f *validate.Finding) {
	key := manifest.Key{Group: f.Labels.Group, Kind: f.Labels.Kind, Namespace: f.Labels.Namespace, Name: f.Labels.Name}
	at, object := j.declared[key], j.world.files.Get(key)
	if context := j.world.context.get(key); object == nil && context != nil && j.options.Cluster == nil {
		at, object = report.Place{File: context.Origin.File, Line: context.Line("")}, context
	}
	if object != nil && at.File != "" && (j.options.Cluster == nil || mesh.MayHaveKeys(object.JSON)) {
		f.Remedy += fmt.Sprintf("; %s:%d needs the same change", at.File, at.Line)
	}
}

func findingOf(r *route, f *validate.Finding) report.Finding {
	r.unweighted(f)
	found := report.FindingOf(f)
	found.Line = r.Line(f.Field)
	return found
}

// firstMention reports whether the unknown is to be reported: that a namespace's grants
// are not known is told once.
func (j *judge) firstMention(f *validate.Finding) bool {
	if f.Rule != validate.RuleGrantMissing {
		return true
	}
	told := j.ungranted[f.Reference.Namespace]
	j.ungranted[f.Reference.Namespace] = true
	return !told
}

// namesNoNamespace reports whether the route is in the default namespace since its manifest names none.
func (r *route) namesNoNamespace() bool {
	_, _, read := r.Field("metadata.name")
	_, _, named := r.Field("metadata.namespace")
	return read && !named
}

// unknown reports a rule that cannot be evaluated.
func (j *judge) unknown(r *route, f *validate.Finding) report.Finding {
	missing, remedy := "is not in the input", report.UnknownRemedy
	switch {
	case j.options.Alone:
		remedy = report.UnknownAlone
	case j.options.Cluster != nil:
		missing, remedy = "is not in the input, and you cannot read it in the cluster", "add it to the input, or request permission to read it"
	}
	switch {
	case hasVariable(f.Reference.Service.String() + f.Reference.Namespace):
		remedy = substitute
	case j.options.Cluster == nil && j.options.Namespace == "" && !j.options.Unflagged && r.namesNoNamespace():
		remedy = "the route names no namespace, so set it with -n, or " + remedy
	}
	finding := report.UnknownOf(f, missing, remedy)
	finding.Action, finding.Line = cmp.Or(j.engine.Action(f.Rule), validate.Deny), r.Line(f.Field) // the schema is no rule
	if j.options.Strict {
		finding.Effect = validate.Deny
	}
	return finding
}
