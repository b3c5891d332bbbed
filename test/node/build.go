package node

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gammaguard/gammaguard/test/bed"
)

// components are the node's parts of Kubernetes.
func components() bed.Binaries {
	return bed.Binaries{
		Name:      "node",
		Module:    "test/controlplane",
		Packages:  []string{"./node/..."},
		Programs:  []string{"kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy", "pause"},
		VersionOf: "k8s.io/kubernetes",
	}
}

// containerRuntime is containerd and its shim and client.
func containerRuntime() bed.Binaries {
	const commands = "github.com/containerd/containerd/v2/cmd/"
	return bed.Binaries{
		Name:      "containerd",
		Module:    "test/node/containerd",
		Packages:  []string{commands + "containerd", commands + "containerd-shim-runc-v2", commands + "ctr"},
		Programs:  []string{"containerd", "containerd-shim-runc-v2", "ctr"},
		VersionOf: "github.com/containerd/containerd/v2",
	}
}

// build builds what is missing, and makes the folder of a cluster: all binaries
// in one place, and the archive of the pause image.
func build(ctx context.Context, dir string, progress io.Writer) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	plane, err := bed.Build(ctx, progress)
	if err != nil {
		return err
	}
	if err := link(filepath.Join(plane, "kubectl"), bin); err != nil {
		return err
	}
	for _, binaries := range []bed.Binaries{components(), containerRuntime()} {
		from, err := binaries.Build(ctx, progress)
		if err != nil {
			return err
		}
		for _, program := range binaries.Programs {
			if err := link(filepath.Join(from, program), bin); err != nil {
				return err
			}
		}
	}
	if err := writeKubectl(dir); err != nil {
		return err
	}
	return BuildImage(ctx, filepath.Join(bin, "pause"), pauseImage, filepath.Join(dir, "pause.tar"))
}

// writeKubectl writes a kubectl that enters the cluster's network, for use by hand.
func writeKubectl(dir string) error {
	script := fmt.Sprintf("#!/bin/sh\nexec nsenter --net=%s -- env KUBECONFIG='%s' '%s' \"$@\"\n",
		namespacePath(), filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "bin", "kubectl"))
	return os.WriteFile(filepath.Join(dir, "kubectl"), []byte(script), 0o755) //nolint:gosec // a program
}

func link(from, dir string) error {
	return os.Symlink(from, filepath.Join(dir, filepath.Base(from)))
}

// BuildImage puts a static binary into an image in an OCI archive, with the tool
// that makes gammaguard's own image.
func BuildImage(ctx context.Context, binary, name, archive string) error {
	root, err := bed.Root()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-binary", binary, "-name", name, "-o", archive)
	cmd.Dir = filepath.Join(root, "tools", "image")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the image %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
