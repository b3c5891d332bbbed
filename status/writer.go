package status

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
)

const (
	// requestTimeout bounds each request. A request in progress when the leader
	// loses its lease is canceled before another replica becomes the leader; a late
	// write fails on its resourceVersion.
	requestTimeout = 3 * time.Second
	// attempts is how often a write is tried while others change the route at the
	// same time, before it goes back to the queue.
	attempts = 10
	// unservedPause is how long to wait for the version that a route is served in now.
	unservedPause = time.Second
	// fieldManager is the field manager that the API server records.
	fieldManager = "gammaguard"
)

// writer reads and patches routes one by one.
type writer struct {
	rest     *rest.RESTClient
	settings desired.Settings
	metrics  *metrics
	damper   *damper
	now      func() time.Time

	// locks keep workers from writing one route at the same time, for different
	// Services: one of them would only fail on the other's write.
	locks [64]sync.Mutex
	seed  maphash.Seed
}

// newWriter returns a writer with a rate limit of its own, so that other clients
// of the process never wait for it.
func newWriter(config *rest.Config, settings desired.Settings, qps float32, burst int, m *metrics, d *damper) (*writer, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.QPS, config.Burst, config.RateLimiter = qps, burst, nil
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client for status: %w", err)
	}
	return &writer{rest: client, settings: settings, metrics: m, damper: d, now: time.Now, seed: maphash.MakeSeed()}, nil
}

// outcome is the result of a write.
type outcome struct {
	uid         string
	transitions []transition
	// contested is set if other writers undo the entries again and again, and pause is how
	// long they must not be written: nothing was.
	contested bool
	pause     time.Duration
}

// write makes the part of the route's status as view wants it, judging the route
// as it is now. It reads, merges and patches until nobody else has changed the
// route in between. A route that no longer exists is not an error. Where the version is no
// longer served, the cache is about to notice.
func (w *writer) write(ctx context.Context, key kube.RouteKey, version string, part ourPart, view *desired.View) (outcome, error) {
	mine := &w.locks[maphash.Comparable(w.seed, key)%uint64(len(w.locks))]
	mine.Lock()
	defer mine.Unlock()
	for attempt := 1; ; attempt++ {
		done, err := w.try(ctx, key, version, part, view)
		switch {
		case kube.Unserved(err):
			return outcome{pause: unservedPause}, nil
		case err == nil, apierrors.IsNotFound(err):
			return done, nil
		case !apierrors.IsConflict(err):
			w.metrics.writes.WithLabelValues(writeFailed).Inc()
			return done, fmt.Errorf("status of %s: %w", key, err)
		}
		w.metrics.writes.WithLabelValues(writeConflict).Inc()
		if attempt == attempts {
			return done, fmt.Errorf("status of %s: the route changed during each of %d attempts: %w", key, attempts, err)
		}
		select {
		case <-ctx.Done():
			return done, ctx.Err()
		case <-time.After(rand.N(time.Duration(attempt) * 2 * time.Millisecond)): // out of step with a second writer
		}
	}
}

func (w *writer) try(ctx context.Context, key kube.RouteKey, version string, part ourPart, view *desired.View) (outcome, error) {
	data, err := w.get(ctx, key, version)
	if err != nil {
		return outcome{}, err
	}
	doc, err := decodeDocument(data, w.settings.ControllerName, w.settings.FormerControllerNames)
	if err != nil {
		return outcome{}, err
	}
	wanted, err := view.EntriesOn(part.service, doc.route(key, part.mesh))
	if err != nil {
		return outcome{}, err
	}
	p, where := portion{key, part.service}, kindOn{key.Kind, part.service}
	taken := slices.ContainsFunc(doc.own, func(entry *kube.Entry) bool {
		return entry != nil && part.taken(entry, doc.refs, doc.answered)
	})
	if taken {
		w.damper.yield(where)
	}
	entries := wanted
	if w.damper.yielding(where) > 0 {
		entries = desired.AnsweredOnly(wanted, doc.answered)
	}
	withheld := len(entries) < len(wanted)
	next, err := doc.merge(w.settings.ControllerName, part, entries, metav1.NewTime(w.now()))
	if err != nil || !next.changed {
		return outcome{}, err
	}
	done, fingerprint := outcome{uid: doc.Metadata.UID}, w.damper.fingerprint(doc.Metadata.UID, wanted)
	if done.pause, done.contested = w.damper.request(p, fingerprint, withheld, taken); done.pause > 0 {
		return done, nil
	}
	patch, err := doc.patch(next.parents)
	if err != nil {
		return outcome{}, err
	}
	if err := w.patch(ctx, key, version, patch); err != nil {
		return outcome{}, err
	}
	w.metrics.writes.WithLabelValues(written).Inc()
	w.damper.written(p, fingerprint, withheld)
	if !withheld { // what only waits is not resolved
		done.transitions = next.transitions
	}
	return done, nil
}

func (w *writer) get(ctx context.Context, key kube.RouteKey, version string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	w.metrics.reads.Inc()
	result := w.rest.Get().AbsPath("apis", mesh.GatewayGroup, version).
		Namespace(key.Namespace).Resource(key.Kind.Resource()).Name(key.Name).Do(ctx)
	if err := result.Error(); err != nil { // Raw would not decode it
		return nil, err
	}
	return result.Raw()
}

func (w *writer) patch(ctx context.Context, key kube.RouteKey, version string, patch []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return w.rest.Patch(types.MergePatchType).AbsPath("apis", mesh.GatewayGroup, version).
		Namespace(key.Namespace).Resource(key.Kind.Resource()).Name(key.Name).SubResource("status").
		Param("fieldManager", fieldManager).Body(patch).Do(ctx).Error()
}
