// Package server runs gammaguard's webhook server: a controller-runtime manager
// with the webhooks, the caches that they judge by, the status reconciler, and
// health and readiness. It can run in the process of its caller, as it does in
// tests.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/config"
)

// Options says what to run. Config and CertDir must be set.
type Options struct {
	// Config is how to reach the API server.
	Config *rest.Config
	// Guard is the configuration; nil is the default one.
	Guard *config.GuardConfiguration
	// CertDir is the folder of tls.crt and tls.key. The files may come later, and
	// change: the server is not ready without.
	CertDir string
	// CertSource is who fills CertDir; nil is somebody else, who is not asked why
	// there is no certificate.
	CertSource certs.Source
	// CertHost is the DNS name that the certificate must be for; empty for any.
	CertHost string
	// WebhookHost is the address that the webhooks are served at; empty for all.
	WebhookHost string
	// WebhookPort is their port; zero is 9443.
	WebhookPort int
	// MetricsAddress and ProbeAddress are where metrics, health and readiness are
	// served, as "host:port"; empty or "0" is nowhere.
	MetricsAddress, ProbeAddress string
	// PprofAddress is where net/http/pprof is served, as "host:port"; empty or "0"
	// is nowhere. It must be on loopback: profiles tell what is in memory.
	PprofAddress string
	// EnableHTTP2 offers HTTP/2 to clients of the webhooks.
	EnableHTTP2 bool
	// LeaderElection says how replicas agree on who writes status.
	LeaderElection LeaderElection
	// ShutdownDelay is how long the server goes on serving, but not ready, before
	// it stops: as long as it takes for clients to learn that.
	ShutdownDelay time.Duration
	// Registerer takes the metrics; nil is controller-runtime's, which is what is
	// served at MetricsAddress. Several servers in one process need one each.
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// LeaderElection says how replicas agree on who writes status. Every replica
// serves the webhooks.
type LeaderElection struct {
	// Enabled: without it, the process takes itself for the leader.
	Enabled bool
	// Namespace is the lease's; empty is the namespace that the process runs in.
	Namespace string
	// The lease's durations; zero is 15, 10 and 2 seconds.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// The defaults of Kubernetes' own components.
const (
	DefaultWebhookPort   = 9443
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

func (o *Options) setDefaults() {
	if o.Guard == nil {
		o.Guard = config.Default()
	}
	if o.Registerer == nil {
		o.Registerer = ctrlmetrics.Registry
	}
	o.WebhookPort = cmp.Or(o.WebhookPort, DefaultWebhookPort)
	o.MetricsAddress = cmp.Or(o.MetricsAddress, "0")
	o.ProbeAddress = cmp.Or(o.ProbeAddress, "0")
	l := &o.LeaderElection
	l.LeaseDuration = cmp.Or(l.LeaseDuration, DefaultLeaseDuration)
	l.RenewDeadline = cmp.Or(l.RenewDeadline, DefaultRenewDeadline)
	l.RetryPeriod = cmp.Or(l.RetryPeriod, DefaultRetryPeriod)
}

// Check says in one line what is wrong with the durations.
func (l *LeaderElection) Check() error {
	const jitter = 1.2 // client-go's, on the retry period
	switch {
	case l.RetryPeriod <= 0:
		return errors.New("the retry period must be positive")
	case l.LeaseDuration <= l.RenewDeadline:
		return fmt.Errorf("the lease duration (%s) must be longer than the renew deadline (%s)", l.LeaseDuration, l.RenewDeadline)
	case float64(l.RenewDeadline) <= jitter*float64(l.RetryPeriod):
		return fmt.Errorf("the renew deadline (%s) must be longer than %g times the retry period (%s)", l.RenewDeadline, jitter, l.RetryPeriod)
	}
	return nil
}
