package bed

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// binaries are what a control plane is made of.
var binaries = []string{"kube-apiserver", "etcd", "kubectl"}

// progressInterval is how often a build says that it is still alive.
const progressInterval = 15 * time.Second

// Build builds the control plane's binaries and returns the folder that they are
// in: .cache/controlplane/<version>-<digest> in the repository. It takes minutes
// the first time, and tells progress how it gets on; where the binaries are there
// it does nothing. Any number of processes may call it at once: one builds, the
// others wait. A build that is interrupted leaves nothing that looks complete.
func Build(ctx context.Context, progress io.Writer) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	src, err := readSources(root)
	if err != nil {
		return "", err
	}
	cache := filepath.Join(root, ".cache", "controlplane")
	dir := filepath.Join(cache, src.version+"-"+src.digest)
	if complete(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	waiting := func() {
		fmt.Fprintln(progress, "another process is building the control plane: waiting for it")
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"), waiting)
	if err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	defer unlock()
	if complete(dir) {
		return dir, nil
	}
	if err := src.build(ctx, dir, progress); err != nil {
		return "", fmt.Errorf("build the control plane: %w", err)
	}
	return dir, nil
}

// complete says whether a folder holds all binaries. Build puts the folder there
// in one step, so that it holds all or does not exist.
func complete(dir string) bool {
	for _, name := range binaries {
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
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w"+
			" -X k8s.io/component-base/version.gitVersion="+s.version+
			" -X k8s.io/client-go/pkg/version.gitVersion="+s.version,
		"-o", out+string(filepath.Separator), "./cmd/...")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	log := &buildLog{}
	cmd.Stderr = log

	started := time.Now()
	fmt.Fprintf(progress, "building %s %s from their modules: a few minutes, once\n", strings.Join(binaries, ", "), s.version)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("go build in %s: %w\n%s", s.dir, err, log.errors())
			}
			fmt.Fprintf(progress, "built the control plane in %s\n", time.Since(started).Round(time.Second))
			return nil
		case <-ticker.C:
			fmt.Fprintf(progress, "  %4s  %s\n", time.Since(started).Round(time.Second), log.summary())
		}
	}
}
