//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/node"
)

// releaseVersion is that of a release that is made for this test.
const releaseVersion = "v0.0.0-e2e"

// releaseFile returns the path of one of its files.
func releaseFile(name string) (string, error) {
	root, err := bed.Root()
	return filepath.Join(root, "dist", "release", name), err
}

// makeRelease makes a release as maintainers do, for this machine alone.
func makeRelease(ctx context.Context) error {
	root, err := bed.Root()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "make", "release", "VERSION="+releaseVersion, "PLATFORMS=linux/"+runtime.GOARCH, "UNCOMMITTED_FOR_TESTS=1")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make release: %w\n%s", err, out)
	}
	return nil
}

// importRelease makes a release, and imports its image.
func importRelease(ctx context.Context) error {
	if err := makeRelease(ctx); err != nil {
		return err
	}
	archive, err := releaseFile("gammaguard-webhook-" + releaseVersion + "-image.tar")
	if err != nil {
		return err
	}
	return node.Import(ctx, archive)
}

// TestReleaseAgain makes the same release once more: each file has the same digest.
func TestReleaseAgain(t *testing.T) {
	checksums, err := releaseFile("checksums.txt")
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(checksums)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeRelease(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(checksums)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Error(diff)
	}
}

// TestRelease sets gammaguard up from the files of a release alone.
func TestRelease(t *testing.T) {
	manifests, err := releaseFile("install-self-managed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, "", "apply", "-f", manifests)
	t.Cleanup(func() {
		if t.Failed() {
			explain(t)
		}
		mustKubectl(t, "", "delete", "-f", manifests)
		removeShop(t)
	})
	mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=180s")
	mustKubectl(t, shop, "apply", "-f", "-")
	waitForServing(t)
	waitFor(t, "the webhooks are called", time.Minute, func() error {
		return applies(t, route("HTTPRoute", "probe", cartParent))
	})
	refused(t, route("HTTPRoute", "bad", headlessParent), "parent-headless")
	if image := mustKubectl(t, "", "get", "-n", system, deployment, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); image != "gammaguard-webhook:"+releaseVersion {
		t.Errorf("it runs %s", image)
	}
	if log := mustKubectl(t, "", "logs", "-n", system, deployment); !strings.Contains(log, releaseVersion+" (commit ") {
		t.Errorf("the log does not name the version:\n%.500s", log)
	}
	archive, err := releaseFile("gammaguard-" + releaseVersion + "-linux-" + runtime.GOARCH + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-xzf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "gammaguard"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "gammaguard "+releaseVersion+" (commit ") {
		t.Errorf("gammaguard version: %v: %s", err, out)
	}
}
