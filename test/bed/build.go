package bed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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
	// Release builds that version of VersionOf instead, with the modules that it
	// requires itself. It is one of Kubernetes, such as v1.30.14.
	Release string
}

// Build builds the control plane's binaries and returns the folder that they are
// in, as Binaries.Build does.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	return controlPlane.Build(ctx, progress)
}

// controlPlane is the control plane in the version that test/controlplane requires.
var controlPlane = Binaries{
	Name: "controlplane", Module: "test/controlplane", Packages: []string{"./cmd/..."},
	Programs: []string{apiServer, "etcd", "kubectl"}, VersionOf: "k8s.io/kubernetes",
}

const apiServer = "kube-apiserver"

// Kubernetes returns the release that test/controlplane requires, such as v1.36.3.
func Kubernetes() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return controlPlane.required(filepath.Join(root, filepath.FromSlash(controlPlane.Module), "go.mod"))
}

// BuildAPIServer builds kube-apiserver of a release of Kubernetes, such as v1.30.14, as
// Binaries.Build does, and returns the path of the binary. That of the release that
// test/controlplane requires is the control plane's.
func BuildAPIServer(ctx context.Context, release string, progress io.Writer) (string, error) {
	server := controlPlane
	if required, err := Kubernetes(); err != nil {
		return "", err
	} else if release != required {
		server.Packages, server.Programs, server.Release = []string{"./cmd/" + apiServer}, []string{apiServer}, release
	}
	dir, err := server.Build(ctx, progress)
	return filepath.Join(dir, apiServer), err
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
	src, err := b.sources(ctx, root)
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
	unlock, err := lock(filepath.Join(cache, "lock"))
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
// that the folder holds all or does not exist. The caller holds the lock. The version
// goes in by the linker: without it kubectl and the API server cannot tell one
// another's.
func (s sources) build(ctx context.Context, dir string, progress io.Writer) error {
	unfinished := filepath.Join(filepath.Dir(dir), ".unfinished")
	if err := os.RemoveAll(unfinished); err != nil { // of a build that was interrupted
		return err
	}
	if err := os.Mkdir(unfinished, 0o755); err != nil {
		return err
	}
	// As the Makefile has all compiled, to share the packages. What needs no C library runs in
	// an empty image.
	environment, flags := []string{"GOWORK=off", "CGO_ENABLED=0"}, []string{"build", "-buildvcs=false", "-trimpath"}
	if s.goMod != nil {
		path := filepath.Join(unfinished, "go.mod")
		if err := os.WriteFile(path, s.goMod, 0o644); err != nil {
			return err
		}
		flags = append(flags, "-modfile", path, "-mod=mod")
	}
	started := time.Now()
	fmt.Fprintf(progress, "building %s %s from their modules: a few minutes, once\n", strings.Join(s.Programs, ", "), s.version)
	flags = append(flags, "-o", unfinished+string(filepath.Separator), "-ldflags", "-s -w"+
		" -X k8s.io/component-base/version.gitVersion="+s.version+
		" -X k8s.io/client-go/pkg/version.gitVersion="+s.version)
	_, err := Go(ctx, s.dir, environment, append(flags, s.Packages...)...)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "built the %s in %s\n", s.Name, time.Since(started).Round(time.Second))
	return os.Rename(unfinished, dir)
}

// BuildCommand builds a command of this repository, such as gammaguard-webhook,
// from its folder under cmd, and returns the path of the binary. go build leaves
// a binary alone that is up to date.
func BuildCommand(ctx context.Context, name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".cache", "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	_, err = Go(ctx, root, nil, "build", "-buildvcs=false", "-o", path, "./cmd/"+name)
	return path, err
}

// lock waits until it holds the lock file, which it makes if need be. The system
// drops the lock when the process ends, in whatever way.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
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
