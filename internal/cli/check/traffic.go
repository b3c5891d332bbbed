package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// Traffic is what requests meet by the input.
type Traffic struct {
	*loaded
	table *traffic.Table
}

// LoadTraffic reads the input. It is an error if any of it cannot be read. The routes of the cluster in the namespaces that the
// question is about count, whatever the input is about; the empty name is all.
func LoadTraffic(ctx context.Context, options *Options, about ...string) (*Traffic, error) {
	asked := *options
	asked.Namespaces = about
	l, err := loadAlone(ctx, &asked, nil)
	if err != nil {
		return nil, err
	}
	return &Traffic{l, l.table(l.world)}, nil
}

// LoadSince is LoadTraffic of what follows another version, as Diff reads it: what only that one has was removed, and a route that the API
// server rejects stays as it was there.
func LoadSince(ctx context.Context, options *Options, before *Traffic) (*Traffic, error) {
	l, err := loadAlone(ctx, options, before.loaded)
	if err != nil {
		return nil, err
	}
	return &Traffic{l, l.table(traffic.Since(l.world, before.world, nil))}, nil
}

// loadAlone reads all input, which is one set. The version before may be nil.
func loadAlone(ctx context.Context, options *Options, before *loaded) (*loaded, error) {
	disk := source.Open(&options.Options, options.named())
	defer disk.Close()
	return loadWhole(ctx, options, disk.Input(nil), before)
}

// Trace finds the way of a request. A Service without a namespace is the only one of its name, and a
// client without a namespace is in the Service's. It is an error if there is no such Service or port.
func (t *Traffic) Trace(request traffic.Request) (*traffic.Trace, error) {
	return t.trace(request, false)
}

// trace is Trace, which can assume of a Service that is not in the input that it exists if routes have it as a parent.
func (t *Traffic) trace(request traffic.Request, assume bool) (*traffic.Trace, error) {
	if err := t.findService(&request.Service, assume); err != nil {
		return nil, err
	}
	if !request.FromGateway {
		request.From = cmp.Or(request.From, request.Service.Namespace)
	}
	return t.table.Trace(request)
}

// Classes returns the classes of requests to the Services with routes, as traffic.Table does.
func (t *Traffic) Classes() (classes []traffic.RequestClass, missing []string, err error) {
	return t.table.Classes()
}

// Configured returns what requests meet by the routes alone: each Service is taken to have endpoints.
func (t *Traffic) Configured() *traffic.Table {
	return t.loaded.table(mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		if read.Kind == mesh.ReadEndpoints {
			return mesh.Answer{HasEndpoints: true}
		}
		return t.world.Do(read)
	}))
}

// Reader shows what the rules see of the input.
func (t *Traffic) Reader() mesh.Reader { return t.world }

// Notes say what was left aside, which routes have no effect because the API server refuses them, and what bears on that.
func (t *Traffic) Notes() (notes []string) {
	for _, s := range t.skipped {
		notes = append(notes, "not checked: "+s.Path+": "+s.Reason)
	}
	return slices.Concat(notes, t.leftOut(nil), t.Unbuilt())
}

// Unbuilt says which kustomizations and charts were read as plain files.
func (t *Traffic) Unbuilt() (notes []string) {
	for _, n := range t.unbuiltNotices() {
		notes = append(notes, n.Path+": "+n.Message)
	}
	return notes
}

// Routes returns the routes of the input that the API server does not reject, with the mutations; and, if there is a cluster, those of its routes that the
// input does not replace.
func (t *Traffic) Routes() (routes []*mesh.Route) {
	for _, object := range t.world.files.Routes() {
		if !t.world.rejected[object.Key] {
			routes = append(routes, object.Route)
		}
	}
	if t.options.Cluster != nil {
		for _, object := range t.world.base.Routes() {
			if !t.world.replaces(object.Key) {
				routes = append(routes, object.Route)
			}
		}
	}
	return routes
}

// Diff compares what requests meet by two versions of the input. It is an error if any of the version after cannot be read, with a difference if
// that is broken. A base
// that is broken is not compared: who repairs it is not to blame.
func Diff(ctx context.Context, before, after *Options) (*report.Diff, error) {
	checkout := false
	if before.isBase {
		if err := unlike(before, after, before.Files, ""); err != nil {
			return nil, err
		}
		checkout = len(source.ToBuild(before.Files)) > 0 && len(source.ToBuild(after.Files)) == 0
	}
	loads, errs := loadBoth(func(version int, leftOut []string, earlier *loaded) (*loaded, error) {
		return loadAlone(ctx, [2]*Options{before, after}[version].leavingOut(leftOut), earlier)
	})
	was, now, failed, err := loads[0], loads[1], errs[0], errs[1]
	switch {
	case err != nil: // which the user can correct, whatever the base is
		return brokenInput(err)
	case failed != nil && isBroken(failed) && !checkout: // else plain files were compared with a checkout, which is sound
		diff := NotCompared(failed)
		diff.BaseLacks = lacks(failed)
		return diff, nil
	case failed != nil:
		return nil, ofBase(failed)
	}
	disk := source.Open(&after.Options, after.named())
	defer disk.Close()
	former := newFormer(before, after, disk, now.engine.Policy().Mesh)
	diff, err := differenceOf(was, now, former)
	if err == nil {
		for _, n := range before.values {
			diff.Notes = append(diff.Notes, n.String())
		}
		diff.Notes = append(diff.Notes, former.notes()...)
	}
	return diff, err
}

