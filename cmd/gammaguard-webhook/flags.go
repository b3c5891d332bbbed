package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/pflag"
	uberzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// flags are the command line.
type flags struct {
	version    bool
	config     string
	kubeconfig string
	server     server.Options
	certs      certificateFlags
	log        logFlags
}

const defaultCertDir = "/var/run/gammaguard/certs"

// parse reads the command line. With --help it prints the help and returns
// pflag.ErrHelp; any other error is one line.
func parse(args []string, stdout io.Writer) (*flags, error) {
	f := new(flags)
	set := pflag.NewFlagSet("gammaguard-webhook", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SortFlags = false
	f.declare(set)
	err := set.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		printable.Fprintf(stdout, "Serves the gammaguard admission webhooks and maintains the status of mesh routes.\n\nUsage: gammaguard-webhook [flags]\n\nFlags:\n%s", printable.Layout(set.FlagUsages()))
		return nil, err
	case err != nil:
		return nil, oneLine(err)
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

// oneLine joins the lines of an error.
func oneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }

func (f *flags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.config, "config", "", "path of the GuardConfiguration file (default: the built-in configuration)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig file (default: the Pod's service account, or kubectl's configuration)")
	s := &f.server
	set.StringVar(&s.WebhookHost, "webhook-bind-address", "", "IP address on which to serve the webhooks (default: all)")
	set.IntVar(&s.WebhookPort, "webhook-port", server.DefaultWebhookPort, "port on which to serve the webhooks")
	set.StringVar(&s.CertDir, "cert-dir", defaultCertDir, "directory of tls.crt and tls.key, which are reloaded when they change")
	f.certs.declare(set)
	set.StringVar(&s.ClientCAFile, "client-ca-file", "", "file of CA certificates; callers of the webhooks need a client certificate that one of them signed (default: callers are not authenticated)")
	set.StringSliceVar(&s.ClientAllowedNames, "client-allowed-names", nil, "with --client-ca-file: common names or DNS names, of which a client certificate must have one (default: any)")
	set.BoolVar(&s.EnableHTTP2, "enable-http2", false, "offer HTTP/2 on the webhook port")
	set.StringVar(&s.MetricsAddress, "metrics-bind-address", ":8080", "host:port on which to serve metrics; 0 disables them")
	set.StringVar(&s.ProbeAddress, "health-probe-bind-address", ":8081", "host:port on which to serve /healthz and /readyz; 0 disables them")
	set.StringVar(&s.PprofAddress, "pprof-bind-address", "0", "loopback host:port on which to serve profiles; 0 disables them")
	set.DurationVar(&s.ShutdownDelay, "shutdown-delay", 5*time.Second, "how long to keep serving, but not ready, after a termination signal")
	set.DurationVar(&s.MaxStaleness, "max-staleness", server.DefaultMaxStaleness, "how old the caches may get; beyond it the replica is not ready, and uses live reads; 0 sets no bound")
	set.BoolVar(&s.DisableStandingAudit, "disable-standing-audit", false, "do not check stored routes for gammaguard_stored_findings and Reports")
	set.StringVar(&s.ServingBinding, "serving-binding", "", "ClusterRoleBinding to which the process adds its ServiceAccount once the API server has reached the webhooks (default: none)")
	l := &s.LeaderElection
	set.BoolVar(&l.Enabled, "leader-elect", false, "enable leader election for status")
	set.StringVar(&l.Namespace, "leader-election-namespace", "", "namespace of the Lease (default: the Pod's)")
	set.DurationVar(&l.LeaseDuration, "leader-elect-lease-duration", server.DefaultLeaseDuration, "how long other replicas wait for a renewal before they take over")
	set.DurationVar(&l.RenewDeadline, "leader-elect-renew-deadline", server.DefaultRenewDeadline, "how long the leader tries to renew the Lease before it exits")
	set.DurationVar(&l.RetryPeriod, "leader-elect-retry-period", server.DefaultRetryPeriod, "time between attempts to acquire or renew the Lease")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	f.log.declare(set)
}

