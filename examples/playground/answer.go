package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/graph"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/traffic"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// question is what the page asks: what the request meets, or, where Changed is not empty, what that version of the
// manifests changes. An empty Mesh is the specification, and Headers are one a line.
type question struct {
	Manifests, Changed, Mesh, Target, From, Method, Path, Headers string
}

// answer is what the page shows: a trace or a difference, the lines of gammaguard check, and the page of gammaguard graph.
type answer struct {
	Text, Graph string
	Findings    []report.Item
}

// ask fills the answer, and returns why it is not complete.
func (a *answer) ask(q *question) error {
	engine, err := validate.New(rules.Catalog(), policy(q.Mesh))
	if err != nil {
		return err
	}
	before, err := read(engine, "manifests", q.Manifests)
	shown := before
	if err == nil && q.Changed != "" && len(before.report.Broken) == 0 {
		shown, err = read(engine, "changed", q.Changed)
	}
	if err != nil {
		return err
	}
	a.Findings = shown.report.Items()
	for i := range a.Findings {
		a.Findings[i].Object = printable.Text(a.Findings[i].Object)
	}
	switch {
	case len(shown.report.Broken) > 0:
		err = errors.New("the manifests cannot be read; fix the findings that are broken")
	case strings.TrimSpace(q.Manifests) == "":
		err = errors.New("there are no manifests; type or paste routes, Services, and namespaces")
	case q.Changed != "":
		a.Text, err = before.diff(shown)
	default:
		a.Text, err = before.trace(q)
	}
	assumed := validate.Only(validate.GrantMissing) | validate.Only(validate.ConsumerRefused)
	drawn, drawErr := graph.Draw(shown.set, shown.routes, engine.Policy(), graph.Selection{}, assumed, nil)
	if drawErr != nil || len(drawn.Rows) == 0 {
		return errors.Join(err, drawErr)
	}
	var page strings.Builder
	drawErr = drawn.HTML(&page, "Routes")
	a.Graph = page.String()
	return errors.Join(err, drawErr)
}

// policy returns the default policy for a mesh; package config would double the size of the page.
func policy(name string) *validate.Policy {
	p := &validate.Policy{Mesh: mesh.FindProfile(mesh.ProfileName(name)), RouteKinds: mesh.RouteKinds(), Actions: map[string]validate.Action{}}
	p.Mode, p.Grants = mesh.Enforce, mesh.GrantPolicy{Default: mesh.GrantNone, ConsumerRoutes: mesh.ConsumersAllowed, ParentKinds: mesh.ParentKindsOfMeshes()}
	if p.Mesh != nil {
		p.RouteKinds = p.Mesh.RouteKinds.Value
	}
	if p.Mesh != nil && p.Mesh.ReferenceGrants.Value {
		p.Actions[validate.RuleBackendNotPermitted] = validate.Warn
	}
	return p
}

// version is one version of the manifests.
type version struct {
	engine *validate.Engine
	set    *manifest.Set
	report *report.CheckReport
	table  *traffic.Table
	routes []*mesh.Route
}

