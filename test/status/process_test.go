package status

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// processConfig names, in the environment of a test binary that is to be a replica
// in a process of its own, the kubeconfig to use. It prints a line "METHOD path"
// for each request for leases that it sends.
const processConfig = "GAMMAGUARD_TEST_REPLICA"

// runProcess is such a process. It exits with its standard input, so that none
// outlives the test, and when it loses the Lease.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	err := func() error {
		config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(processConfig))
		if err != nil {
			return err
		}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if strings.Contains(req.URL.Path, "/leases/") {
					fmt.Println(req.Method, req.URL.Path)
				}
				return next.RoundTrip(req)
			})
		})
		mgr, err := newManager(config, true)
		if err != nil {
			return err
		}
		if _, err := assemble(mgr, status.Options{Engine: engineOf(&validate.Policy{}), Registerer: prometheus.NewRegistry()}); err != nil {
			return err
		}
		return mgr.Start(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "replica:", err)
		return 1
	}
	return 0
}

// process is a replica in a process of its own.
type process struct {
	*exec.Cmd
	printed output
	ended   chan struct{} // closed when it has
}

// startProcess starts one, and waits until it looks at the lease.
func startProcess(t *testing.T) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(context.Background(), os.Args[0]), ended: make(chan struct{})}
	p.Env = append(os.Environ(), processConfig+"="+plane.Kubeconfig)
	p.Stdout, p.Stderr = &p.printed, os.Stderr
	if _, err := p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // killed or not
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may be gone already
		<-p.ended
	})
	wait(t, 30*time.Second, "a look at the lease", func() error {
		if printed := p.printed.String(); !strings.Contains(printed, "/leases/") {
			return fmt.Errorf("printed %q", printed)
		}
		return nil
	})
	return p
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// leader returns who holds the lease, or nothing.
func (c *cluster) leader() (string, error) {
	lease := &coordinationv1.Lease{}
	if err := c.Get(c.ctx, client.ObjectKey{Namespace: election.Namespace, Name: server.LeaseName}, lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", fmt.Errorf("nobody holds the lease")
	}
	return *lease.Spec.HolderIdentity, nil
}
