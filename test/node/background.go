package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gammaguard/gammaguard/test/bed"
)

// upTimeout bounds the start of a cluster whose binaries are built, on a machine
// that does other things beside.
const upTimeout = 4 * time.Minute

// Dir returns the folder of the running cluster's files: kubeconfig, logs, the
// socket of containerd.
func Dir() (string, error) {
	root, err := bed.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".cache", "cluster"), nil
}

// Up builds what is missing, starts a cluster in the background, and returns when
// its node is ready. It says how to use it.
func Up(ctx context.Context, progress io.Writer) error {
	if err := Prerequisites(); err != nil {
		return err
	}
	dir, err := Dir()
	if err != nil {
		return err
	}
	if pid, running := supervisor(dir); running {
		return fmt.Errorf("a cluster is running already (process %d): make cluster-down", pid)
	}
	if err := build(ctx, dir, progress); err != nil {
		return err
	}
	if err := createNetwork(ctx); err != nil {
		return err
	}
	if err := launch(ctx, dir, progress); err != nil {
		return errors.Join(err, Down(context.WithoutCancel(ctx), progress))
	}
	fmt.Fprintf(progress, "\nThe cluster is up. In its network:\n\n  nsenter --net=%s env KUBECONFIG=%s %s get pods -A\n\nStop it with: make cluster-down\n",
		namespacePath(), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "bin", "kubectl"))
	return nil
}

// launch starts the supervisor in the network namespace, and follows what it says
// until the cluster is ready or it ends.
func launch(ctx context.Context, dir string, progress io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "supervisor.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child writes it
	cmd := Inside(context.WithoutCancel(ctx), self, "serve")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	told := 0
	for {
		said, err := os.ReadFile(log.Name())
		if err != nil {
			return err
		}
		fmt.Fprint(progress, string(said[told:]))
		told = len(said)
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the cluster did not start: %w\n%s", err, said[told:])
		case <-ctx.Done():
			return fmt.Errorf("the cluster did not start: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// Serve runs a cluster in this process's network namespace until the context is
// done, then stops it. It is what Up starts in the background.
func Serve(ctx context.Context, progress io.Writer) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	cluster, err := Start(ctx, dir, filepath.Join(dir, "bin"), progress)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600)
	if err == nil {
		fmt.Fprintln(progress, "the node is ready")
		<-ctx.Done()
	}
	return errors.Join(err, cluster.Stop(context.WithoutCancel(ctx)))
}

// supervisor returns the process that runs the cluster, if there is one.
func supervisor(dir string) (pid int, running bool) {
	data, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(string(data))
	if err != nil {
		return 0, false
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid, err == nil && strings.Contains(string(cmdline), "serve")
}

// Down stops the cluster and removes all that it left. It does nothing where
// there is none, and tidies up after one that was killed.
func Down(ctx context.Context, progress io.Writer) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if pid, running := supervisor(dir); running {
		fmt.Fprintln(progress, "stopping the cluster")
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return err
		}
		deadline := time.Now().Add(time.Minute)
		for running {
			if time.Now().After(deadline) {
				return fmt.Errorf("the cluster's process %d does not end", pid)
			}
			time.Sleep(100 * time.Millisecond)
			_, running = supervisor(dir)
		}
	}
	return errors.Join(killPods(ctx, dir), unmountBelow(dir), removeCgroups(), deleteNetwork(ctx), os.RemoveAll(dir))
}
