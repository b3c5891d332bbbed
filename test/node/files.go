package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// containerdConfig is containerd's configuration, version 3, with a root, state
// and socket of its own. A kernel without CAP_SYS_RESOURCE needs
// restrict_oom_score_adj.
const containerdConfig = `version = 3
root = "%[1]s/containerd/root"
state = "%[1]s/containerd/state"

[grpc]
  address = "%[1]s/containerd.sock"

[ttrpc]
  address = "%[1]s/containerd.ttrpc"

[plugins.'io.containerd.internal.v1.opt']
  path = "%[1]s/containerd/opt"

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "%[2]s"

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["%[3]s"]
  conf_dir = "%[1]s/cni"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    SystemdCgroup = false
`

// cniConfig gives Pods addresses on a bridge, and host ports.
const cniConfig = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "pods0",
      "isGateway": true,
      "hairpinMode": true,
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "%[1]s/cni-state",
        "ranges": [[{"subnet": "%[2]s"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
# Nobody but the API server and the Pods reaches it.
authentication:
  anonymous: {enabled: true}
  webhook: {enabled: false}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%[3]s
containerRuntimeEndpoint: unix://%[1]s/containerd.sock
enforceNodeAllocatable: []
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, imagefs.available: 1%%}
failCgroupV1: false
failSwapOn: false
podCIDR: %[2]s
podLogsDir: %[1]s/pods
registerNode: true
`

const kubeProxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
bindAddress: %[2]s
clusterCIDR: %[3]s
clientConnection: {kubeconfig: "%[1]s/kubeconfig"}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

// cgroupRoot is the cgroup of all Pods.
const cgroupRoot = "gammaguard-node"

// writeFiles writes the servers' configurations.
func (c *cluster) writeFiles() error {
	for name, content := range map[string]string{
		"containerd.toml":      fmt.Sprintf(containerdConfig, c.dir, pauseImage, cniDir),
		"cni/10-pods.conflist": fmt.Sprintf(cniConfig, c.dir, podCIDR),
		"kubelet.yaml":         fmt.Sprintf(kubeletConfig, c.dir, podCIDR, cgroupRoot),
		"kube-proxy.yaml":      fmt.Sprintf(kubeProxyConfig, c.dir, NodeIP, podCIDR),
	} {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
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