// check rejects values that would only fail later.
func (f *flags) check() error {
	s := &f.server
	if s.WebhookPort < 1 || s.WebhookPort > 65535 {
		return fmt.Errorf("--webhook-port: %d is not a valid port", s.WebhookPort)
	}
	if s.WebhookHost != "" && net.ParseIP(s.WebhookHost) == nil {
		return fmt.Errorf("--webhook-bind-address: %q is not a valid IP address", s.WebhookHost)
	}
	if s.CertDir == "" {
		return errors.New("--cert-dir: must not be empty")
	}
	if err := f.certs.check(); err != nil {
		return err
	}
	if s.ClientCAFile == "" && len(s.ClientAllowedNames) > 0 {
		return errors.New("--client-allowed-names: requires --client-ca-file")
	}
	if s.ShutdownDelay < 0 {
		return fmt.Errorf("--shutdown-delay: must not be negative: %s", s.ShutdownDelay)
	}
	if s.MaxStaleness != 0 && s.MaxStaleness < server.MinMaxStaleness {
		return fmt.Errorf("--max-staleness: must be 0 or at least %s: %s", server.MinMaxStaleness, s.MaxStaleness)
	}
	for _, address := range []struct {
		flag, value string
		check       func(string) error
	}{
		{"--metrics-bind-address", s.MetricsAddress, checkAddress},
		{"--health-probe-bind-address", s.ProbeAddress, checkAddress},
		{"--pprof-bind-address", s.PprofAddress, checkLoopback},
	} {
		if err := address.check(address.value); err != nil {
			return fmt.Errorf("%s: %w", address.flag, err)
		}
	}
	if err := s.LeaderElection.Check(); err != nil {
		return fmt.Errorf("--leader-elect-*: %w", err)
	}
	return nil
}

// checkAddress accepts "host:port" and "0".
func checkAddress(address string) error {
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not a valid host:port, nor 0", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a valid port", port)
	}
	return nil
}

// checkLoopback accepts "host:port" on loopback and "0".
func checkLoopback(address string) error {
	if err := checkAddress(address); err != nil || address == "0" {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address", address)
	}
	return nil
}

// options returns what to run.
func (f *flags) options() (server.Options, error) {
	options := f.server
	options.CertSource, options.CertHost = f.certs.from(options.CertDir), f.certs.host()
	options.Guard = config.Default()
	var err error
	if f.config != "" {
		if options.Guard, err = config.LoadFile(f.config); err != nil {
			return options, err
		}
	}
	if options.Config, err = f.clientConfig(); err != nil {
		return options, err
	}
	return options, nil
}

func (f *flags) clientConfig() (*rest.Config, error) {
	if f.kubeconfig == "" {
		inCluster, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return inCluster, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		name := "kubectl's configuration"
		if f.kubeconfig != "" {
			name = "--kubeconfig " + f.kubeconfig
		}
		return nil, fmt.Errorf("%s: %w", name, oneLine(err))
	}
	return loaded, nil
}

// logFlags are controller-runtime's for zap.
type logFlags struct{ zap zap.Options }

func (f *logFlags) declare(set *pflag.FlagSet) {
	f.zap.TimeEncoder = zapcore.RFC3339TimeEncoder
	logging := flag.NewFlagSet("", flag.ContinueOnError)
	f.zap.BindFlags(logging)
	set.AddGoFlagSet(logging)
}

// logger returns the log that the flags describe. In JSON, all that does not show is
// written as an escape of JSON. Every line is written: controller-runtime's sampling of lines with
// equal messages would have one caller's denials keep those of others out; what requests may
// cause has budgets of its own.
func (f *logFlags) logger(w io.Writer) logr.Logger {
	var all zapcore.Core
	keep := uberzap.WrapCore(func(core zapcore.Core) zapcore.Core { all = core; return core })
	sampled := zap.NewRaw(zap.UseFlagOptions(&f.zap), zap.RawZapOpts(keep), zap.WriteTo(printable.JSON(w)))
	return zapr.NewLogger(sampled.WithOptions(uberzap.WrapCore(func(zapcore.Core) zapcore.Core { return all })))
}
