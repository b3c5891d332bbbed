//go:build e2e && linux

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets Up run this binary again, to serve the cluster.
func TestMain(m *testing.M) {
	if !IsServe() {
		os.Exit(m.Run())
	}
	if err := Serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// TestNothingIsLeft kills a cluster's supervisor while a Pod runs. All processes
// end with it, and Down removes the rest.
func TestNothingIsLeft(t *testing.T) {
	before := traces(t)
	if err := Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	kubectl := filepath.Join(dir, "kubectl")
	eventually(t, func() error { return run(t.Context(), kubectl, "get", "serviceaccount", "default") })
	if err := run(t.Context(), kubectl, "run", "sleep", "--image="+pauseImage); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), kubectl, "wait", "pod/sleep", "--for=condition=Ready", "--timeout=60s"); err != nil {
		t.Fatal(err)
	}
	pid, err := supervisor(placePath, dir)
	if err != nil || pid == 0 {
		t.Fatalf("the cluster has no supervisor: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if left := processes(t, dir); len(left) > 0 {
			return fmt.Errorf("processes are left: %q", left)
		}
		return nil
	})
	if err := Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, trace := range traces(t) {
		if !slices.Contains(before, trace) {
			t.Errorf("left: %s", trace)
		}
	}
}

// eventually calls done until it returns nil.
func eventually(t *testing.T, done func() error) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for err := done(); err != nil; err = done() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// processes returns the command lines of processes that name the folder.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), dir) {
			found = append(found, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return found
}

// traces returns what a cluster makes outside of its namespaces, as far as it is
// there.
func traces(t *testing.T) []string {
	t.Helper()
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range slices.Concat(mountPoints, cgroups(), []string{
		dir, namespacePath, "/var/log/pods", "/var/log/containers", "/run/containerd", "/opt/containerd",
	}) {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, dir) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return append(found, processes(t, dir)...)
}
