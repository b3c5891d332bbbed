//go:build linux

package node

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/gammaguard/gammaguard/test/bed"
)

// parts are the node's parts of Kubernetes, and containerd with its shim and client.
func parts() []bed.Binaries {
	const commands = "github.com/containerd/containerd/v2/cmd/"
	return []bed.Binaries{
		{
			Name: "node", Module: "test/controlplane", Packages: []string{"./node/..."},
			Programs:  []string{"kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy", "pause"},
			VersionOf: "k8s.io/kubernetes",
		},
		{
			Name: "containerd", Module: "test/node/containerd",
			Packages:  []string{commands + "containerd", commands + "containerd-shim-runc-v2", commands + "ctr"},
			Programs:  []string{"containerd", "containerd-shim-runc-v2", "ctr"},
			VersionOf: "github.com/containerd/containerd/v2",
		},
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
	for _, binaries := range parts() {
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
	_, err = bed.Go(ctx, filepath.Join(root, "tools", "release"), nil, "run", "./image", "-binary", binary, "-name", name, "-o", archive)
	return err
}

// files are the servers' configurations, as templates.
//
//go:embed files/*.tmpl
var files embed.FS

// cgroupRoot is the cgroup of all Pods.
const cgroupRoot = "gammaguard-node"

// writeFiles writes the servers' configurations.
func (c *cluster) writeFiles() error {
	templates, err := template.ParseFS(files, "files/*.tmpl")
	if err != nil {
		return err
	}
	values := map[string]string{
		"Dir": c.dir, "PauseImage": pauseImage, "PluginDir": cniDir, "PodCIDR": podCIDR, "NodeIP": NodeIP, "CgroupRoot": cgroupRoot,
	}
	if err := os.MkdirAll(c.path("cni"), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"containerd.toml", "cni/10-pods.conflist", "kubelet.yaml", "kube-proxy.yaml"} {
		var content bytes.Buffer
		if err := templates.ExecuteTemplate(&content, filepath.Base(name)+".tmpl", values); err != nil {
			return err
		}
		if err := os.WriteFile(c.path(name), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return makeCgroups()
}

// makeCgroups makes the Pods' cgroup in every cgroup v1 hierarchy, or in the one
// of cgroup v2.
func makeCgroups() error {
	for _, dir := range cgroups() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make a cgroup: %w", err)
		}
		if err := preferPods(dir); err != nil {
			return err
		}
		if !strings.Contains(dir, "/cpuset/") {
			continue
		}
		// A new cpuset of cgroup v1 is empty, and takes no process until it is filled.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), value, 0o644)
			}
			if err != nil {
				return fmt.Errorf("fill a cpuset: %w", err)
			}
		}
	}
	return nil
}

// preferPods gives the Pods' cgroup the most weight. To the kernel all Pods are one
// beside each other process of the machine, such as a compiler's.
func preferPods(dir string) error {
	for file, most := range map[string]string{"cpu.shares": "262144", "cpu.weight": "10000"} {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); err != nil {
			continue // of the other cgroup version, or of another controller
		}
		if err := os.WriteFile(path, []byte(most), 0o644); err != nil {
			return fmt.Errorf("weigh the Pods' cgroup: %w", err)
		}
	}
	return nil
}

// cgroups returns the folders of the Pods' cgroup.
func cgroups() []string {
	const mount = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
		return []string{filepath.Join(mount, cgroupRoot)}
	}
	entries, err := os.ReadDir(mount)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, filepath.Join(mount, entry.Name(), cgroupRoot))
		}
	}
	return dirs
}
