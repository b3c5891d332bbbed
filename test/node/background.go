//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gammaguard/gammaguard/test/bed"
)

// upTimeout bounds the start of a cluster whose binaries are built, on a machine
// that does other things beside.
const upTimeout = 4 * time.Minute

// downTimeout bounds the time that the supervisor may take to end.
const downTimeout = 10 * time.Second

// Dir returns the folder of the running cluster's files: kubeconfig, kubectl, the
// logs, the audit log, the socket of containerd.
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
	if err := checkLength(dir); err != nil {
		return err
	}
	if pid, running := supervisor(dir); running {
		return fmt.Errorf("a cluster is running already (process %d): make cluster-down", pid)
	}
	if err := cleanUp(ctx, dir); err != nil { // after one that was killed
		return err
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
	fmt.Fprintf(progress, "\nThe cluster is up. Use it with:\n\n  %s get pods -A\n\nIts logs are in %s. Stop it with: make cluster-down\n",
		filepath.Join(dir, "kubectl"), filepath.Join(dir, "logs"))
	return nil
}

// longestSocket is the longest path of a Unix socket below the cluster's folder.
const longestSocket = "/kubelet/pod-resources/1234567890"

// checkLength refuses a folder whose sockets would have too long a path.
func checkLength(dir string) error {
	longest := len(syscall.RawSockaddrUnix{}.Path) - 1 - len(longestSocket)
	if len(dir) > longest {
		return fmt.Errorf("the path %s has %d bytes; for the sockets in it, it may have %d: clone the repository to a shorter path", dir, len(dir), longest)
	}
	return nil
}

// Running says whether there is a cluster.
func Running() (bool, error) {
	dir, err := Dir()
	if err != nil {
		return false, err
	}
	_, running := supervisor(dir)
	return running, nil
}

// launch starts the supervisor and follows what it says until the cluster is
// ready or it ends. The supervisor has the cluster's network namespace, and a PID
// and a mount namespace of its own: when it ends, in whatever way, the kernel ends
// all that it started and undoes every mount.
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
	cmd := Inside(context.WithoutCancel(ctx), self, serveArgument)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	told := 0
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, upTimeout, true, func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			said, _ := os.ReadFile(log.Name())
			return false, fmt.Errorf("%w\n%s", err, said[told:])
		default:
		}
		said, err := os.ReadFile(log.Name())
		if err != nil {
			return false, err
		}
		fmt.Fprint(progress, string(said[told:]))
		told = len(said)
		_, err = os.Stat(filepath.Join(dir, "ready"))
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the cluster did not start: %w", err)
	}
	return nil
}

// serveArgument makes a command that Up runs in call Serve.
const serveArgument = "serve-cluster"

// IsServe says whether this process was started by Up to call Serve.
func IsServe() bool { return len(os.Args) == 2 && os.Args[1] == serveArgument }

// Serve runs a cluster until the context is done or a server ends. It is what Up
// starts in the background, by running its own command again. The process ends
// then, and with it all that it started.
func Serve(ctx context.Context, progress io.Writer) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if err := prepareSystem(dir); err != nil {
		return err
	}
	cluster, err := start(ctx, dir, progress)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(progress, "the node is ready")
	<-cluster.Done()
	if ctx.Err() == nil {
		return context.Cause(cluster)
	}
	return nil // it was told to end
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
	return pid, err == nil && strings.HasSuffix(strings.TrimRight(string(cmdline), "\x00"), serveArgument)
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
		if err := end(ctx, dir, pid); err != nil {
			return err
		}
	}
	return cleanUp(ctx, dir)
}

// end ends the supervisor: by SIGTERM, and if that takes too long by SIGKILL.
func end(ctx context.Context, dir string, pid int) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, downTimeout, true, func(context.Context) (bool, error) {
			_, running := supervisor(dir)
			return !running, nil
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("the cluster's process %d does not end", pid)
}

// Inside returns a command that runs in the cluster's network. Only that is
// entered: mounts, with those of the cgroups, stay the system's.
func Inside(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + namespacePath(), "--", name}, args...)...)
}
