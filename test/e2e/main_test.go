//go:build e2e

// Package e2e proves gammaguard where users run it: each overlay of config, applied
// with kubectl apply -k on a real single-node cluster (package node), with
// cert-manager running beside it. Its tests have the build tag e2e; make e2e runs
// them, as root. A failing run with GAMMAGUARD_KEEP=1 leaves the cluster up.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	if os.Getenv(insideVariable) != "" {
		os.Exit(m.Run())
	}
	if err := outsideTests(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// outsideTests is what this binary does but running tests: it serves the cluster,
// or starts one and the tests.
func outsideTests() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if node.IsServe() {
		return node.Serve(ctx)
	}
	return outside(ctx)
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
		if err := node.Up(ctx); err != nil {
			return err
		}
		if os.Getenv(keepVariable) == "" {
			defer func() { err = errors.Join(err, node.Down(context.WithoutCancel(ctx))) }()
		}
	}
	if err := importImages(ctx); err != nil {
		return err
	}
	cmd := node.Inside(ctx, os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the tests: %w", err)
	}
	return nil
}
