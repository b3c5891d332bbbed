//go:build linux

package node

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/gammaguard/gammaguard/test/bed"
)

// parts are the control plane's kubectl, the node's parts of Kubernetes, and
// containerd with its shim and client.
func parts() []bed.Binaries {
	const kubernetes, containerd = "k8s.io/kubernetes/cmd/", "github.com/containerd/containerd/v2/cmd/"
	return []bed.Binaries{
		{
			Name: "node", Module: "test/controlplane", VersionOf: "k8s.io/kubernetes",
			Packages: []string{
				kubernetes + "kubectl", kubernetes + "kubelet", kubernetes + "kube-controller-manager",
				kubernetes + "kube-scheduler", kubernetes + "kube-proxy", "./cmd/pause",
			},
		},
		{
			Name: "containerd", Module: "test/node/containerd", VersionOf: "github.com/containerd/containerd/v2",
			Packages: []string{containerd + "containerd", containerd + "containerd-shim-runc-v2", containerd + "ctr"},
		},
	}
}

// build builds what is missing, and makes the folder of a cluster: all binaries
// in one place, and the archive of the pause image.
func build(ctx context.Context, dir string) error {
	bin := filepath.Join(dir, "bin")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(bin, 0o755)); err != nil {
		return err
	}
	for _, binaries := range parts() {
		from, err := binaries.Build(ctx)
		if err != nil {
			return err
		}
		for _, binary := range binaries.Packages {
			program := path.Base(binary)
			if err := os.Symlink(filepath.Join(from, program), filepath.Join(bin, program)); err != nil {
				return err
			}
		}
	}
	if err := writeScripts(dir); err != nil {
		return err
	}
	return BuildImage(ctx, filepath.Join(bin, "pause"), pauseImage, filepath.Join(dir, "pause.tar"))
}

// enter begins a command in the cluster's network.
func enter(dir string) string {
	return fmt.Sprintf("nsenter --net=%s -- env KUBECONFIG='%s'", namespacePath, filepath.Join(dir, "kubeconfig"))
}

// writeScripts writes a kubectl and a gammaguard that enter the cluster's network, and a ctr for its images and containers.
func writeScripts(dir string) error {
	root, err := bed.Root()
	if err != nil {
		return err
	}
	enter := enter(dir)
	for name, command := range map[string]string{
		"kubectl":    fmt.Sprintf("%s '%s'", enter, filepath.Join(dir, "bin", "kubectl")),
		"gammaguard": fmt.Sprintf("%s '%s'", enter, filepath.Join(root, "bin", "gammaguard")),
		"ctr":        fmt.Sprintf("'%s' --address '%s' --namespace k8s.io", filepath.Join(dir, "bin", "ctr"), filepath.Join(dir, "containerd.sock")),
	} {
		script := "#!/bin/sh\nexec " + command + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil { //nolint:gosec // a program
			return err
		}
	}
	return nil
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

// writeFiles writes the servers' configurations into the folder etc.
func (c *cluster) writeFiles() error {
	templates, err := template.ParseFS(files, "files/*.tmpl")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.path("etc"), 0o755); err != nil {
		return err
	}
	values := map[string]string{
		"Dir": c.dir, "PauseImage": pauseImage, "PluginDir": cniDir, "PodCIDR": podCIDR, "NodeIP": NodeIP, "CgroupRoot": cgroupRoot,
	}
	for _, t := range templates.Templates() {
		var content bytes.Buffer
		if err := t.Execute(&content, values); err != nil {
			return err
		}
		if err := os.WriteFile(c.path("etc/"+strings.TrimSuffix(t.Name(), ".tmpl")), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// makeCgroups makes the Pods' cgroup in every cgroup v1 hierarchy, or in the one
// of cgroup v2. It gets the most weight: to the kernel all Pods are one beside each
// other process of the machine, such as a compiler's. And it gets its parent's
// cpuset: a new one of cgroup v1 is empty, and takes no process.
func makeCgroups() error {
	for _, dir := range cgroups() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make a cgroup: %w", err)
		}
		settings := map[string][]byte{"cpu.shares": []byte("262144"), "cpu.weight": []byte("10000")}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file)); err == nil {
				settings[file] = value
			}
		}
		for file, value := range settings {
			path := filepath.Join(dir, file)
			if _, err := os.Stat(path); err != nil {
				continue // of the other cgroup version, or of another controller
			}
			if err := os.WriteFile(path, value, 0o644); err != nil {
				return fmt.Errorf("set up the Pods' cgroup: %w", err)
			}
		}
	}
	return nil
}

// cgroups returns the folders of the Pods' cgroup.
func cgroups() []string {
	const mount, processes = "/sys/fs/cgroup", "cgroup.procs"
	if _, err := os.Stat(filepath.Join(mount, processes)); err == nil {
		return []string{filepath.Join(mount, cgroupRoot)}
	}
	dirs, _ := filepath.Glob(filepath.Join(mount, "*", processes)) // the pattern is valid
	for i, dir := range dirs {
		dirs[i] = filepath.Join(filepath.Dir(dir), cgroupRoot)
	}
	return dirs
}
