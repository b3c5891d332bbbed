package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/status/audit"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
	"github.com/gammaguard/gammaguard/webhook"
)

// Server is a webhook server that Run runs, once.
type Server struct {
	options     Options
	manager     manager.Manager
	cache       *kube.Cache
	certificate *certificate
	connections *connections // of the webhooks
	serving     atomic.Bool  // the webhooks
	draining    atomic.Bool
	unready     atomic.Value // the reason that was logged last
}

// Run runs a webhook server until the context is canceled, and then for
// Options.ShutdownDelay.
func Run(ctx context.Context, options Options) error {
	s, err := New(options)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// New returns a server. It reserves its ports, but serves
// nothing yet.
func New(options Options) (*Server, error) {
	options.setDefaults()
	s := &Server{options: options, certificate: &certificate{
		dir: options.CertDir, host: options.CertHost, source: options.CertSource, log: options.Log,
	}}
	var err error
	if s.manager, err = s.newManager(); err != nil {
		return nil, err
	}
	if err := s.wire(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) newManager() (manager.Manager, error) {
	options := manager.Options{
		Logger:                 s.options.Log,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // see scrapes
		HealthProbeBindAddress: "0",                                     // see probes
		PprofBindAddress:       s.options.PprofAddress,
	}
	s.options.LeaderElection.Set(&options)
	// The manager's own client is for leases and events; the caches and the status
	// writer bring theirs.
	config := rest.CopyConfig(s.options.Config)
	config.UserAgent = cmp.Or(config.UserAgent, "gammaguard-webhook") // audit logs name who writes status
	mgr, err := manager.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("manager: %w", err)
	}
	return mgr, nil
}

// wire makes the parts and adds them to the manager.
func (s *Server) wire() error {
	engine, err := validate.New(rules.Catalog(), s.options.Guard.Policy())
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	handlers, err := s.webhooks(engine)
	if err != nil {
		return err
	}
	if err := status.Add(s.manager, s.cache, status.Options{
		Engine: engine, Settings: desired.Settings(s.options.Guard.Status), Stopping: s.draining.Load, Registerer: s.options.Registerer,
	}); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if err := s.addAudit(engine); err != nil {
		return fmt.Errorf("standing audit: %w", err)
	}
	if err := s.registerMetrics(); err != nil {
		return err
	}
	if s.options.CertSource != nil {
		if err := s.options.CertSource.SetUp(s.manager); err != nil {
			return err
		}
	}
	return s.addRunnables(handlers)
}

// webhooks makes the cache, and returns the handlers that judge by it.
func (s *Server) webhooks(engine *validate.Engine) (http.Handler, error) {
	guard := s.options.Guard
	metrics, err := webhook.NewMetrics(s.options.Registerer)
	if err != nil {
		return nil, fmt.Errorf("metrics of the webhooks: %w", err)
	}
	unreadable := func(kind, namespace, name string, err error) {
		metrics.Unreadable(kind)
		s.options.Log.Info("A stored object cannot be read, and is treated as if it did not exist", "kind", kind, "namespace", namespace, "name", name, "reason", err.Error())
	}
	cacheOptions := kube.Options{
		Mesh:           engine.Policy().Mesh,
		ControllerName: guard.Status.ControllerName, FormerControllerNames: guard.Status.FormerControllerNames,
		MaxStaleness: s.options.MaxStaleness, Unreadable: unreadable,
	}
	if s.cache, err = kube.New(s.options.Config, cacheOptions); err != nil {
		return nil, err
	}
	reader, err := kube.NewReader(s.options.Config, metrics.Read)
	if err != nil {
		return nil, err
	}
	reader.Mesh = engine.Policy().Mesh
	handlers := http.NewServeMux()
	webhooks := webhook.Options{
		Reader: s.cache, Live: reader, Sync: s.cache, Stored: stored{s.cache, reader}, Metrics: metrics, Log: s.options.Log,
	}
	if guard.Preview {
		webhooks.Preview = reader
	}
	webhook.Register(handlers, webhooks, engine, guard.DisabledMutations())
	return handlers, nil
}

// registerMetrics registers how old the certificate and the cache are.
func (s *Server) registerMetrics() error {
	if err := s.options.Registerer.Register(certs.NewExpiry(s.certificate.leaf)); err != nil {
		return fmt.Errorf("metric of the certificate: %w", err)
	}
	if err := s.options.Registerer.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gammaguard_cache_age_seconds",
		Help: "Age of the oldest cache of this replica in seconds. Changes in the cluster since then may be missing from it.",
	}, func() float64 {
		age, _ := s.cache.Age()
		return age.Seconds()
	})); err != nil {
		return fmt.Errorf("metric of the caches: %w", err)
	}
	return nil
}

