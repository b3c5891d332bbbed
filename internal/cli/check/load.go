package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/rollout"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// loaded is the input, with what the API server and the mutations make of it.
type loaded struct {
	options *Options
	engine  *validate.Engine
	// creation decides which mutations are made.
	creation creation.Judge
	world    *world
	// sees is the world as routes are judged in it: in a version that follows another one, what that one had was removed.
	sees    mesh.Reader
	defined *defined
	files   []*source.File
	routes  []*route
	// broken are the documents that can be read, but not understood; each is a *manifest.Error.
	broken []error
	// skipped are parts of the input that are left aside, and notices say what bears on the judgments.
	skipped []report.Skipped
	notices []report.Notice
	// unbuilt are the kustomizations and charts that were read as plain files.
	unbuilt []source.Unbuilt
	// slips are what check notes besides.
	slips []report.Notice
	// weights are those that are written in a route, of those that a Rollout sets.
	weights map[manifest.Key][]rollout.Weight
	// unread is why some of the context cannot be read.
	unread error
	// declared says where each object that bears on routes stands first, and duplicates are those that are there again.
	declared   map[manifest.Key]report.Place
	duplicates []report.Duplicate
	// namespaces are those in which routes of the cluster count, for users who cannot list all.
	namespaces []string
	// unexpanded are the routes of Canaries that are not known.
	unexpanded []manifest.Key
	// renamed are the names that kustomize gave to Services.
	renamed map[renamedKey]string
}

// route is a route of the input.
type route struct {
	source.Document
	file *source.File
	// plan has the mutations, and mutated is the route with those that are made and with
	// what the API server fills in.
	plan    mutate.Plan
	mutated *mesh.Route
	// proposals are those of the changes, if it was asked for them.
	proposals []*proposal
	// patched is the route with the mutations that are made, and stored with defaults too, in JSON; old
	// is the route that was there before, or nil.
	patched, stored []byte
	old             *manifest.Object
	// undecodable is why the route cannot be decoded, and so not be judged; refusals are
	// what the API server says of it.
	undecodable error
	refusals    []refusal
	// canary is the Canary for which a controller writes the route, so that it is not in the file; nil for other routes.
	canary *source.Document
	// weighted is set where a Rollout sets weights of the route.
	weighted *rollout.Owned
}

// loader loads one input.
type loader struct {
	*loaded
	// arrived counts the routes that are new.
	arrived int64
	// earlier are the routes of the version before; nil where there is none.
	earlier map[manifest.Key]bool
	// besides are the files of the context that have routes.
	besides []string
	// reading is held by who reads the world while routes are written on all processors: a cluster has one reader.
	reading sync.Mutex
}

// load reads all input, makes the mutations, and finds what the API server refuses. What
// bears on routes is there before the first of them is looked at. The earlier ones of the routes
// were there before the others; nil where there is no version before.
func load(ctx context.Context, options *Options, input *source.Input, earlier map[manifest.Key]bool) (*loaded, error) {
	engine, err := validate.New(rules.Catalog(), options.Config.Policy())
	if err != nil {
		return nil, err
	}
	l := &loader{
		loaded: &loaded{
			options: options, engine: engine, world: newWorld(options, engine.Policy().Mesh),
			weights:  map[manifest.Key][]rollout.Weight{},
			creation: creation.Judge{Engine: engine, Off: options.Config.DisabledMutations()},
			declared: map[manifest.Key]report.Place{},
		},
		earlier: earlier,
	}
	l.sees = l.world
	if l.world.context = options.context; l.world.context == nil {
		l.surround(input.Disk)
	}
	if err := l.define(ctx, input); err != nil {
		return nil, err
	}
	if err := l.read(ctx, input); err != nil {
		return nil, err
	}
	if err := l.fill(ctx, input); err != nil {
		return nil, err
	}
	return l.loaded, l.write(ctx)
}

// read reads what is judged.
func (l *loader) read(ctx context.Context, input *source.Input) (err error) {
	l.files, l.skipped, err = l.build(ctx, input, l.options)
	l.unbuilt = append(input.Unbuilt(l.options.Files, l.options.projected), input.Around(l.options.Files)...) // not of definitions, which are never built
	input.Take(l.files)
	l.noteContext(input)
	return err
}

// build reads the files that the options name, and what is built of the others.
func (l *loader) build(ctx context.Context, input *source.Input, options *Options) (files []*source.File, skipped []report.Skipped, err error) {
	files = input.ReadBut(options.Files, options.aside)
	for _, folder := range options.Kustomizations {
		made, err := input.Kustomize(ctx, folder)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, made...)
	}
	for _, chart := range options.Charts {
		chart.Without = l.options.without
		made, left, err := input.Render(ctx, &chart, l.defined.apiVersions())
		if err != nil {
			return nil, nil, err
		}
		files, skipped = append(files, made...), append(skipped, left...)
	}
	return files, skipped, nil
}

