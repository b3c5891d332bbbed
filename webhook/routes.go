package webhook

import (
	"cmp"
	"context"
	"net/http"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// routes warns of what requests meet once a route is deleted, or some of its parentRefs are
// gone. It admits every request.
type routes struct {
	Options
	engine *validate.Engine
}

// Routes returns the handler that previews deletions of routes, and of their parentRefs.
func Routes(options Options, engine *validate.Engine) http.Handler {
	options.share()
	h := &routes{options, engine}
	handler := options.previewing("routes", "route", []string{operationUpdate, operationDelete}, h.answer)
	preview := handler.answer
	handler.answer = func(ctx context.Context, r *review, fault *objectError) answer {
		if fault != nil {
			return admit // the validating webhook refuses it
		}
		return preview(ctx, r, nil)
	}
	return handler
}

func (h *routes) answer(ctx context.Context, r *review) (answer, error) {
	sentences, err := h.preview(ctx, r)
	for i := range sentences {
		sentences[i] = warning(sentences[i], "")
	}
	return answer{warnings: bounded(sentences), outcome: admitted}, err
}

// preview returns nothing while the namespace is deleted: the other routes go too.
func (h *routes) preview(ctx context.Context, r *review) ([]string, error) {
	old, err := mesh.DecodeRoute(r.OldObject)
	if err != nil || old.Kind.GrantOnly() {
		return nil, err
	}
	old.Metadata.Namespace = cmp.Or(r.Namespace, old.Metadata.Namespace)
	var now *mesh.Route
	if r.Operation == operationUpdate {
		now = r.Object
	}
	if err := h.current(ctx, r); err != nil {
		return nil, err
	}
	namespace, err := mesh.Known(mesh.FindNamespace(h.Reader, old.Metadata.Namespace))
	if err != nil || namespace != nil && namespace.Terminating() {
		return nil, err
	}
	sentences, err := h.engine.PreviewRoute(h.Reader, old, now)
	if len(sentences) == 0 || err != nil || now == nil {
		return sentences, err
	}
	// What is denied is not stored: nothing becomes of requests.
	verdict, err := h.engine.Judge(r.toJudge(), h.Reader)
	if verdict.Denied() {
		sentences = nil
	}
	return sentences, err
}
