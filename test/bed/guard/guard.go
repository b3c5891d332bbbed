// Package guard runs the real gammaguard-webhook binary on loopback, in front of a
// control plane of the test bed, as tests and the demo want it.
//
//	err := guard.Install(ctx, plane)            // RBAC and policies
//	g, err := guard.Start(ctx, plane, guard.Options{})
//	defer g.Stop()
//
// Tests that serve the webhook's handlers in process call Register instead of
// Start.
package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

const (
	// readyTimeout bounds the time until /readyz answers.
	readyTimeout = 2 * time.Minute
	// stopTimeout bounds the time that a graceful shutdown may take.
	stopTimeout = 30 * time.Second
)

// defaults is a configuration that sets nothing.
const defaults = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\n"

// Options says how to run the binary.
type Options struct {
	// Config is the content of the configuration file; empty: all defaults.
	Config string
	// Args are further flags.
	Args []string
	// Binary is the path of a gammaguard-webhook; empty: it is built.
	Binary string
	// Unregistered leaves it to the caller to call the webhooks: the API server is
	// not told of them.
	Unregistered bool
}

// Guard is a running gammaguard-webhook.
type Guard struct {
	// URL is the webhook's base URL, https on loopback, and CA the bundle in PEM by
	// which to trust it.
	URL string
	CA  []byte
	// MetricsURL is the URL of the metrics.
	MetricsURL string
	// CertDir is the folder of the serving certificate.
	CertDir string
	// ReadyAfter is how long after its start the binary said that it was ready.
	ReadyAfter time.Duration

	healthURL string
	cmd       *exec.Cmd
	log       syncBuffer
	done      chan struct{}
	exit      error
}

// Start builds and starts gammaguard-webhook, waits until it is ready, registers
// its webhooks, and waits until the API server calls them. The caller must Stop
// it. Install comes first: the binary runs as the ServiceAccount of config/rbac.
func Start(ctx context.Context, cp *bed.ControlPlane, o Options) (*Guard, error) {
	binary := o.Binary
	if binary == "" {
		built, err := bed.BuildCommand(ctx, "gammaguard-webhook")
		if err != nil {
			return nil, err
		}
		binary = built
	}
	g := &Guard{done: make(chan struct{})}
	if err := g.prepare(ctx, cp, binary, o); err != nil {
		return nil, fmt.Errorf("start gammaguard-webhook: %w", err)
	}
	started := time.Now()
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start gammaguard-webhook: %w", err)
	}
	go func() {
		g.exit = g.cmd.Wait()
		close(g.done)
	}()
	err := g.awaitReady(ctx)
	g.ReadyAfter = time.Since(started)
	if err == nil && !o.Unregistered {
		err = Register(ctx, cp, g.URL, g.CA)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start gammaguard-webhook: %w\nits log:\n%s", err, g.Log()), g.Kill())
	}
	return g, nil
}

// prepare writes the files that the binary reads, and its command line.
func (g *Guard) prepare(ctx context.Context, cp *bed.ControlPlane, binary string, o Options) error {
	kubeconfig, err := identity(ctx, cp)
	if err != nil {
		return err
	}
	dir, err := cp.TempDir("guard")
	if err != nil {
		return err
	}
	configFile := filepath.Join(dir, "config.yaml")
	if o.Config == "" {
		o.Config = defaults
	}
	if err := os.WriteFile(configFile, []byte(o.Config), 0o600); err != nil {
		return err
	}
	bundle, err := selfsigned.New("127.0.0.1", "localhost")
	if err != nil {
		return err
	}
	g.CA = bundle.CA
	g.CertDir = filepath.Join(dir, "certs")
	if err := bundle.WriteDir(g.CertDir); err != nil {
		return err
	}
	ports, err := freePorts(ctx, 3)
	if err != nil {
		return err
	}
	host := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	g.URL = "https://" + host(0)
	g.MetricsURL = "http://" + host(1) + "/metrics"
	g.healthURL = "http://" + host(2)
	args := []string{
		"--config", configFile,
		"--kubeconfig", kubeconfig,
		"--webhook-port", strconv.Itoa(ports[0]),
		"--cert-dir", g.CertDir,
		"--metrics-bind-address", host(1),
		"--health-probe-bind-address", host(2),
		"--leader-elect=false",
	}
	// The process outlives the context: Stop ends it.
	g.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary, append(args, o.Args...)...)
	g.cmd.Stdout, g.cmd.Stderr = &g.log, &g.log
	g.cmd.SysProcAttr = childAttributes()
	return nil
}

// identity returns the kubeconfig of the ServiceAccount in config/rbac, so that
// the binary has the rights that it would have where it is installed, no more, and
// the API server tells who it is by the same means.
func identity(ctx context.Context, cp *bed.ControlPlane) (string, error) {
	objects, err := Manifests("rbac")
	if err != nil {
		return "", err
	}
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" {
			return cp.ServiceAccountKubeconfig(ctx, object.GetNamespace(), object.GetName())
		}
	}
	return "", errors.New("config/rbac holds no ServiceAccount")
}

// freePorts returns ports of loopback that nobody listened on a moment ago. It
// holds each until it has all, so that they differ.
func freePorts(ctx context.Context, n int) (ports []int, err error) {
	var listeners []net.Listener
	defer func() {
		for _, listener := range listeners {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range n {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, listener)
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("unexpected address %s", listener.Addr())
		}
		ports = append(ports, address.Port)
	}
	return ports, nil
}

func (g *Guard) awaitReady(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-g.done:
			return false, fmt.Errorf("it ended: %w", g.exit)
		default:
		}
		return g.Ready(ctx), nil
	})
	if err != nil {
		return fmt.Errorf("wait until it is ready: %w", err)
	}
	return nil
}

// Ready says whether /readyz answers that it is.
func (g *Guard) Ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.healthURL+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// PID is the binary's process ID.
func (g *Guard) PID() int { return g.cmd.Process.Pid }

// Log returns what the binary has printed so far.
func (g *Guard) Log() string { return g.log.String() }

// Stop ends the binary as Kubernetes would, by SIGTERM, and returns an error where
// it does not end in time or fails. Its webhooks stay registered.
func (g *Guard) Stop() error {
	select {
	case <-g.done:
		return nil
	default:
	}
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop gammaguard-webhook: %w", err)
	}
	select {
	case <-g.done:
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("stop gammaguard-webhook: it did not end within %s of SIGTERM", stopTimeout), g.Kill())
	}
	if g.exit != nil {
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

// syncBuffer is a buffer that may be read while it is written.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write appends p.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String returns what was written.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
