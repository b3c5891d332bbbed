// Package server runs gammaguard's webhook server: a controller-runtime manager
// with the webhooks, the caches that they judge by, the status reconciler, and
// health and readiness. It can run in the process of its caller, as it does in
// tests.
package server

import (
	"cmp"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/config"
)

// Options configures the server. Config and CertDir must be set.
type Options struct {
	// Config is how to reach the API server.
	Config *rest.Config
	// Guard is the configuration; nil is the default one.
	Guard *config.GuardConfiguration
	// CertDir is the folder of tls.crt and tls.key. The files may come later, and
	// change: the server is not ready without.
	CertDir string
	// CertSource writes the files in CertDir and reports why there is no certificate;
	// nil if something else writes them.
	CertSource certs.Source
	// CertHost is the DNS name that the certificate must be for; empty for any.
	CertHost string
	// ClientCAFile has the certificates of the CAs, in PEM, of which one must have signed
	// the certificate of whoever calls the webhooks. It is read again when it changes.
	// Empty: callers are not authenticated.
	ClientCAFile string
	// ClientAllowedNames are the common names and DNS names of which the caller's
	// certificate must have one; empty for any.
	ClientAllowedNames []string
	// WebhookHost is the address that the webhooks are served at; empty for all.
	WebhookHost string
	// WebhookPort is their port; zero is 9443.
	WebhookPort int
	// MetricsAddress and ProbeAddress are where metrics, health and readiness are
	// served, as "host:port"; empty or "0" is nowhere.
	MetricsAddress, ProbeAddress string
	// PprofAddress is where net/http/pprof is served, as "host:port"; empty or "0"
	// is nowhere. It must be on loopback: profiles reveal the content of memory.
	PprofAddress string
	// EnableHTTP2 offers HTTP/2 to clients of the webhooks.
	EnableHTTP2 bool
	// MaxStaleness is how old the caches may get: beyond it the server is not ready, and
	// judges by live reads alone. Zero is no bound.
	MaxStaleness time.Duration
	// DisableStandingAudit: the leader does not judge stored routes. It excludes Reports.
	DisableStandingAudit bool
	// ServingBinding is the ClusterRoleBinding to which this process adds itself once an API
	// server has reached the webhooks: from then on mesh routes are refused while nobody
	// answers. Empty: that is somebody else's to do.
	ServingBinding string
	// LeaderElection configures how replicas elect who writes status.
	LeaderElection LeaderElection
	// ShutdownDelay is how long the server goes on serving, but not ready, before
	// it stops, so that clients can detect it.
	ShutdownDelay time.Duration
	// Registerer takes the metrics; nil is controller-runtime's, which is what is
	// served at MetricsAddress. Several servers in one process need one each.
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// DefaultMaxStaleness is the bound that the command sets, MinMaxStaleness the least: a
// watch lasts a third of it.
const (
	DefaultMaxStaleness = 30 * time.Second
	MinMaxStaleness     = 10 * time.Second
)

// DefaultWebhookPort is that of controller-runtime.
const DefaultWebhookPort = 9443

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
