package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
)

// labels warns of what a change of a namespace's labels does to routes. It admits every
// request: who may change them is for the policy to say.
type labels struct {
	Options
	creation.Judge
}

// previewLabels returns the handler that previews changes of namespaces' labels.
func previewLabels(options Options, engine *validate.Engine) http.Handler {
	options.share()
	l := &labels{options, creation.Judge{Engine: engine, Off: options.Off}}
	return options.previewing("labels", "namespace", []string{operationUpdate}, l.answer)
}

func (l *labels) answer(ctx context.Context, r *review) (answer, error) {
	preview, err := l.preview(ctx, r)
	partial := errors.Is(err, errLimitReached)
	if err != nil && !partial {
		return answer{}, err
	}
	warnings := append(ineffectiveKeys(mesh.NamespaceKind, r), labelWarnings(preview)...)
	if partial {
		warnings = append(warnings, fmt.Sprintf("only the first %d routes of the namespace were checked; run gammaguard audit", maxRoutes))
	}
	return answer{warnings: warnings, outcome: admitted}, nil
}

// preview judges the routes of the namespace. With errLimitReached it is about some of the routes.
func (l *labels) preview(ctx context.Context, r *review) (*validate.LabelPreview, error) {
	old, errOld := decodeNamespace(r.OldObject)
	now, errNow := decodeNamespace(r.objectText())
	if err := errors.Join(errOld, errNow, l.current(ctx, r)); err != nil {
		return nil, err
	}
	preview := l.Engine.PreviewLabels(l.Reader, old, now)
	partial := l.eachRoute(ctx, r, now.Name, func(route *mesh.Route) error {
		plan, err := l.Plan(route, validate.User{}, l.Changes(route, preview.After()), preview.After())
		if err != nil {
			return err
		}
		return preview.Add(mutate.Mutated(route, plan.Made()))
	})
	if partial != nil && !errors.Is(partial, errLimitReached) {
		return nil, partial
	}
	for _, service := range l.Stored.ParentsInNamespace(now.Name) {
		if err := preview.AddConsumers(service); err != nil {
			return nil, err
		}
	}
	return preview, partial
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
	for _, sentence := range p.Unreadable {
		all = append(all, warning(sentence, ""))
	}
	already := ""
	if p.Already > 0 {
		already = fmt.Sprintf(", in addition to %d before the change", p.Already)
	}
	add(p.Denied, "if created now, %d of %d routes would be denied%s", len(p.Denied), p.Routes, already)
	add(p.Ungranted, "%d of %d routes lose their grant", len(p.Ungranted), p.Routes)
	add(p.Losing, "%d of %d routes, denied before the change too, lose their grant", len(p.Losing), p.Routes)
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
