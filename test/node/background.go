//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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

// downTimeout bounds each wait for processes that the kernel is ending.
const downTimeout = 20 * time.Second

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
// its node is ready. It says how to use it. It refuses where a node runs on the
// machine, of whichever clone: all have one network namespace and one cgroup.
func Up(ctx context.Context) error {
	dir, err := Dir()
	if err := errors.Join(err, Prerequisites(), checkLength(dir)); err != nil {
		return err
	}
	place, err := take(placePath, dir)
	if err != nil {
		return err
	}
	defer place.Close() //nolint:errcheck // it is empty or the supervisor's by then
	start := func(ctx context.Context, dir string) error { return launch(ctx, dir, place) }
	for _, step := range []func(context.Context, string) error{cleanUp, build, createNetwork, start} {
		if err := step(ctx, dir); err != nil {
			return errors.Join(err, place.Close(), Down(context.WithoutCancel(ctx)))
		}
	}
	fmt.Fprintf(os.Stderr, `
The cluster is up. With this PATH, the kubectl and gammaguard of all pages use it:

  export PATH="%[1]s:$PATH"
  kubectl get pods -A

Other programs, such as helm, need this before their names:

  %[2]s

After 'make build image', load the image gammaguard-webhook:dev, and install gammaguard:

  ctr images import dist/gammaguard-webhook.tar
  gammaguard preflight --overlay self-managed
  kubectl apply -k config/overlays/self-managed

Its logs are in %[1]s/logs. Stop it with: make cluster-down
`, dir, enter(dir))
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

// Running says whether there is a cluster. A node of another clone is an error.
func Running() (bool, error) {
	dir, err := Dir()
	if err != nil {
		return false, err
	}
	pid, err := supervisor(placePath, dir)
	return pid != 0, err
}

// launch starts the supervisor and shows what it says until the cluster is
// ready or it ends. The supervisor has the cluster's network namespace, and a PID
// and a mount namespace of its own: when it ends, in whatever way, the kernel ends
// all that it started and undoes every mount. They all hold the machine's place.
func launch(ctx context.Context, dir string, place *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "supervisor.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child writes it
	said := io.NewSectionReader(log, 0, math.MaxInt64)
	cmd := Inside(context.WithoutCancel(ctx), self, serveArgument)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{place}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprint(place, cmd.Process.Pid); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(errors.New("its supervisor ended"), cmd.Wait()) }()
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, upTimeout, true, func(context.Context) (bool, error) {
		var failure error
		select {
		case failure = <-ended:
		default:
		}
		_, notReady := os.Stat(filepath.Join(dir, "ready"))
		_, err := io.Copy(os.Stderr, said)
		return notReady == nil, errors.Join(failure, err)
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

// Serve runs a cluster until the context is done or a server ends, and returns why. It
// is what Up starts in the background, by running its own command again. The process
// ends then, and with it all that it started.
func Serve(ctx context.Context) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if err := prepareSystem(dir); err != nil {
		return err
	}
	ctx, err = start(ctx, dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "the node is ready")
	<-ctx.Done()
	return context.Cause(ctx)
}

// placePath is a file that the processes of a node lock: a machine has room for one
// node. The kernel takes the lock from them when they end.
const placePath = "/run/gammaguard-node.lock"

// take locks the place for the cluster with its files in dir, until the file and each
// copy that a process inherited are closed. The error is an *occupied if it is locked.
func take(path, dir string) (*os.File, error) {
	place, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(place.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		var data []byte
		if data, err = io.ReadAll(place); err == nil {
			by, pid, _ := strings.Cut(string(data), "\n")
			number, _ := strconv.Atoi(pid) // there is none before launch
			err = &occupied{dir: by, pid: number}
		}
	} else if err == nil {
		err = place.Truncate(0)
		if err == nil {
			_, err = fmt.Fprintln(place, dir)
		}
	}
	if err != nil {
		return nil, errors.Join(err, place.Close())
	}
	return place, nil
}

// occupied is why the place cannot be taken: the cluster with its files in dir has it.
type occupied struct {
	dir string
	pid int // of its supervisor, or 0 before it has one
}

func (o *occupied) Error() string {
	clone := filepath.Dir(filepath.Dir(o.dir))
	if o.pid == 0 {
		return "a node is being started on this machine, by make cluster-up or make e2e in " + clone + ": wait for it, or interrupt it"
	}
	return fmt.Sprintf("a node runs on this machine, of the clone in %[1]s: stop it with make -C %[1]s cluster-down", clone)
}

// supervisor returns the process that runs the cluster with its files in dir, or 0. Who
// else has the place is an error.
func supervisor(path, dir string) (pid int, err error) {
	place, err := take(path, dir)
	if err == nil {
		return 0, place.Close()
	}
	if by := (*occupied)(nil); errors.As(err, &by) && by.dir == dir && by.pid != 0 {
		return by.pid, nil
	}
	return 0, err
}

// Down stops the cluster and removes all that it left. It does nothing where
// there is none, and tidies up after one that was killed. It leaves a node of another
// clone alone, and says so.
func Down(ctx context.Context) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	pid, err := supervisor(placePath, dir)
	if err != nil {
		return err
	}
	if pid != 0 {
		fmt.Fprintln(os.Stderr, "stopping the cluster")
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	var place *os.File
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, downTimeout, true, func(context.Context) (bool, error) {
		place, last = take(placePath, dir)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the cluster's processes end: %w", errors.Join(err, last))
	}
	return errors.Join(cleanUp(ctx, dir), place.Close())
}

// Inside returns a command that runs in the cluster's network. Only that is
// entered: mounts, with those of the cgroups, stay the system's.
func Inside(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + namespacePath, "--", name}, args...)...)
}
