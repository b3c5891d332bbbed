package bed

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Binaries are programs that a module of this repository builds from other
// modules, and that are kept in .cache.
type Binaries struct {
	// Name names them in progress, and their folder under .cache.
	Name string
	// Module is the folder of the module, seen from the repository's.
	Module string
	// Packages are the patterns of packages to build there, and Programs the names
	// of the binaries that come of it.
	Packages, Programs []string
	// VersionOf is the path of the required module whose version is theirs.
	VersionOf string
	// Static says that they need no C library, so that they run in an empty image.
	Static bool
}

// Build builds the control plane's binaries and returns the folder that they are
// in, as Binaries.Build does.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	return Binaries{
		Name: "controlplane", Module: "test/controlplane", Packages: []string{"./cmd/..."},
		Programs: []string{"kube-apiserver", "etcd", "kubectl"}, VersionOf: "k8s.io/kubernetes",
	}.Build(ctx, progress)
}

// Build builds the binaries and returns the folder that they are in:
// .cache/<name>/<version>-<digest> in the repository. It may take minutes the
// first time, which it tells progress; where the binaries are there it does
// nothing. Any number of processes may call it at once: one builds, the
// others wait. A build that is interrupted leaves nothing that looks complete.
func (b Binaries) Build(ctx context.Context, progress io.Writer) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	src, err := b.sources(root)
	if err != nil {
		return "", err
	}
	cache := filepath.Join(root, ".cache", b.Name)
	dir := filepath.Join(cache, src.version+"-"+src.digest)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"), func() {
		fmt.Fprintf(progress, "another process is building the %s: waiting for it\n", b.Name)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err != nil {
		if err := src.build(ctx, dir, progress); err != nil {
			return "", fmt.Errorf("build the %s: %w", b.Name, err)
		}
	}
	return dir, nil
}

// build builds the binaries beside their folder and then renames that into place, so
// that the folder holds all or does not exist. The caller holds the lock.
func (s sources) build(ctx context.Context, dir string, progress io.Writer) error {
	unfinished := filepath.Join(filepath.Dir(dir), ".unfinished")
	if err := os.RemoveAll(unfinished); err != nil { // of a build that was interrupted
		return err
	}
	if err := os.Mkdir(unfinished, 0o755); err != nil {
		return err
	}
	if err := s.goBuild(ctx, unfinished, progress); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

// goBuild runs go build. The version goes in by the linker: without it kubectl
// and the API server cannot tell one another's.
func (s sources) goBuild(ctx context.Context, out string, progress io.Writer) error {
	args := append([]string{
		"build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w" +
			" -X k8s.io/component-base/version.gitVersion=" + s.version +
			" -X k8s.io/client-go/pkg/version.gitVersion=" + s.version,
		"-o", out + string(filepath.Separator),
	}, s.Packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if s.Static {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	started := time.Now()
	fmt.Fprintf(progress, "building %s %s from their modules: a few minutes, once\n", strings.Join(s.Programs, ", "), s.version)
	if err := cmd.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("go build in %s: %w\n%s", s.dir, err, &stderr))
	}
	fmt.Fprintf(progress, "built the %s in %s\n", s.Name, time.Since(started).Round(time.Second))
	return nil
}

// BuildCommand builds a command of this repository, such as gammaguard-webhook,
// from its folder under cmd, and returns the path of the binary.
func BuildCommand(ctx context.Context, name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, ".cache", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	unlock, err := lock(ctx, path+".lock", nil)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	defer unlock()
	// go build leaves a binary alone that is up to date.
	if _, err := goCommand(ctx, root, "build", "-buildvcs=false", "-o", path, "./cmd/"+name); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, nil
}

// lockInterval is how often who waits for a lock looks whether it is free.
const lockInterval = 200 * time.Millisecond

// lock waits until it holds the lock file, which it makes if need be, and calls
// waiting, if not nil, once it finds that it has to wait. The system drops the
// lock when the process ends, in whatever way.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(lockInterval):
		}
	}
}

// Main is the body of the main function of a command of the tests: it runs the
// command until that ends or the process is told to, and exits with 1 after an error.
func Main(run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
