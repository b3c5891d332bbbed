package expect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/revision"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Options say what the tests are run over.
type Options struct {
	// Input is the input of all tests if it names any, and else says how what the files name is read. Its Config
	// is not used.
	Input check.Options
	// Given: Input names the input.
	Given bool
	// Meshes are the meshes to run under; empty for those that the tests name, or that of the configuration.
	Meshes []string
	// Flags are those by which commands that are printed judge as the tests do, besides --mesh and those that name the input.
	Flags []string
	// Configuration returns the configuration for a mesh, or, without one, as it is.
	Configuration func(mesh string) (*config.GuardConfiguration, error)
	// Adopt has the input, as it is in a revision, judged under the mesh by the revision's own project; nil: as the input is.
	Adopt func(tree *revision.Tree, then *check.Options, mesh string) error
}

// Run runs the tests. A test whose own input cannot be read, or whose revision is not there, fails; it is an error if the input of
// all cannot be read.
func Run(ctx context.Context, options *Options, files []*File) (_ *report.TestReport, err error) {
	r := &runner{ctx: ctx, options: options, trees: map[string]*revision.Tree{}}
	defer func() {
		for _, tree := range r.trees {
			err = errors.Join(err, tree.Remove())
		}
	}()
	groups, err := r.groups(files)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if err := r.run(g); err != nil {
			return nil, err
		}
	}
	results := make([]report.TestResult, len(r.results))
	for i, result := range r.results {
		results[i] = *result
	}
	return report.NewTestReport(results, r.notes), nil
}

// runner is one run.
type runner struct {
	ctx     context.Context //nolint:containedctx // it is one run
	options *Options
	trees   map[string]*revision.Tree
	results []*report.TestResult
	notes   []string
}

// group is the tests that are about one input, under one mesh.
type group struct {
	input *check.Options
	key   string
	mesh  string
	// missing is what does not exist of the input.
	missing error
	jobs    []job
}

// job is a test, and where its result goes.
type job struct {
	file   *File
	test   *Test
	result *report.TestResult
}