// addRunnables adds the cache and what is served to the manager.
func (s *Server) addRunnables(handlers http.Handler) error {
	hooks, err := s.newHooks(handlers)
	if err != nil {
		return err
	}
	runnables := []manager.Runnable{hooks, s.cache, s.certificate}
	if s.options.ServingBinding != "" {
		activation := &activation{
			binding: s.options.ServingBinding, ready: s.Ready, reader: s.manager.GetAPIReader(), writer: s.manager.GetClient(), log: s.options.Log,
		}
		if err := s.options.Registerer.Register(activation.metric()); err != nil {
			return fmt.Errorf("metric of serving: %w", err)
		}
		runnables = append(runnables, activation)
	}
	policies := &policies{
		want: grantpolicy.New(s.options.Guard.Policy()), reader: s.manager.GetAPIReader(),
		recorder: s.manager.GetEventRecorder("gammaguard"), log: s.options.Log,
	}
	if err := s.options.Registerer.Register(policies); err != nil {
		return fmt.Errorf("metric of the policies: %w", err)
	}
	runnables = append(runnables, policies)
	for _, plain := range []struct {
		name, address string
		handler       http.Handler
	}{{"health and readiness", s.options.ProbeAddress, s.probes()}, {"metrics", s.options.MetricsAddress, scrapes()}} {
		if plain.address == "0" {
			continue
		}
		server, err := newPlain(plain.name, plain.address, plain.handler)
		if err != nil {
			return err
		}
		runnables = append(runnables, server)
	}
	for _, runnable := range runnables {
		if err := s.manager.Add(runnable); err != nil {
			return err
		}
	}
	return nil
}

// addAudit adds the standing audit to the manager.
func (s *Server) addAudit(engine *validate.Engine) error {
	guard := s.options.Guard
	reports := guard.Reports == config.OpenReports
	switch {
	case !s.options.DisableStandingAudit:
		return audit.Add(s.manager, s.cache, audit.Options{
			Judge: creation.Judge{Engine: engine, Off: guard.DisabledMutations()}, Reports: reports,
			Registerer: s.options.Registerer, Log: s.options.Log,
		})
	case reports:
		return fmt.Errorf("it is disabled, and the configuration has reports: %s, which needs it", config.OpenReports)
	}
	return nil
}

// stored finds routes by the index of the cache, and reads them live where more of them
// is needed than it keeps.
type stored struct {
	*kube.Cache
	reader *kube.Reader
}

// Routes implements webhook.Stored.
func (s stored) Routes(ctx context.Context, kind mesh.RouteKind, namespace string, each func(jsontext.Value) error) error {
	return s.reader.Routes(ctx, kind, namespace, each)
}

// Run serves until the context is canceled. Then it reports that it is not ready, writes no more
// status, goes on serving for the shutdown delay, and returns when all requests are answered.
func (s *Server) Run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		s.draining.Store(true)
		s.options.Log.Info("Shutting down", "delay", s.options.ShutdownDelay.String())
		select {
		case <-ended:
		case <-time.After(s.options.ShutdownDelay):
			stop()
		}
	}()
	err := s.manager.Start(serving)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}
