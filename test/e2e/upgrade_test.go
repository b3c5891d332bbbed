//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/node"
)

// previousImage is what the image of the previous commit is called.
const previousImage = "gammaguard-webhook:previous"

// previousTree returns the folder of the previous commit's tree.
func previousTree() (string, error) {
	dir, err := node.Dir()
	return filepath.Join(dir, "previous"), err
}

// importPrevious exports the tree of the previous commit, or of the current one where the
// repository has no history, and imports its image.
func importPrevious(ctx context.Context, root string) error {
	tree, err := previousTree()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	export := `git archive "$(git rev-parse --quiet --verify HEAD~1 || echo HEAD)" | tar -xf - -C "$1"`
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", export, "export", tree)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("export the previous commit: %w\n%s", err, out)
	}
	overlay := filepath.Join(tree, "previous")
	if err := os.MkdirAll(overlay, 0o755); err != nil {
		return err
	}
	kustomization := "resources: [../config/overlays/self-managed]\nimages: [{name: gammaguard-webhook, newTag: previous}]\n"
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		return err
	}
	return makeImage(ctx, tree, "IMAGE="+previousImage, "VERSION=previous", "COMMIT=previous")
}

// servingBinding has the webhooks refuse routes whoever has served.
const servingBinding = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: gammaguard-serving},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gammaguard-serving},
 subjects: [{kind: ServiceAccount, namespace: ` + system + `, name: gammaguard-webhook}]}`

// TestUpgrade upgrades from the previous commit to this one, and back, by the runbook's
// commands and under load: no apply is lost, and none gets a wrong verdict.
func TestUpgrade(t *testing.T) {
	tree, err := previousTree()
	if err != nil {
		t.Fatal(err)
	}
	previous, current := filepath.Join(tree, "previous"), "config/overlays/self-managed"
	t.Cleanup(func() {
		if t.Failed() {
			explain(t)
		}
		mustKubectl(t, "", "delete", "-k", current)
		mustKubectl(t, "", "delete", "-k", previous, "--ignore-not-found")
		removeShop(t)
	})
	rollOut := func(heading, overlay, image string) {
		runbook(t, heading, overlay)
		waitForOldPods(t)
		got := mustKubectl(t, "", "get", "pods", "-n", system, "-l", selector, "-o", "jsonpath={.items[*].spec.containers[0].image}")
		if got != image+" "+image {
			t.Errorf("the Pods run %s, want %s", got, image)
		}
	}
	rollOut("## Rollback", previous, previousImage)
	// Where the previous commit has no such binding: see docs/upgrade.md. It is created, not
	// applied: kubectl would remember the subjects, and remove them with the next manifests.
	if _, stderr, err := kubectl(t, servingBinding, "create", "-f", "-"); err != nil && !strings.Contains(stderr, "AlreadyExists") {
		t.Fatal(stderr)
	}
	waitForServing(t)
	mustKubectl(t, shop, "apply", "-f", "-")
	waitFor(t, "the webhooks are called", time.Minute, func() error {
		return applies(t, route("HTTPRoute", "probe", cartParent))
	})
	for _, to := range []struct{ heading, overlay, image string }{
		{"## Upgrade", current, "gammaguard-webhook:dev"},
		{"## Rollback", previous, previousImage},
	} {
		t.Run(strings.TrimPrefix(to.heading, "## "), func(t *testing.T) {
			l := startLoad(t)
			rollOut(to.heading, to.overlay, to.image)
			l.end(t)
		})
	}
	t.Run("first steps", func(t *testing.T) {
		printed := runbook(t, "## First steps", current)
		if got := strings.Count(printed[0], " Running "); got != 2 || !strings.Contains(printed[2], `"msg":`) {
			t.Errorf("%d Pods run, and the log is\n%s", got, printed[2])
		}
	})
}
