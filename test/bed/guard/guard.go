// Package guard runs the real gammaguard-webhook binary on loopback, in front of a
// control plane of the test bed, for tests and the demo.
//
//	err := guard.Install(ctx, plane)            // RBAC and policies
//	g, err := guard.Start(ctx, plane, guard.Options{})
//	defer g.Stop()
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/bed"
)

// stopTimeout bounds the time that a graceful shutdown may take.
const stopTimeout = 30 * time.Second

// defaults is a configuration that sets nothing.
const defaults = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"

// Options configures a gammaguard-webhook.
type Options struct {
	// Config is the content of the configuration file; empty: all defaults.
	Config string
	// Args are additional flags.
	Args []string
	// Unregistered skips the registration of the webhooks with the API server.
	Unregistered bool
	// Exempt is a user whose requests do not reach the webhooks; empty: nobody.
	Exempt string
	// Patient has the API server wait as long as it can for the webhooks, for tests in which
	// a call that a busy machine delays would make a difference.
	Patient bool
}

// Guard is a running gammaguard-webhook.
type Guard struct {
	// URL is the base URL of the webhooks, https on loopback, and CA the bundle in
	// PEM that verifies it.
	URL string
	CA  []byte
	// MetricsURL and PprofURL serve the metrics, and Go's profiles.
	MetricsURL, PprofURL string
	// Kubeconfig is the path of the one that it uses.
	Kubeconfig string
	// CertDir is the folder of its serving certificate.
	CertDir string
	// ReadyAfter is the time from the start until the binary was ready.
	ReadyAfter time.Duration

	readyURL string
	webhooks envtest.WebhookInstallOptions
	cmd      *exec.Cmd
	log      *os.File
	stop     context.CancelFunc
	done     chan struct{}
	exit     error
}

// Start builds and starts gammaguard-webhook, waits until it is ready, registers
// its webhooks, and waits until the API server calls them. The caller must Stop
// it. Install comes first: the binary runs as the ServiceAccount of config/rbac.
func Start(ctx context.Context, cp *bed.ControlPlane, o Options) (*Guard, error) {
	g := &Guard{done: make(chan struct{})}
	if err := g.launch(ctx, cp, o); err != nil {
		return nil, fmt.Errorf("start gammaguard-webhook: %w", err)
	}
	started := time.Now()
	go func() {
		g.exit = g.cmd.Wait()
		_ = g.log.Close()
		close(g.done)
	}()
	err := g.awaitReady(ctx)
	g.ReadyAfter = time.Since(started)
	if err == nil && !o.Unregistered {
		err = g.register(ctx, cp, o.Exempt)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start gammaguard-webhook: %w\nits log:\n%s", err, g.Log()), g.Kill())
	}
	return g, nil
}

// build builds the binary, once in a process: go build takes a second of a processor where
// there is nothing to do.
var build = sync.OnceValues(func() (string, error) {
	return bed.BuildCommand(context.Background(), "gammaguard-webhook")
})

// launch writes the files that the binary reads, and starts it.
func (g *Guard) launch(ctx context.Context, cp *bed.ControlPlane, o Options) (err error) {
	binary, err := build()
	if err != nil {
		return err
	}
	if err := confine(ctx, cp, o.Config); err != nil {
		return err
	}
	if g.Kubeconfig, err = cp.ServiceAccountKubeconfig(ctx, systemNamespace, serviceAccount); err != nil {
		return err
	}
	dir, err := cp.TempDir("guard")
	if err != nil {
		return err
	}
	g.CertDir = filepath.Join(dir, "certs")
	configFile := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(configFile, []byte(cmp.Or(o.Config, defaults)), 0o600); err != nil {
		return err
	}
	if err := g.prepareWebhooks(ctx, o.Patient); err != nil {
		return err
	}
	free, err := freeAddresses(ctx, 3)
	if err != nil {
		return err
	}
	g.MetricsURL, g.PprofURL, g.readyURL = "http://"+free[0]+"/metrics", "http://"+free[1], "http://"+free[2]+"/readyz"
	args := append([]string{
		"--config", configFile,
		"--kubeconfig", g.Kubeconfig,
		"--webhook-port", strconv.Itoa(g.webhooks.LocalServingPort),
		"--cert-dir", g.CertDir,
		"--metrics-bind-address", free[0],
		"--pprof-bind-address", free[1],
		"--health-probe-bind-address", free[2],
		"--leader-elect=false",
		"--serving-binding", config.ServingBinding,
	}, o.Args...)
	if g.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return err
	}
	// The process outlives the caller's context: Stop ends it.
	ctx, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	g.cmd = exec.CommandContext(ctx, binary, args...)
	g.cmd.Env = append(os.Environ(), "GOGC=", "GOMEMLIMIT=") // it takes as much memory as in its Pod
	g.cmd.Cancel = func() error { return g.cmd.Process.Signal(syscall.SIGTERM) }
	g.cmd.WaitDelay = stopTimeout
	g.cmd.Stdout, g.cmd.Stderr = g.log, g.log
	g.cmd.SysProcAttr = ChildAttributes()
	return g.cmd.Start()
}

// freeAddresses returns addresses of loopback on which nobody listened a moment ago.
func freeAddresses(ctx context.Context, n int) (addresses []string, err error) {
	for range n {
		port, err := bed.FreePort(ctx)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	return addresses, nil
}

func (g *Guard) awaitReady(ctx context.Context) error {
	err := poll(ctx, func(ctx context.Context) (bool, error) {
		select {
		case <-g.done:
			return false, fmt.Errorf("it exited: %w", g.exit)
		default:
		}
		return g.Ready(ctx) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until it is ready: %w", err)
	}
	return nil
}

// get returns the body of a response whose status is OK.
func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s", url, response.Status))
	}
	return string(body), errors.Join(err, response.Body.Close())
}

// Ready returns nil while its readiness probe succeeds.
func (g *Guard) Ready(ctx context.Context) error {
	_, err := get(ctx, g.readyURL)
	return err
}

// Metrics returns its metrics as they are scraped.
func (g *Guard) Metrics(ctx context.Context) (string, error) { return get(ctx, g.MetricsURL) }

// PID is the binary's process ID.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

// LogPath is the path of the file that it prints to.
func (g *Guard) LogPath() string { return g.log.Name() }

// Log returns what the binary has printed so far.
func (g *Guard) Log() string {
	text, err := os.ReadFile(g.LogPath())
	if err != nil {
		return err.Error() // it goes with the control plane
	}
	return string(text)
}

// Stop shuts the binary down as Kubernetes does, by SIGTERM, and returns an error
// if it fails or has to be killed. Its webhooks stay registered.
func (g *Guard) Stop() error {
	select {
	case <-g.done: // after Kill
		return nil
	default:
	}
	g.stop()
	<-g.done
	if g.exit != nil && !errors.Is(g.exit, context.Canceled) {
		return fmt.Errorf("stop gammaguard-webhook: %w\nits log:\n%s", g.exit, g.Log())
	}
	return nil
}

// Kill ends the binary at once, by SIGKILL. Its webhooks stay registered.
func (g *Guard) Kill() error {
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill gammaguard-webhook: %w", err)
	}
	<-g.done
	return nil
}
