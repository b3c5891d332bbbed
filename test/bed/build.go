package bed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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

// controlPlane returns what a control plane is made of.
func controlPlane() Binaries {
	return Binaries{
		Name:      "controlplane",
		Module:    "test/controlplane",
		Packages:  []string{"./cmd/..."},
		Programs:  []string{"kube-apiserver", "etcd", "kubectl"},
		VersionOf: "k8s.io/kubernetes",
	}
}

// progressInterval is how often a build says that it is still alive.
const progressInterval = 15 * time.Second

// Build builds the control plane's binaries and returns the folder that they are
// in, as Binaries.Build does.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	return controlPlane().Build(ctx, progress)
}

// Build builds the binaries and returns the folder that they are in:
// .cache/<name>/<version>-<digest> in the repository. It may take minutes the
// first time, and tells progress how it gets on; where the binaries are there it
// does nothing. Any number of processes may call it at once: one builds, the
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
	if b.complete(dir) {
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
	if !b.complete(dir) {
		if err := src.build(ctx, dir, progress); err != nil {
			return "", fmt.Errorf("build the %s: %w", b.Name, err)
		}
	}
	return dir, nil
}

// complete says whether a folder holds all programs. Build puts the folder there
// in one step, so that it holds all or does not exist.
func (b Binaries) complete(dir string) bool {
	for _, name := range b.Programs {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// build builds the binaries beside their folder and then renames that into place.
// The caller holds the lock, so that what other builds left half done can go.
func (s sources) build(ctx context.Context, dir string, progress io.Writer) error {
	const unfinished = ".unfinished-"
	stale, err := filepath.Glob(filepath.Join(filepath.Dir(dir), unfinished+"*"))
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	out, err := os.MkdirTemp(filepath.Dir(dir), unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(out) //nolint:errcheck // the next build removes it

	if err := s.goBuild(ctx, out, progress); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(out, dir)
}

// goBuild runs go build. The version goes in by the linker: without it kubectl
// and the API server cannot tell one another's.
func (s sources) goBuild(ctx context.Context, out string, progress io.Writer) error {
	args := append([]string{
		"build", "-v", "-trimpath", "-buildvcs=false",
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
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	started := time.Now()
	fmt.Fprintf(progress, "building %s %s from their modules: a few minutes, once\n", strings.Join(s.Programs, ", "), s.version)
	if err := cmd.Start(); err != nil {
		return err
	}
	mistakes := follow(stderr, started, progress)
	if err := cmd.Wait(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("go build in %s: %w\n%s", s.dir, err, mistakes))
	}
	fmt.Fprintf(progress, "built the %s in %s\n", s.Name, time.Since(started).Round(time.Second))
	return nil
}

// importPath matches the line that go build -v prints of a package.
var importPath = regexp.MustCompile(`^[\w.~/-]+$`)

// follow reads what go build -v prints until it ends, says now and then how far it
// is, and returns the lines that are errors.
func follow(output io.Reader, started time.Time, progress io.Writer) string {
	var mistakes []string
	modules, packages, told := 0, 0, started
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "go: downloading "):
			modules++
		case importPath.MatchString(line):
			packages++
		default:
			mistakes = append(mistakes, line)
		}
		if time.Since(told) > progressInterval {
			told = time.Now()
			fmt.Fprintf(progress, "  %4s  %d modules fetched, %d packages compiled\n", time.Since(started).Round(time.Second), modules, packages)
		}
	}
	return strings.Join(mistakes, "\n")
}
