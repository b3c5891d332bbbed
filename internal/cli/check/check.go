package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// Run checks the input, as one set. Apart from a report of all that could be read, the
// error names what could not; without a report it says why there is none.
func Run(ctx context.Context, options *Options) (*report.CheckReport, error) {
	options, done := options.opened()
	defer done()
	r, err := run(ctx, options)
	if r != nil {
		r.Count()
		if options.Strict {
			err = errors.Join(append(r.Hidden(), err)...)
		}
	}
	return r, err
}

// run is Run, without the counts of the summary.
func run(ctx context.Context, options *Options) (*report.CheckReport, error) {
	c, err := load(ctx, options)
	if err != nil {
		return nil, err
	}
	var fixed []report.Fixed
	if options.Fix {
		if fixed, err = c.fix(); err == nil && len(fixed) > 0 {
			c, err = load(ctx, options) // the files as they are now
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := c.report(fixed)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(c.input.errs...)
}

// checker is one check.
type checker struct {
	options *Options
	config  *config.GuardConfiguration
	engine  *validate.Engine
	// definitions are those that the routes are subject to.
	definitions *definitions.Set
	input       input
	files       []*file
	// broken are the documents that can be read, but not understood.
	broken []error
	// skipped are parts of the input that are left aside.
	skipped []report.Skipped
	// notices say what bears on the judgments, and trusted are the names of the definitions that --crds names.
	notices []report.Notice
	trusted map[string]bool
	// declared says where each object that bears on routes stands first, and duplicates
	// which ones are there again.
	declared   map[manifest.Key]report.Place
	duplicates []report.Duplicate
	world      *world
	routes     []*route
	// renamed are the names that kustomize gave to Services.
	renamed map[renamedKey]string
	// arrived counts the routes that are new.
	arrived int
	// view is what status says, and tables are what becomes of routes, once all is loaded.
	view   *desired.View
	tables *validate.Tables
	// creation decides which mutations are made.
	creation creation.Judge
	// ungranted are the namespaces whose grants were said to be unknown.
	ungranted map[string]bool
}

// route is a route of the input.
type route struct {
	document
	file *file
	// plan has the mutations, and mutated is the route with those that are made and with
	// what the API server fills in.
	plan    mutate.Plan
	mutated *mesh.Route
	// edits make the changes in the file, if it was asked for them and they are known.
	edits []*report.Edit
	// patched is the route with the mutations that are made, and stored with defaults too, in JSON; old
	// is the route that was there before, or nil.
	patched, stored []byte
	old             *manifest.Object
	// undecodable is why the route cannot be decoded, and so not be judged; refusals are
	// what the API server says of it.
	undecodable error
	refusals    []definitions.Finding
}

func newChecker(options *Options) (*checker, error) {
	engine, err := validate.New(rules.Catalog(), options.Config.Policy())
	if err != nil {
		return nil, err
	}
	complete := options.Complete && options.Cluster == nil
	c := &checker{
		options: options, config: options.Config, engine: engine, creation: creation.Judge{Engine: engine, Off: options.Config.DisabledMutations()},
		input: input{namespace: cmp.Or(options.Namespace, "default"), stdin: options.Stdin, readFile: options.read, isNamed: options.files.Named},
		world: &world{
			files: manifest.NewSet(manifest.Options{Mesh: engine.Policy().Mesh}),
			base: manifest.NewSet(manifest.Options{
				Mesh: engine.Policy().Mesh, Complete: complete, NoServiceImports: complete && options.NoServiceImports, Serves: options.Serves,
			}),
			cluster: options.Cluster,
		},
		trusted:   map[string]bool{},
		declared:  map[manifest.Key]report.Place{},
		ungranted: map[string]bool{},
	}
	c.tables = engine.Tables(c.world)
	c.view = desired.NewView(engine, c.world, desired.Settings(options.Config.Status))
	return c, nil
}

// report judges every route.
func (c *checker) report(fixed []report.Fixed) (*report.CheckReport, error) {
	if c.options.Propose {
		c.propose()
	}
	r := report.New()
	r.Fixed, r.Skipped, r.Notices = fixed, c.skipped, c.notices
	for i := range c.duplicates {
		r.AddDuplicate(c.duplicates[i])
	}
	for i, route := range c.routes {
		if route.undecodable != nil && len(route.refusals) == 0 {
			c.broken = append(c.broken, route.undecodable)
		}
		c.routes[i] = nil // what it was read from takes more memory than what is said of it
		judged, err := c.judge(route)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", route.file.name, route.Key, err)
		}
		r.AddRoute(judged)
	}
	for _, err := range c.broken {
		if at, ok := errors.AsType[*manifest.Error](err); ok { // all are
			r.AddBroken(report.Broken{Place: report.Place{File: at.File, Line: at.Line}, Message: wording(at.Err)})
		}
	}
	for _, f := range c.files {
		r.SeenFile(f.name)
	}
	return r, nil
}

// wording says what is wrong with a document, without a word of Go.
func wording(err error) string {
	if strings.Contains(err.Error(), "invalid map key: ") {
		return "broken YAML: a mapping is used as a key; if this is a template, render it first"
	}
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err.Error()
	}
	what, _, _ := strings.Cut(err.Error(), ":")
	return fmt.Sprintf("%s: %s cannot be a %s", what, cmp.Or(mismatch.Field, "it"), mismatch.Value)
}