// read reads manifests, and judges the routes as gammaguard check does, but for their CustomResourceDefinitions.
func read(engine *validate.Engine, name, text string) (*version, error) {
	v := &version{engine: engine, report: report.New(), set: manifest.NewSet(manifest.Options{Mesh: engine.Policy().Mesh})}
	objects, errs := manifest.Read(name, []byte(text), "default")
	for _, object := range objects {
		if first := v.set.Get(object.Key); first != nil {
			v.report.AddDuplicate(report.Duplicate{Place: place(object), Object: object.Key.String(), First: place(first)})
		}
		errs = append(errs, v.set.Put(object))
	}
	for _, err := range errs {
		if at, ok := errors.AsType[*manifest.Error](err); ok {
			v.report.AddBroken(report.Broken{Place: report.Place{File: at.File, Line: at.Line}, Message: at.Err.Error()})
		}
	}
	judge, plans := creation.Judge{Engine: engine}, map[manifest.Key]*mutate.Plan{}
	for _, object := range v.set.Routes() {
		if spec := &object.Route.Spec; object.Route.Kind == mesh.HTTPRoute && len(spec.Rules) == 0 {
			spec.Rules = make([]mesh.RouteRule, 1) // the default of its CustomResourceDefinition
		}
		plan, err := judge.Plan(object.Route, validate.User{}, judge.Changes(object.Route, v.set), v.set)
		plans[object.Key] = &plan
		mutated := *object
		mutated.Route = mutate.Mutated(object.Route, plan.Made())
		if err := errors.Join(err, v.set.Put(&mutated)); err != nil {
			return nil, err
		}
	}
	var attached traffic.Routes
	for _, object := range v.set.Routes() {
		if err := v.judge(object, plans[object.Key]); err != nil {
			return nil, err
		}
		v.routes = append(v.routes, object.Route)
		attached = append(attached, traffic.Route{AttachedRoute: object.Route.Attached(engine.Policy().Mesh), Spec: &object.Route.Spec})
	}
	v.table = traffic.New(v.set, attached, traffic.Options{Engine: engine})
	return v, nil
}

func place(o *manifest.Object) report.Place {
	return report.Place{File: o.Origin.File, Line: o.Line("")}
}

// judge judges a mutated route, and reports it.
func (v *version) judge(object *manifest.Object, plan *mutate.Plan) error {
	judge := creation.Judge{Engine: v.engine}
	verdict, err := judge.Judge(&validate.Request{Route: object.Route}, plan, v.set)
	judged := &report.Route{RouteName: report.RouteName{Kind: object.Route.Kind, Namespace: object.Key.Namespace, Name: object.Key.Name}, Place: place(object)}
	judged.Changes, judged.Withheld = report.ChangesOf(plan)
	for _, changes := range [][]report.Change{judged.Changes, judged.Withheld} {
		for i := range changes {
			changes[i].Line = object.Line(changes[i].Field)
		}
	}
	for _, f := range append(verdict.Findings, verdict.UnknownIgnores...) {
		judged.Findings = append(judged.Findings, report.FindingOf(&f))
	}
	for i := range verdict.Unknown {
		judged.Findings = append(judged.Findings, report.UnknownOf(&verdict.Unknown[i], "is not in the manifests", "add it"))
	}
	for i := range judged.Findings {
		judged.Findings[i].Line = object.Line(judged.Findings[i].Field)
	}
	v.report.AddRoute(judged)
	return err
}

// trace says what the request meets.
func (v *version) trace(q *question) (string, error) {
	request := traffic.Request{From: q.From, Method: q.Method}
	err := request.SetTarget(q.Target, "")
	if q.Path != "" { // else that of a URL
		err = errors.Join(err, request.SetPath(q.Path))
	}
	for header := range strings.Lines(q.Headers) {
		if strings.TrimSpace(header) != "" {
			err = errors.Join(err, request.AddHeader(header))
		}
	}
	if err != nil {
		return "", err
	}
	key := &request.Service
	if named := v.set.ServicesNamed(key.Kind, key.Name); key.Namespace == "" && len(named) == 1 {
		*key = named[0]
	}
	if _, err := mesh.FindService(v.set, *key); errors.Is(err, mesh.ErrUnknown) {
		return "", fmt.Errorf("%s is not in the manifests; add it, or name another, such as service/cart.shop:80", key)
	}
	request.From = cmp.Or(request.From, key.Namespace)
	trace, err := v.table.Trace(request)
	if err != nil {
		return "", err
	}
	return trace.String(), nil
}

// diff says which requests the other version sends somewhere else, and what is found there that is new.
func (v *version) diff(after *version) (string, error) {
	difference, err := traffic.Diff(v.table, after.table)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = (&report.Diff{Difference: difference, NewFindings: after.report.Since(v.report, nil)}).Text(&text, false)
	return text.String(), err
}