// fill fills the world with what was read, and with what was there before.
func (l *loader) fill(ctx context.Context, input *source.Input) error {
	before, err := l.base(ctx, input)
	if err := errors.Join(err, input.Over()); err != nil {
		return err
	}
	for _, f := range l.files { // as they are written: what only the stored object has is not theirs
		for i := range f.Documents {
			for _, notice := range noted(f.Name, &f.Documents[i]) {
				if l.world.context == nil || !slices.Contains(l.world.context.slips, notice) { // else a file of the context, which has it
					l.slips = append(l.slips, notice)
				}
			}
		}
	}
	if err := l.apply(ctx, before); err != nil {
		return err
	}
	var delivered []delivery
	for _, f := range l.files {
		for _, document := range l.put(f, l.world.files) {
			r := &route{Document: document, file: f}
			if err := r.DecodeRoute(); err != nil {
				r.undecodable = broken(&document, err)
			}
			l.routes = append(l.routes, r)
		}
		for _, document := range f.Documents {
			l.declare(f, &document)
			l.noteName(f.Kustomization(), &document)
			if rollout.IsCanary(document.Key) || rollout.IsRollout(document.Key) {
				delivered = append(delivered, delivery{document, f})
			}
		}
		f.Documents = nil // each route is let go once it is judged
	}
	if err := l.deliver(delivered); err != nil {
		return err
	}
	for _, object := range before {
		if err := l.putBase(object); err != nil {
			return err
		}
	}
	for _, r := range l.routes {
		if r.undecodable != nil {
			continue
		}
		if err := l.putRoute(r); err != nil {
			return err
		}
	}
	return nil
}

// declare notes where an object stands, or that it stands somewhere already. Objects
// that bear on no route do not matter, and names that the API server generates differ.
func (l *loader) declare(f *source.File, d *source.Document) {
	if strings.HasSuffix(d.Key.Name, "*") || !d.IsRoute() && l.world.files.Get(d.Key) == nil {
		return
	}
	place := report.Place{File: f.Name, Line: d.Line("")}
	if first, again := l.declared[d.Key]; again {
		l.duplicates = append(l.duplicates, report.Duplicate{Place: place, Object: d.Key.String(), First: first})
	} else {
		l.declared[d.Key] = place
	}
}

// base reads what is there already, and returns the routes. Those of a cluster are
// older than those in files.
func (l *loader) base(ctx context.Context, input *source.Input) (routes []*manifest.Object, err error) {
	if l.options.Cluster != nil {
		l.count()
		routes, err = l.options.Cluster.Routes(l.namespaces...)
		if err != nil && !errors.Is(err, mesh.ErrUnknown) {
			return nil, err
		}
	}
	before := l.options.Before(l.options.Base)
	if err := unlike(before, l.options, l.options.Base, ", or add what is deployed beside the input to it with -k or --helm"); err != nil {
		return nil, err
	}
	files, _, err := l.build(ctx, input, before)
	if err != nil {
		return nil, errors.New(ofBase(err).Error()) // not that the set cannot be built
	}
	l.slips = append(append(l.slips, before.values...), unbuiltNotices(input.Unbuilt(before.Files, false), unbuiltBase)...)
	for _, f := range files {
		for _, document := range l.put(f, l.world.base) {
			if err := document.DecodeRoute(); err != nil {
				l.broken = append(l.broken, err)
				continue
			}
			routes = append(routes, document.Object)
		}
	}
	return routes, nil
}

// ofBase says that what cannot be read or built is the base.
func ofBase(err error) error { return fmt.Errorf("the base cannot be read: %w", err) }

// count adds the namespaces in which routes count: those of the options, of the input's routes and Services, and of the Services
// that its routes name, where others may hold the port.
func (l *loader) count() {
	seen := map[string]bool{}
	for _, namespace := range l.options.Namespaces {
		seen[namespace] = true
	}
	for _, f := range l.files {
		for _, document := range f.Documents {
			switch {
			case document.IsRoute():
				seen[document.Key.Namespace] = true
				written := *document.Object // it is decoded again, with what is stored
				if written.DecodeRoute() == nil {
					for _, namespace := range NamedBy(written.Route, l.engine.Policy().Mesh) {
						seen[namespace] = true
					}
				}
			case document.Key.Kind == mesh.ServiceKind && document.Key.Group == "":
				seen[document.Key.Namespace] = true
			}
		}
	}
	l.namespaces = slices.Sorted(maps.Keys(seen))
}

// NamedBy returns the namespaces of the Services that the route names, where others may have a say in what becomes of it.
func NamedBy(route *mesh.Route, profile *mesh.Profile) (named []string) {
	own := route.Metadata.Namespace
	for i := range route.Spec.ParentRefs {
		if ref := &route.Spec.ParentRefs[i]; ref.Class(profile) != mesh.GatewayParent {
			named = append(named, ref.Service(own).Namespace)
		}
	}
	for b := range route.Backends() {
		named = append(named, b.Ref.Service(own).Namespace)
	}
	return named
}

// put stores what the file holds besides routes, and returns these, which are not yet
// decoded.
func (l *loader) put(f *source.File, set *manifest.Set) (routes []source.Document) {
	l.broken = append(l.broken, f.Broken...)
	for _, document := range f.Documents {
		if document.IsRoute() {
			routes = append(routes, document)
			continue
		}
		err := set.Put(document.Object)
		if err == nil && definesRoutes(document.Key) {
			if set == l.world.files {
				err = l.redefine(&document, f.Name)
			} else if !l.named(document.Key.Name) { // what is there already
				l.defined.replaced[document.Key.Name] = true
				err = l.defined.PutJSON(document.JSON)
			}
		}
		if err != nil {
			l.broken = append(l.broken, broken(&document, err))
		}
	}
	return routes
}
