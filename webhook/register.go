package webhook

import (
	"cmp"
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-logr/logr"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// The paths that the webhooks are served at, as in the webhook configurations.
const (
	ValidatePath = "/validate"
	mutatePath   = "/mutate"
	// labelsPath previews changes of namespaces' labels.
	labelsPath = "/preview-labels"
	// servicesPath previews changes of Services.
	servicesPath = "/preview-services"
	// routesPath previews deletions of routes, and of their parentRefs.
	routesPath = "/preview-routes"
	// servingPath answers probes.
	servingPath = "/serving"
)

// Options configures both webhooks.
type Options struct {
	// Mesh is the profile of the mesh; nil for the specification. Register sets it.
	Mesh *mesh.Profile
	// Reader is where verdicts are first taken from: the caches.
	Reader mesh.Reader
	// Live confirms them. Nil means that Reader is exact, and nothing need be.
	Live kube.Source
	// Sync reports whether Reader is complete. Nil means that it is.
	Sync    Syncer
	Metrics *Metrics
	Log     logr.Logger
	// Preview reads the routes for a preview of the traffic on dry runs. Nil means none.
	Preview RouteReader
	// Stored is where previews find routes. Nil means that there are no previews.
	Stored Stored
	// Off names the mutations that are off.
	Off map[string]bool
	// intake bounds the requests that are worked on at once. Nil means a bound for
	// each webhook of its own.
	intake *intake

	*shared
}

// handler returns the HTTP side of a webhook with these options.
func (o *Options) handler(name string, answer func(context.Context, *review, *objectError) answer) *handler {
	return &handler{name: name, metrics: o.Metrics, log: o.Log, intake: cmp.Or(o.intake, newIntake()), concerns: (*review).judged, answer: answer}
}

// Stored finds the stored routes that a change of another object bears on.
type Stored interface {
	// Routes calls each with the text of every route of the kind in the namespace. The
	// text is valid until it returns.
	Routes(ctx context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error
	// ParentsInNamespace returns the Services and ServiceImports in the namespace that are
	// mesh parents.
	ParentsInNamespace(namespace string) []mesh.ServiceKey
	// RoutesTo returns the routes that send requests to the Service, and do not have it as a parent.
	RoutesTo(key mesh.ServiceKey) []*mesh.AttachedRoute
}

// Syncer is a Reader that takes time to fill, such as a kube.Cache.
type Syncer interface {
	HasSynced() bool
	// WaitForSync waits until HasSynced, or returns what is missing.
	WaitForSync(ctx context.Context) error
	// Stale returns nil, or why nothing may be concluded from it now.
	Stale() error
}

// confirmed returns the reader that a request is judged by, once it denies: the caches,
// confirmed by live reads, or live reads alone while the caches are stale.
func (o *Options) confirmed(ctx context.Context, r *review) *kube.Confirmed {
	cache := o.Reader
	if o.Sync != nil && o.Sync.Stale() != nil {
		cache = nil
	}
	return kube.Confirm(ctx, r.deadline, rationed{o, r}, cache)
}

// ready waits until the caches are complete: incomplete ones would admit what a
// missing namespace refuses.
func (o *Options) ready(ctx context.Context, r *review) error {
	if o.Sync == nil || o.Sync.HasSynced() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, r.deadline())
	defer cancel()
	return o.Sync.WaitForSync(ctx)
}

// namespace returns the namespace of the request for metrics, if there is one of that name:
// callers can name any.
func (o *Options) namespace(r *review) string {
	name := r.Object.Metadata.Namespace
	if _, err := mesh.FindNamespace(o.Reader, name); err != nil {
		return ""
	}
	return name
}

// Register serves the webhooks, both under the engine's policy, without the mutations that
// are off, the previews, and probes.
func Register(mux *http.ServeMux, options Options, engine *validate.Engine, off map[string]bool) {
	options.Mesh, options.Off = engine.Policy().Mesh, off
	options.intake = cmp.Or(options.intake, newIntake())
	options.share()
	mux.Handle(ValidatePath, Validating(options, engine))
	mux.Handle(mutatePath, Mutating(options, engine))
	mux.Handle(servingPath, answerProbes(options))
	if options.Stored != nil {
		// Previews wait for their turn. That takes no room from verdicts.
		options.intake = newIntake()
		mux.Handle(labelsPath, previewLabels(options, engine))
		mux.Handle(servicesPath, previewServices(options, engine))
		mux.Handle(routesPath, Routes(options, engine))
	}
}
