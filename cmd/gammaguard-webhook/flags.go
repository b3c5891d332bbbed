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
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/gammaguard/gammaguard/config"
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

// parse reads the command line. Asked for help, it prints it and returns
// pflag.ErrHelp; any other error is one line.
func parse(args []string, stdout io.Writer) (*flags, error) {
	f := new(flags)
	set := newFlagSet()
	f.declare(set)
	about := "Serves gammaguard's admission webhooks and keeps the status of mesh routes.\n\nUsage: gammaguard-webhook [flags]\n       gammaguard-webhook " +
		holdPort + " [flags]   holds their port while the server is restarted, see " + holdPort + " --help"
	if err := parseFlags(set, args, about, stdout); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

func newFlagSet() *pflag.FlagSet {
	set := pflag.NewFlagSet("gammaguard-webhook", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SortFlags = false
	return set
}

// parseFlags is parse, without the checks.
func parseFlags(set *pflag.FlagSet, args []string, about string, stdout io.Writer) error {
	err := set.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nFlags:\n%s", about, set.FlagUsages())
		return err
	case err != nil:
		return errors.New(strings.Join(strings.Fields(err.Error()), " "))
	case set.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return nil
}

// declareAddress declares the flags that say where the webhooks are served.
func declareAddress(set *pflag.FlagSet, host *string, port *int) {
	set.StringVar(host, "webhook-bind-address", "", "address to serve the webhooks at; without it, all")
	set.IntVar(port, "webhook-port", server.DefaultWebhookPort, "port to serve the webhooks at")
}

func checkWebhookAddress(host string, port int) error {
	if port < 1 || port > 65535 {
		return fmt.Errorf("--webhook-port: %d is no port", port)
	}
	if host != "" && net.ParseIP(host) == nil {
		return fmt.Errorf("--webhook-bind-address: %q is no IP address", host)
	}
	return nil
}

func (f *flags) declare(set *pflag.FlagSet) {
	set.StringVar(&f.config, "config", "", "file with the GuardConfiguration; without it, the defaults")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "file that says how to reach the API server; without it, the Pod's service account, or kubectl's own configuration")
	s := &f.server
	declareAddress(set, &s.WebhookHost, &s.WebhookPort)
	set.StringVar(&s.ListenerSocket, "listener-socket", "", "unix socket of a gammaguard-webhook "+holdPort+", which keeps the port open while this process is restarted; without it, this process listens alone")
	set.StringVar(&s.CertDir, "cert-dir", defaultCertDir, "folder with tls.crt and tls.key; they may change at any time")
	f.certs.declare(set)
	set.BoolVar(&s.EnableHTTP2, "enable-http2", false, "offer HTTP/2 to clients of the webhooks")
	set.StringVar(&s.MetricsAddress, "metrics-bind-address", ":8080", "host:port to serve metrics at; 0 for none")
	set.StringVar(&s.ProbeAddress, "health-probe-bind-address", ":8081", "host:port to serve /healthz and /readyz at; 0 for none")
	set.StringVar(&s.PprofAddress, "pprof-bind-address", "0", "host:port of loopback to serve profiles at; 0 for none")
	set.DurationVar(&s.ShutdownDelay, "shutdown-delay", 5*time.Second, "how long to go on serving, but not ready, when asked to stop")
	l := &s.LeaderElection
	set.BoolVar(&l.Enabled, "leader-elect", false, "have one of several replicas write status")
	set.StringVar(&l.Namespace, "leader-election-namespace", "", "namespace of the lease; without it, the Pod's")
	set.DurationVar(&l.LeaseDuration, "leader-elect-lease-duration", server.DefaultLeaseDuration, "how long after the death of a leader another replica has taken over")
	set.DurationVar(&l.RenewDeadline, "leader-elect-renew-deadline", server.DefaultRenewDeadline, "how long a leader tries to renew its lease before it gives up")
	set.DurationVar(&l.RetryPeriod, "leader-elect-retry-period", server.DefaultRetryPeriod, "how long to wait between renewals of the lease, and tries at them")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	f.log.declare(set)
}

// check refuses what would only fail later.
func (f *flags) check() error {
	s := &f.server
	if err := checkWebhookAddress(s.WebhookHost, s.WebhookPort); err != nil {
		return err
	}
	if s.CertDir == "" {
		return errors.New("--cert-dir: must not be empty")
	}
	if err := f.certs.check(); err != nil {
		return err
	}
	if s.ShutdownDelay < 0 {
		return fmt.Errorf("--shutdown-delay: %s is negative", s.ShutdownDelay)
	}
	for _, address := range []struct{ flag, value string }{
		{"--metrics-bind-address", s.MetricsAddress}, {"--health-probe-bind-address", s.ProbeAddress},
	} {
		if err := checkAddress(address.value); err != nil {
			return fmt.Errorf("%s: %w", address.flag, err)
		}
	}
	if err := checkLoopback(s.PprofAddress); err != nil {
		return fmt.Errorf("--pprof-bind-address: %w", err)
	}
	if err := s.LeaderElection.Check(); err != nil {
		return fmt.Errorf("--leader-elect-*: %w", err)
	}
	return nil
}

// checkAddress takes "host:port" and "0".
func checkAddress(address string) error {
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is neither host:port nor 0", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is no port", port)
	}
	return nil
}

// checkLoopback takes "host:port" on loopback and "0".
func checkLoopback(address string) error {
	if err := checkAddress(address); err != nil || address == "0" {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return fmt.Errorf("%q is not on loopback", address)
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
		return nil, fmt.Errorf("%s: %s", name, strings.Join(strings.Fields(err.Error()), " "))
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

// logger returns the log that the flags describe.
func (f *logFlags) logger(w io.Writer) logr.Logger {
	return zap.New(zap.UseFlagOptions(&f.zap), zap.WriteTo(w))
}