// DiffCluster compares what requests meet in the cluster with what they meet once the input is applied.
func DiffCluster(ctx context.Context, options *Options) (*report.Diff, error) {
	disk := source.Open(&options.Options, options.named())
	defer disk.Close()
	after, err := loadWhole(ctx, options, disk.Input(nil), nil)
	if err != nil {
		return brokenInput(err)
	}
	base := *options
	base.Files, base.Kustomizations, base.Charts = nil, nil, nil
	for _, r := range after.routes {
		if slices.Contains(options.Cluster.Unlisted(r.Key.Namespace), mesh.RouteKind(r.Key.Kind)) { // else what is stored would be new
			return nil, fmt.Errorf("you cannot list %ss in namespace %s, so what changes cannot be known; ask for the ClusterRole gammaguard-viewer", r.Key.Kind, r.Key.Namespace)
		}
	}
	base.Namespaces = after.namespaces
	before, err := loadWhole(ctx, &base, disk.Input(nil), nil)
	if err != nil {
		return nil, err
	}
	if err := before.judgeStored(after.routes); err != nil {
		return nil, err
	}
	return differenceOf(before, after, nil)
}

// judgeStored takes those stored routes that the others take the place of for routes of the input.
func (l *loaded) judgeStored(others []*route) error {
	for _, r := range others {
		object := l.world.base.Get(r.Key)
		if object == nil || l.world.files.Get(r.Key) != nil {
			continue
		}
		if err := l.world.files.Put(object); err != nil {
			return err
		}
		stored := &route{Document: source.Document{Object: object}, file: &source.File{Name: object.Origin.File}, mutated: l.world.files.Get(r.Key).Route, stored: object.JSON}
		l.routes = append(l.routes, stored)
	}
	return nil
}

// differenceOf is difference for all of the input.
func differenceOf(before, after *loaded, elsewhere mesh.Reader) (*report.Diff, error) {
	diff, err := difference(before, after, elsewhere)
	if err == nil {
		diff.Notes = grouped(diff.Notes)
	}
	return diff, err
}

// difference compares two versions that were read, and judges them. Elsewhere, which may be nil, is what else is deployed, for what the
// version after lacks.
func difference(before, after *loaded, elsewhere mesh.Reader) (*report.Diff, error) {
	after.sees = traffic.Since(after.world, before.world, elsewhere)
	edited, homeless := after.edited(before), after.homeless() // routes are let go once they are judged
	var tables [2]*traffic.Table
	var reports [2]*report.CheckReport
	var notes, rejected []string
	for i, l := range []*loaded{before, after} {
		tables[i] = l.table(l.sees)
		notes, rejected = append(notes, l.leftOut([]*loaded{after, nil}[i])...), append(rejected, l.rejected()...)
		var err error
		if reports[i], err = l.report(); err != nil {
			return nil, err
		}
	}
	unbuilt := after.unbuiltNotices()
	if len(unbuilt) == 0 && before.options.isBase {
		unbuilt = before.unbuiltNotices()
	}
	for _, n := range slices.Concat(unbuilt, newSlips(before.slips, after.slips)) {
		notes = append(notes, n.String())
	}
	lacking, lacks := dependencies(before, after)
	notes = slices.Concat(notes, lacks, reconfigured(before.options.Config, after.options.Config))
	for _, list := range []*[]string{&notes, &rejected} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	difference, err := traffic.Diff(tables[0], tables[1])
	if err != nil {
		return nil, err
	}
	for _, u := range after.unbuilt { // as plain files, patches may replace what they patch
		difference.NotCompared += len(u.Kustomizations) + len(u.Components) + len(u.Charts)
	}
	difference.Dependencies = lacking
	findings := reports[1].Since(reports[0], edited)
	difference.Notes, difference.LeftOut = slices.Concat(difference.Notes, notes, homeless, denied(findings, edited), after.reweighted(before)), rejected
	return &report.Diff{
		TypeMeta: report.Typed(report.DiffKind), Difference: difference, NewFindings: findings,
		BaseLacks: len(without(before.lacking(), after.lacking())) > 0,
	}, nil
}

// loadWhole reads all input. It is an error if any of it cannot be read: what
// requests meet cannot be told from a part. The version before may be nil.
func loadWhole(ctx context.Context, options *Options, input *source.Input, before *loaded) (*loaded, error) {
	var earlier map[manifest.Key]bool
	if before != nil {
		earlier = map[manifest.Key]bool{}
		for _, r := range before.routes {
			earlier[r.Key] = true
		}
	}
	l, err := load(ctx, options, input, earlier)
	if err != nil {
		return nil, err
	}
	errs := append(slices.Concat(input.Errors(), l.broken), l.unread)
	for _, r := range l.routes {
		if len(r.refusals) == 0 {
			errs = append(errs, r.undecodable)
		}
	}
	if err = l.unreadable(errs); err == nil && before != nil {
		err = l.keep(before)
	}
	return l, err
}
