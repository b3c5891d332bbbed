package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/check/report"
	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// Run checks the input. The error is an *InputError, beside a report of all that
// could be read, or means that there is no report.
func Run(ctx context.Context, options *Options) (*report.CheckReport, error) {
	c, err := newChecker(options)
	if err != nil {
		return nil, err
	}
	if err := c.load(ctx); err != nil {
		return nil, err
	}
	if options.Fix {
		fixed, err := c.fix()
		if err != nil {
			return nil, err
		}
		if len(fixed) > 0 {
			return again(ctx, options, fixed)
		}
	}
	r, err := c.report()
	if err != nil {
		return nil, err
	}
	return r, c.inputError()
}

// again checks the files as they are after they were fixed.
func again(ctx context.Context, options *Options, fixed []report.Fixed) (*report.CheckReport, error) {
	after := *options
	after.Fix = false
	r, err := Run(ctx, &after)
	if r == nil {
		return nil, err
	}
	r.Fixed = fixed
	r.Count()
	if r.Summary.Changes > 0 {
		err = errors.Join(err, fmt.Errorf("%d changes are still to be made in the fixed files: please report this", r.Summary.Changes))
	}
	return r, err
}

// checker is one check.
type checker struct {
	options *Options
	config  *config.GuardConfiguration
	engine  *validate.Engine
	input   input
	files   []*file
	// broken are the documents that can be read, but not understood.
	broken []*manifest.Error
	world  *world
	routes []*route
	places map[mesh.ServiceKey]*desired.Place
	// ungranted are the namespaces whose grants were said to be unknown.
	ungranted map[string]bool
}

// route is a route of the input.
type route struct {
	document
	file *file
	// changes are the mutations, and mutated is the route with them.
	changes []mutate.Change
	mutated *mesh.Route
	// old is the route that was there before, or nil.
	old *manifest.Object
}

func newChecker(options *Options) (*checker, error) {
	configuration := options.Config
	if configuration == nil {
		configuration = config.Default()
	}
	engine, err := validate.New(configuration.Policy())
	if err != nil {
		return nil, err
	}
	return &checker{
		options: options, config: configuration, engine: engine,
		input: input{namespace: cmp.Or(options.Namespace, "default"), stdin: options.Stdin},
		world: &world{
			files: manifest.NewSet(manifest.Options{}),
			base: manifest.NewSet(manifest.Options{
				Complete:         options.Complete && options.Cluster == nil,
				NoServiceImports: options.Complete && options.Cluster == nil && options.NoServiceImports,
			}),
			cluster: options.Cluster,
		},
		places:    map[mesh.ServiceKey]*desired.Place{},
		ungranted: map[string]bool{},
	}, nil
}

// load reads all input and makes the mutations.
func (c *checker) load(ctx context.Context) error {
	c.files = c.input.read(c.options.Files)
	for _, folder := range c.options.Kustomizations {
		c.files = append(c.files, c.input.kustomize(folder)...)
	}
	if err := c.loadBase(ctx); err != nil {
		return err
	}
	for _, f := range c.files {
		c.broken = append(c.broken, f.broken...)
		for _, document := range f.documents {
			if document.IsRoute() {
				c.routes = append(c.routes, &route{document: document, file: f})
			} else if err := c.world.files.Put(document.Object); err != nil {
				c.broken = append(c.broken, brokenAt(f.name, err))
			}
		}
	}
	for _, r := range c.routes {
		c.mutate(r)
		if err := c.inherit(r); err != nil {
			return err
		}
		object := *r.Object
		object.Route = r.mutated
		if err := c.world.files.Put(&object); err != nil {
			return err
		}
	}
	return nil
}

// loadBase reads what is there already. Routes of a cluster are older than those in
// files.
func (c *checker) loadBase(ctx context.Context) error {
	var before []*manifest.Object
	if c.options.Cluster != nil {
		routes, err := c.options.Cluster.Routes(ctx)
		if err != nil {
			return err
		}
		before = routes
	}
	for _, f := range c.input.read(c.options.Base) {
		c.broken = append(c.broken, f.broken...)
		for _, document := range f.documents {
			before = append(before, document.Object)
		}
	}
	for _, object := range before {
		if err := c.world.base.Put(object); err != nil {
			c.broken = append(c.broken, brokenAt(object.Origin.File, err))
		}
	}
	return nil
}

// inherit gives the route the age of the one that was there before, and a
// generation that is later unless the spec stays as it is.
func (c *checker) inherit(r *route) error {
	if r.old = c.world.base.Get(r.Key); r.old == nil {
		return nil
	}
	meta, old := &r.mutated.Metadata, &r.old.Route.Metadata
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = old.CreationTimestamp
	}
	if meta.Generation == 0 {
		same, err := r.specUnchanged()
		if err != nil {
			return err
		}
		meta.Generation = old.Generation
		if !same {
			meta.Generation++
		}
	}
	return nil
}

// stored returns the route's JSON as it would be stored, apart from defaults.
func (r *route) stored() ([]byte, error) { return mutate.Apply(r.JSON, r.changes) }

// specUnchanged says whether the route leaves the spec as it was.
func (r *route) specUnchanged() (bool, error) {
	stored, err := r.stored()
	return err == nil && sameSpec(stored, r.old.JSON), err
}

func (c *checker) mutate(r *route) {
	enabled := c.config.EnabledMutations()
	off := map[string]bool{}
	for _, id := range mutate.Names() {
		off[id] = !slices.Contains(enabled, id)
	}
	r.changes = mutate.Changes(r.Route, c.world, mutate.Options{
		Off:     off,
		MayRead: mutate.Granted(r.Route, &c.engine.Policy().Grants, c.world),
	})
	r.mutated = mutate.Mutated(r.Route, r.changes)
}

// report judges every route.
func (c *checker) report() (*report.CheckReport, error) {
	r := &report.CheckReport{
		APIVersion: report.APIVersion, Kind: report.Kind,
		Routes: make([]report.Route, 0, len(c.routes)), Broken: make([]report.Broken, 0, len(c.broken)),
	}
	for _, route := range c.routes {
		judged, err := c.judge(route)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", route.file.name, route.Key, err)
		}
		r.Routes = append(r.Routes, *judged)
	}
	for _, broken := range c.broken {
		r.Broken = append(r.Broken, report.Broken{
			Place: report.Place{File: broken.File, Line: broken.Line}, Message: broken.Err.Error(),
		})
	}
	names := map[string]bool{}
	for _, f := range c.files {
		names[f.name] = true
	}
	r.Summary.Files = len(names)
	r.Count()
	return r, nil
}

func (c *checker) inputError() error {
	if len(c.input.errs) == 0 {
		return nil
	}
	return &InputError{c.input.errs}
}
