//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// mountPoints are folders of the system that kubelet and the network plugins
// write to, whatever their settings. The cluster has its own in their place.
var mountPoints = []string{"/var/lib/kubelet", "/var/lib/cni"}

// prepareSystem gives the cluster its own /proc, /run and the like, in the mount
// namespace that launch made for it, and a folder for temporary files that goes
// with the cluster's.
func prepareSystem(dir string) error {
	if os.Getpid() != 1 {
		return errors.New("this command is for the cluster's own use: cluster up starts it")
	}
	type mount struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}
	mounts := []mount{
		{target: "/", flags: syscall.MS_REC | syscall.MS_PRIVATE},
		{source: "proc", target: "/proc", kind: "proc"},
		// Nothing can be reached by name, and who tries, for want of an image, is to learn so at once.
		{source: os.DevNull, target: "/etc/resolv.conf", flags: syscall.MS_BIND},
	}
	for _, point := range append([]string{"/run", "/var/log"}, mountPoints...) {
		if err := os.MkdirAll(point, 0o755); err != nil {
			return err
		}
		mounts = append(mounts, mount{source: "tmpfs", target: point, kind: "tmpfs", data: "mode=0755"})
	}
	for _, m := range mounts {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	temporary := filepath.Join(dir, "tmp")
	return errors.Join(os.Mkdir(temporary, 0o700), os.Setenv("TMPDIR", temporary))
}

// cleanUp removes what is left of a cluster whose supervisor has ended: cgroups,
// the network namespace, the folder, and mount points that were made for it.
func cleanUp(ctx context.Context, dir string) error {
	err := errors.Join(removeCgroups(ctx), deleteNetwork(ctx), os.RemoveAll(dir))
	for _, point := range mountPoints {
		_ = os.Remove(point) // it stays where the system uses it
	}
	return err
}

// removeCgroups removes the Pods' cgroups, the innermost first. It waits while
// there are processes in them: the kernel is ending those.
func removeCgroups(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, downTimeout, true, func(context.Context) (bool, error) {
		last = nil
		for _, root := range cgroups() {
			last = errors.Join(last, removeCgroup(root))
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("remove the Pods' cgroups: %w", errors.Join(err, last))
	}
	return nil
}

// removeCgroup removes a cgroup and those in it, and stops at the first that it cannot
// remove. Its files go with it.
func removeCgroup(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // of the root, or of one that has just gone
		err = nil
	}
	for _, dir := range slices.Backward(dirs) {
		if err == nil {
			err = os.Remove(dir)
		}
	}
	return err
}

const (
	// namespace is the network namespace that everything runs in, and namespacePath the
	// file that stands for it.
	namespace, namespacePath = "gammaguard", "/run/netns/" + namespace
	// NodeIP is the node's address, of a range for documentation (RFC 5737).
	NodeIP = "192.0.2.2"
	// podCIDR is the range of Pod addresses.
	podCIDR = "10.244.0.0/24"
)

// createNetwork makes the network namespace: loopback, and a veth pair with the
// node's address on one end. The default route leads to that pair, which leads
// nowhere.
func createNetwork(ctx context.Context, _ string) error {
	if err := run(ctx, "ip", "netns", "add", namespace); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "node0", "type", "veth", "peer", "name", "node1"},
		{"addr", "add", NodeIP + "/24", "dev", "node0"},
		{"link", "set", "node0", "up"},
		{"link", "set", "node1", "up"},
		{"route", "add", "default", "dev", "node0"},
	} {
		if err := run(ctx, "ip", append([]string{"-n", namespace}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// deleteNetwork deletes the network namespace, and with it all that kube-proxy
// and the network plugins did there.
func deleteNetwork(ctx context.Context) error {
	if _, err := os.Stat(namespacePath); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return run(ctx, "ip", "netns", "delete", namespace)
}

// run runs a command and puts what it prints into the error.
func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// cniDir is where Debian's containernetworking-plugins puts its programs.
const cniDir = "/usr/lib/cni"

// needed are the programs that come from Debian, and their packages.
var needed = []struct{ program, debianPackage string }{
	{"runc", "runc"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{cniDir + "/bridge", "containernetworking-plugins"},
	{cniDir + "/portmap", "containernetworking-plugins"},
}

// Prerequisites says what is missing to run a node here, all of it at once.
func Prerequisites() error {
	if os.Geteuid() != 0 {
		return errors.New("a node needs root: it makes network namespaces, mounts and cgroups")
	}
	var missing []string
	for _, n := range needed {
		if _, err := exec.LookPath(n.program); err != nil {
			missing = append(missing, n.debianPackage)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("packages of Debian are missing: apt-get install %s", strings.Join(slices.Compact(missing), " "))
	}
	return nil
}
