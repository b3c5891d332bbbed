package status

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/status"
	"github.com/gammaguard/gammaguard/validate"
)

// processConfig names, in the environment of a test binary that is to be a replica
// in a process of its own, the kubeconfig to use.
const processConfig = "GAMMAGUARD_TEST_REPLICA"

// runProcess is such a process. It ends with its standard input, so that none
// outlives the test, and when it loses the lease.
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
		mgr, err := newManager(config, true)
		if err != nil {
			return err
		}
		if _, _, err := assemble(mgr, status.Options{Policy: &validate.Policy{}, Registerer: prometheus.NewRegistry()}); err != nil {
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

// startProcess starts a replica in a process of its own.
func startProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0]) // it ends with its standard input
	cmd.Env = append(os.Environ(), processConfig+"="+plane.Kubeconfig)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it may be gone already
		_ = cmd.Wait()    // killed or not
	})
	return cmd
}

// leader returns who holds the lease, or nothing.
func (c *cluster) leader() (string, error) {
	lease := &coordinationv1.Lease{}
	if err := c.Get(c.ctx, client.ObjectKey{Namespace: "default", Name: "gammaguard"}, lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", fmt.Errorf("nobody holds the lease")
	}
	return *lease.Spec.HolderIdentity, nil
}
