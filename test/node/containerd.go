package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// containerdTimeout bounds the start of containerd.
const containerdTimeout = time.Minute

// pauseImage is the image of the container that holds a Pod's namespaces.
const pauseImage = "gammaguard.test/pause:1"

// startContainerd starts containerd, and imports the pause image.
func (c *cluster) startContainerd(ctx context.Context) error {
	fmt.Fprintln(c.progress, "starting containerd")
	if err := c.start("containerd", c.bin("containerd"), "--config", c.path("containerd.toml")); err != nil {
		return err
	}
	if err := c.wait(ctx, containerdTimeout, "containerd", func(ctx context.Context) error { return Ctr(ctx, "version") }); err != nil {
		return err
	}
	return Import(ctx, c.path("pause.tar"))
}

// Import imports the images of an OCI or Docker archive, for Pods of the running
// cluster to run.
func Import(ctx context.Context, archive string) error {
	return Ctr(ctx, "images", "import", archive)
}

// Ctr runs containerd's client on the running cluster's images and containers.
func Ctr(ctx context.Context, args ...string) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	args = append([]string{"--address", filepath.Join(dir, "containerd.sock"), "--namespace", "k8s.io"}, args...)
	return run(ctx, filepath.Join(dir, "bin", "ctr"), args...)
}
