package status

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
)

// Options configures the status reconciler. Only Engine must be set.
type Options struct {
	Engine *validate.Engine
	// Settings are from the configuration. The cache must have the same
	// controllerNames.
	Settings desired.Settings
	// QPS and Burst bound the reads and writes of routes together, two a change;
	// zero is 200 and 400.
	QPS   float32
	Burst int
	// Workers is how many Services are reconciled concurrently; zero is 4.
	Workers int
	// Stopping reports whether the process shuts down. From then on, it writes no status, although it may serve for a while
	// longer; nil is never.
	Stopping func() bool
	// Registerer takes the metrics; nil is controller-runtime's.
	Registerer prometheus.Registerer
}

// Retries of what failed wait from 20 milliseconds to half a minute.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Add registers the reconciler with the manager. The cache must not yet have been
// started; the caller starts it, on every replica. The reconciler runs
// only on the leader.
func Add(mgr manager.Manager, cache *kube.Cache, options Options) error {
	options.Settings.ControllerName = cmp.Or(options.Settings.ControllerName, desired.ControllerName)
	if options.Registerer == nil {
		options.Registerer = ctrlmetrics.Registry
	}
	if options.Stopping == nil {
		options.Stopping = func() bool { return false }
	}
	d := newDamper()
	m, err := newMetrics(options.Registerer, d.contested)
	if err != nil {
		return fmt.Errorf("metrics of status: %w", err)
	}
	if err := options.Registerer.Register(newUnacknowledged(cache, options.Engine.Policy(), mgr.Elected())); err != nil {
		return fmt.Errorf("metrics of status: %w", err)
	}
	writer, err := newWriter(mgr.GetConfig(), options.Settings, cmp.Or(options.QPS, 200), cmp.Or(options.Burst, 400), m, d)
	if err != nil {
		return err
	}
	reader, err := kube.NewReader(mgr.GetConfig(), nil)
	if err != nil {
		return err
	}
	r := &reconciler{
		cache:         cache,
		reader:        reader,
		engine:        options.Engine,
		settings:      options.Settings,
		enqueuer:      enqueuer{cache: cache},
		writer:        writer,
		eventRecorder: eventRecorder{mgr.GetEventRecorder("gammaguard")},
		metrics:       m,
		stopping:      options.Stopping,
	}
	cache.OnChange(r.enqueuer.changed)
	yes := true
	c, err := controller.NewTyped("status", mgr, controller.TypedOptions[mesh.ServiceKey]{
		Reconciler:              r,
		MaxConcurrentReconciles: cmp.Or(options.Workers, 4),
		NeedLeaderElection:      &yes,
		UsePriorityQueue:        &yes,
		SkipNameValidation:      &yes, // the name is for logs and metrics, and tests run several managers
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[mesh.ServiceKey](firstRetry, lastRetry),
	})
	if err != nil {
		return fmt.Errorf("controller of status: %w", err)
	}
	if err := c.Watch(source.TypedFunc[mesh.ServiceKey](r.enqueuer.Start)); err != nil {
		return fmt.Errorf("controller of status: %w", err)
	}
	return nil
}
