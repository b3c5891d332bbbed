package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// containerdTimeout bounds the start of containerd.
const containerdTimeout = time.Minute

// pauseImage is the image of the container that holds a Pod's namespaces.
const pauseImage = "gammaguard.test/pause:1"

// startContainerd starts containerd, and imports the pause image.
func (c *Cluster) startContainerd(ctx context.Context) error {
	fmt.Fprintln(c.progress, "starting containerd")
	if _, err := c.start("containerd", c.bin("containerd"), "--config", c.path("containerd.toml")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, containerdTimeout)
	defer cancel()
	if err := c.wait(ctx, "containerd", func(ctx context.Context) error { return c.ctr(ctx, "version") }); err != nil {
		return err
	}
	return c.Import(ctx, c.path("pause.tar"))
}

// Import imports the images of an OCI or Docker archive, for Pods to run.
func (c *Cluster) Import(ctx context.Context, archive string) error {
	return c.ctr(ctx, "--namespace", "k8s.io", "images", "import", archive)
}

func (c *Cluster) ctr(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, c.bin("ctr"), append([]string{"--address", c.path("containerd.sock")}, args...)...)
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
