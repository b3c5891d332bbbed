package check

import (
	"fmt"
	"slices"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/rollout"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// delivery is a Canary or a Rollout of a file.
type delivery struct {
	source.Document
	file *source.File
}

// deliver makes of the input what the controllers of progressive delivery make of it.
func (l *loader) deliver(all []delivery) error {
	owned := map[manifest.Key]rollout.Owned{}
	for i := range all {
		d := &all[i]
		if rollout.IsCanary(d.Key) {
			l.expand(d)
			continue
		}
		routes, problem := rollout.Rollout(d.Object)
		l.notExpanded(d, problem)
		for _, of := range routes {
			owned[of.Route] = of
		}
	}
	if l.options.RolloutWeights {
		return nil
	}
	for _, r := range l.routes {
		if of, is := owned[r.Key]; is && r.undecodable == nil {
			if err := l.rest(r, &of); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest gives a route the weights that a Rollout sets while it is at rest, and notes those that it has as it is written.
func (l *loader) rest(r *route, of *rollout.Owned) error {
	weights := of.Weights(r.Route)
	if len(weights) == 0 {
		return nil
	}
	l.weights[r.Key], r.weighted = weights, of
	object := *r.Object
	var err error
	if object.JSON, err = of.Rest(r.JSON); err != nil {
		return err
	}
	if err := object.DecodeRoute(); err != nil {
		return err
	}
	if r.Written == r.Object {
		r.Written = &object
	}
	r.Object = &object
	return nil
}

// reweighted notes the routes in which other weights are written than in the version before, of those that a Rollout sets, and nothing else about
// these backendRefs: that has a row.
func (l *loaded) reweighted(before *loaded) (notes []string) {
	alike := func(a, b rollout.Weight) bool { return a.Rule == b.Rule && a.Canary == b.Canary }
	for key, now := range l.weights {
		if was := before.weights[key]; slices.EqualFunc(was, now, alike) && !slices.Equal(was, now) {
			notes = append(notes, key.String()+" has other weights now, which a Rollout sets: they are left out, unless you add --rollout-weights")
		}
	}
	slices.Sort(notes)
	return notes
}

// unweighted gives a finding on the weights of a rule that a Rollout sets the remedy that helps.
func (r *route) unweighted(f *validate.Finding) {
	if r.weighted == nil || f.Rule != validate.RuleBackendWeightsZero {
		return
	}
	if slices.ContainsFunc(r.weighted.Weights(r.Route), func(w rollout.Weight) bool { return f.Field == fmt.Sprintf("spec.rules[%d].backendRefs", w.Rule) }) {
		f.Remedy = fmt.Sprintf("add Service %s, since %s sets these weights while it is at rest", r.weighted.Stable, r.weighted.By)
	}
}

// Line returns the line of the field in the file: of what a Canary says of it, if a controller writes the route.
func (r *route) Line(field string) int {
	if r.canary != nil {
		return r.canary.Line(rollout.CanaryField(r.Object, field))
	}
	return r.Document.Line(field)
}

// Place returns where the field's value comes from, as Line does.
func (r *route) Place(f *source.File, field string) report.Place {
	if r.canary != nil {
		return r.canary.Place(f, rollout.CanaryField(r.Object, field))
	}
	return r.Document.Place(f, field)
}

// expand adds what Flagger makes of a Canary: a route, if it is known, and the Services that are not in the input.
func (l *loader) expand(d *delivery) {
	made, problem := rollout.Canary(d.Object)
	l.notExpanded(d, problem)
	if problem != "" && len(made) > 0 {
		key := made[0].Key
		l.unexpanded = append(l.unexpanded, manifest.Key{Group: mesh.GatewayGroup, Kind: string(mesh.HTTPRoute), Namespace: key.Namespace, Name: key.Name})
	}
	for _, object := range made {
		document := source.Document{Object: object, Written: d.Written}
		if object.IsRoute() {
			r := &route{Document: document, file: d.file, canary: &d.Document}
			if err := r.DecodeRoute(); err != nil {
				r.undecodable = broken(&document, err)
			}
			l.routes = append(l.routes, r)
		} else if l.world.files.Get(object.Key) == nil {
			if err := l.world.files.Put(object); err != nil {
				l.broken = append(l.broken, broken(&document, err))
			}
		}
	}
}

// notExpanded says why it is not known what a controller writes.
func (l *loader) notExpanded(d *delivery, problem string) {
	if problem != "" {
		l.notices = append(l.notices, report.Notice{Path: d.file.Name, Message: d.Key.String() + ": what its controller writes is not known: " + problem, Fails: true})
	}
}
