package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

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
