//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/gammaguard/gammaguard/test/node"
)

const (
	// insideVariable is set in the process that runs the tests, in the cluster's
	// network.
	insideVariable = "GAMMAGUARD_E2E_INSIDE"
	// keepVariable, where it is set, keeps the cluster after the tests.
	keepVariable = "GAMMAGUARD_KEEP"
)

// TestMain starts a cluster, unless one runs, and runs the tests in its network,
// by running this binary again there.
func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case node.IsServe():
		err = node.Serve(ctx, os.Stderr)
	case os.Getenv(insideVariable) != "":
		os.Exit(m.Run())
	default:
		err = outside(ctx)
	}
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		os.Exit(max(failed.ExitCode(), 1)) // the tests have told why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func outside(ctx context.Context) (err error) {
	if err := node.Prerequisites(); err != nil {
		return err
	}
	running, err := node.Running()
	if err != nil {
		return err
	}
	if !running {
		if err := node.Up(ctx, os.Stderr); err != nil {
			return err
		}
		if os.Getenv(keepVariable) == "" {
			defer func() { err = errors.Join(err, node.Down(context.WithoutCancel(ctx), os.Stderr)) }()
		}
	}
	if err := importImages(ctx, os.Stderr); err != nil {
		return err
	}
	cmd := node.Inside(ctx, os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}
