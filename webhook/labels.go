package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// labels warns of what a change of a namespace's labels does to routes. It admits every
// request: who may change them is for the policy to say.
type labels struct {
	Options
	engine *validate.Engine
	off    map[string]bool
}

// Labels returns the handler that previews changes of namespaces' labels.
func Labels(options Options, engine *validate.Engine, off map[string]bool) http.Handler {
	l := &labels{options, engine, off}
	h := options.handler("labels", l.answer)
	h.concerns = func(r *review) bool { return r.Operation == operationUpdate && r.SubResource == "" }
	return h
}

func (l *labels) answer(ctx context.Context, r *review, _ *objectError) answer {
	ctx, cancel := context.WithDeadline(ctx, r.deadline())
	defer cancel()
	preview, err := l.preview(ctx, r)
	if err != nil {
		l.Log.Error(err, "Failed to preview the change of a namespace", "namespace", shortened(r.name()))
		return answer{warnings: []string{undetermined}, outcome: failed}
	}
	return answer{warnings: labelWarnings(preview), outcome: admitted}
}

func (l *labels) preview(ctx context.Context, r *review) (*validate.LabelPreview, error) {
	old, errOld := decodeNamespace(r.OldObject)
	now, errNow := decodeNamespace(r.objectText())
	if err := errors.Join(errOld, errNow, l.current(ctx, r)); err != nil {
		return nil, err
	}
	preview := l.engine.PreviewLabels(l.Reader, old, now)
	err := l.eachRoute(ctx, now.Name, func(route *mesh.Route) error {
		return preview.Add(l.mutated(route, preview.After()))
	})
	if err != nil {
		return nil, err
	}
	for _, service := range l.Stored.ParentsInNamespace(now.Name) {
		if err := preview.AddConsumers(service); err != nil {
			return nil, err
		}
	}
	return preview, nil
}

// mutated returns the route as the mutating webhook would make it.
func (l *labels) mutated(route *mesh.Route, world mesh.Reader) *mesh.Route {
	return mutate.Mutated(route, mutate.Changes(route, world, mutate.Options{
		Off: l.off, MayRead: mutate.Granted(route, &l.engine.Policy().Grants, world),
	}))
}

func decodeNamespace(text []byte) (*mesh.Namespace, error) {
	var object mesh.NamespaceObject
	if err := mesh.Decode(text, &object); err != nil {
		return nil, fmt.Errorf("not a Namespace: %w", err)
	}
	return object.Reduce(), nil
}

// labelWarnings are the preview in words.
func labelWarnings(p *validate.LabelPreview) []string {
	var all []string
	add := func(routes []string, format string, args ...any) {
		if len(routes) > 0 {
			all = append(all, listed(fmt.Sprintf(format, args...)+": ", routes))
		}
	}
	add(p.Denied, "if created now, %d of %d routes would be denied", len(p.Denied), p.Routes)
	add(p.Ungranted, "%d of %d routes lose their grant", len(p.Ungranted), p.Routes)
	add(p.Refused, "consumer routes of other namespaces are refused")
	return all
}

// listed returns the text with as many of the names as a warning has room for, and the
// number of the others.
func listed(text string, names []string) string {
	const others = len(" and 100000 more")
	for i, name := range names {
		if i > 0 && len(text)+len(name)+others > maxWarning {
			return warning(fmt.Sprintf("%s and %d more", strings.TrimSuffix(text, ", "), len(names)-i), "")
		}
		text += name + ", "
	}
	return warning(strings.TrimSuffix(text, ", "), "")
}