// groups puts together what is run over one input, in the order of the files.
func (r *runner) groups(files []*File) ([]*group, error) {
	var groups []*group
	for _, f := range files {
		input, missing := &r.options.Input, error(nil)
		if !r.options.Given {
			set, err := sets.NamedBy(r.options.Input.Root, f.name, "input", f.Input)
			if wrong, is := errors.AsType[*sets.FieldError](err); is {
				return nil, fmt.Errorf("%s:%d: %w", f.name, f.line(wrong.Field), err)
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			input, missing = r.options.Input.Over(set), set.Missing
		}
		key := fmt.Sprintf("%q %q %q", input.Files, input.Kustomizations, input.Charts)
		for i := range f.Tests {
			t := &f.Tests[i]
			for _, name := range r.meshesOf(t) {
				result := &report.TestResult{Place: report.Place{File: f.name, Line: t.line}, Name: t.Name, Mesh: name, Flags: r.flags(input, name), Revision: t.Expect.AsInRevision, Result: report.Skip}
				r.results = append(r.results, result)
				if !t.isFor(name) {
					continue
				}
				at := slices.IndexFunc(groups, func(g *group) bool { return g.key == key && g.mesh == name })
				if at < 0 {
					at = len(groups)
					groups = append(groups, &group{input: input, key: key, mesh: name, missing: missing})
				}
				groups[at].jobs = append(groups[at].jobs, job{f, t, result})
			}
		}
	}
	return groups, nil
}

// flags returns the flags of a command over the input that judges as the tests do under the mesh: "-f manifests --mesh istio -n shop".
func (r *runner) flags(input *check.Options, mesh string) string {
	var flags []string
	for _, file := range input.Files {
		flags = append(flags, "-f "+printable.Shell(file))
	}
	for _, folder := range input.Kustomizations {
		flags = append(flags, "-k "+printable.Shell(folder))
	}
	for i := range input.Charts {
		flags = append(flags, "--helm "+printable.Shell(input.Charts[i].Path))
		for _, values := range input.Charts[i].Values {
			flags = append(flags, "--values "+printable.Shell(values))
		}
	}
	if mesh != "" {
		flags = append(flags, "--mesh "+printable.Shell(mesh))
	}
	return strings.Join(append(flags, r.options.Flags...), " ")
}

// meshesOf returns the meshes that there is a result for. The empty name stands for the mesh of the configuration.
func (r *runner) meshesOf(t *Test) []string {
	switch {
	case len(r.options.Meshes) > 0:
		return r.options.Meshes
	case len(t.Meshes) > 0:
		return t.Meshes
	}
	return []string{""}
}

// run runs the tests of a group.
func (r *runner) run(g *group) error {
	configuration, err := r.options.Configuration(g.mesh)
	if err != nil {
		return err
	}
	input := *g.input
	input.Config = configuration
	now, unread := (*check.Traffic)(nil), g.missing
	if unread == nil {
		now, unread = check.LoadTraffic(r.ctx, &input)
	}
	switch {
	case unread == nil:
		r.notes = append(r.notes, now.Notes()...)
	case r.options.Given: // there is no other
		return unread
	}
	then, since := map[string]*check.Traffic{}, map[string]*check.Traffic{"": now}
	for i := range g.jobs {
		j := &g.jobs[i]
		j.result.Mesh = string(configuration.Mesh)
		if err := r.ctx.Err(); err != nil {
			return err
		}
		failed := unread
		if name := j.test.Expect.AsInRevision; failed == nil && name != "" && then[name] == nil {
			if then[name], failed = r.load(&input, name, g.mesh); failed == nil {
				since[name], failed = check.LoadSince(r.ctx, &input, then[name])
			}
		}
		if failed != nil {
			j.result.Revision = "" // a diff would fail, too
			j.result.Result, j.result.Failures = report.Fail, strings.Split(failed.Error(), "\n")
			continue
		}
		j.run(since[j.test.Expect.AsInRevision], then[j.test.Expect.AsInRevision])
	}
	return nil
}

// load reads the input as it is in a revision, which is judged by its own project.
func (r *runner) load(input *check.Options, name, mesh string) (*check.Traffic, error) {
	tree := r.trees[name]
	if tree == nil {
		if len(r.trees) == maxRevisions {
			return nil, fmt.Errorf("the tests name more than %d revisions", maxRevisions)
		}
		var err error
		if tree, err = revision.Checkout(r.ctx, name); err != nil {
			return nil, err
		}
		r.trees[name] = tree
	}
	in, err := input.In(tree)
	if err != nil {
		return nil, err
	}
	if r.options.Adopt != nil {
		if err := r.options.Adopt(tree, in, mesh); err != nil {
			return nil, tree.Named(err)
		}
	}
	in.Earlier = true
	then, err := check.LoadTraffic(r.ctx, in)
	return then, tree.Named(err)
}

// run compares what the request meets now with what is expected, or with what it met then.
func (j *job) run(now, then *check.Traffic) {
	t, result := j.test, j.result
	trace, err := now.Trace(t.Request.parsed)
	if err != nil {
		result.Failures = []string{err.Error()}
	} else {
		result.Request, result.Outcome, result.Chosen = &trace.Request, &trace.Outcome, trace.Chosen
		result.Failures = t.Expect.judge(trace)
		if t.Expect.AsInRevision != "" {
			result.Failures = compareRevision(t, trace, then)
		}
	}
	result.Result = report.Pass
	if len(result.Failures) > 0 {
		result.Result = report.Fail
		if trace != nil {
			result.Notes = trace.Notes
		}
	}
}

// compareRevision compares what a request meets now with what it met then.
func compareRevision(t *Test, now *traffic.Trace, then *check.Traffic) []string {
	was, err := then.Trace(now.Request)
	if err != nil {
		return []string{fmt.Sprintf("in revision %s: %v", t.Expect.AsInRevision, err)}
	}
	return judgeRevision(t.Expect.AsInRevision, was, now)
}

// Meshes are the names of the meshes that tests and flags may name, with a version or without.
func Meshes() []string {
	var names []string
	for _, name := range mesh.ProfileNames() {
		names = append(names, string(name))
	}
	return names
}

// CheckMesh returns what is wrong with the name of a mesh in a test or flag.
func CheckMesh(name string) error {
	if mesh.FindProfile(mesh.ProfileName(name)) == nil {
		return fmt.Errorf("must be one of %s, alone or with a version, as in kuma@2.13, not %q", strings.Join(Meshes(), ", "), name)
	}
	return nil
}

// isFor reports whether the test is meant for the mesh: one that names no version is meant for each.
func (t *Test) isFor(name string) bool {
	plain, _, _ := strings.Cut(name, "@")
	return len(t.Meshes) == 0 || slices.Contains(t.Meshes, name) || slices.Contains(t.Meshes, plain)
}
