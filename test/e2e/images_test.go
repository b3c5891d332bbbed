//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/node"
)

// certManager is cert-manager's controllers and CA injector, in one program.
var certManager = bed.Binaries{
	Name: "certmanager", Module: "test/certmanager", Packages: []string{"."}, VersionOf: "github.com/cert-manager/cert-manager",
}

// importImages builds the images and imports them into the cluster.
func importImages(ctx context.Context) error {
	dir, err := node.Dir()
	if err != nil {
		return err
	}
	bin, err := certManager.Build(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "building the images")
	archive := filepath.Join(dir, "certmanager.tar")
	if err := node.BuildImage(ctx, filepath.Join(bin, "certmanager"), "gammaguard.test/certmanager:1", archive); err != nil {
		return err
	}
	if err := node.Import(ctx, archive); err != nil {
		return err
	}
	root, err := bed.Root()
	if err != nil {
		return err
	}
	if err := makeImage(ctx, root); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "building the image of the previous commit")
	if err := importPrevious(ctx, root); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "making a release")
	return importRelease(ctx)
}

// makeImage makes gammaguard's image of a tree as users do, and imports it.
func makeImage(ctx context.Context, root string, settings ...string) error {
	cmd := exec.CommandContext(ctx, "make", append([]string{"image"}, settings...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make image: %w\n%s", err, out)
	}
	return node.Import(ctx, filepath.Join(root, "dist", "gammaguard-webhook.tar"))
}
