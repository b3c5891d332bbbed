//go:build linux

// Package node runs a real single-node cluster: the test bed's control plane with
// kube-controller-manager, kube-scheduler, kube-proxy, a kubelet and containerd,
// all built from their modules, so that gammaguard runs as users run it, in Pods,
// called by the API server through its Service.
//
// Everything runs inside a network namespace of its own, from which nothing leads
// outside, and in a PID and a mount namespace of its supervisor: when that ends, by
// cluster down or by kill -9, all that it started ends, and every mount goes.
// .cache/cluster holds the cluster's files: kubectl for use by hand, its logs, the
// API server's audit log.
//
// It needs root, Linux and a few Debian packages, which Prerequisites
// names where one is missing. The command in ./cluster starts and stops it.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gammaguard/gammaguard/test/bed"
)

// cluster is a single-node cluster. All of it runs in the namespaces that this
// process is in, and ends with them.
type cluster struct {
	plane    *bed.ControlPlane
	dir      string
	progress io.Writer
	// fail ends the cluster's context, when a server has ended.
	fail context.CancelCauseFunc
}

// start starts the cluster, with its files in dir, and returns when its node is
// ready. The context that it returns ends when a server does.
func start(ctx context.Context, dir string, progress io.Writer) (context.Context, error) {
	ctx, fail := context.WithCancelCause(ctx)
	c := &cluster{dir: dir, progress: progress, fail: fail}
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return nil, err
	}
	return ctx, c.startAll(ctx)
}

func (c *cluster) startAll(ctx context.Context) error {
	fmt.Fprintln(c.progress, "starting etcd and kube-apiserver")
	server, err := os.Create(filepath.Join(c.dir, "logs", "kube-apiserver.log"))
	if err != nil {
		return err
	}
	c.plane, err = bed.Start(ctx, bed.Options{
		MultiCluster: true,
		ServerOutput: server,
		Progress:     c.progress,
		ServingHosts: []string{NodeIP, kubernetesIP, "kubernetes.default.svc"},
		AuditPolicy:  auditPolicy,
		APIServerFlags: map[string][]string{
			"disable-admission-plugins":       nil, // envtest switches ServiceAccounts off
			"advertise-address":               {NodeIP},
			"bind-address":                    {"0.0.0.0"},
			"allow-privileged":                {"true"},
			"kubelet-preferred-address-types": {"InternalIP"},
			"audit-log-maxsize":               {"2000"}, // MiB: it is never cut
		},
	})
	if err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(c.plane.Kubeconfig)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"kubeconfig": kubeconfig, "ca.crt": c.plane.Config.CAData} {
		if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink(c.plane.AuditLog, c.path("audit.log")); err != nil {
		return err
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := c.startContainerd(ctx); err != nil {
		return err
	}
	if err := c.startComponents(); err != nil {
		return err
	}
	return c.waitForNode(ctx)
}

// kubernetesIP is the cluster IP of the Service kubernetes: the range's first.
const kubernetesIP = "10.96.0.1"

// auditPolicy keeps who asked for what, so that tests find requests that RBAC
// forbids.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) bin(name string) string { return filepath.Join(c.dir, "bin", name) }

func (c *cluster) startComponents() error {
	fmt.Fprintln(c.progress, "starting kube-controller-manager, kube-scheduler, kubelet and kube-proxy")
	kubeconfig := "--kubeconfig=" + c.path("kubeconfig")
	for _, component := range []struct {
		name string
		args []string
	}{
		{"kube-controller-manager", []string{
			kubeconfig, "--leader-elect=false",
			"--service-account-private-key-file=" + filepath.Join(c.plane.CertDir, "sa-signer.key"),
			"--root-ca-file=" + c.path("ca.crt"),
			"--use-service-account-credentials",
		}},
		{"kube-scheduler", []string{kubeconfig, "--leader-elect=false"}},
		{"kubelet", []string{
			kubeconfig, "--config=" + c.path("kubelet.yaml"), "--root-dir=" + c.path("kubelet"),
			"--cert-dir=" + c.path("kubelet/pki"),
			"--node-ip=" + NodeIP, "--hostname-override=" + nodeName,
		}},
		{"kube-proxy", []string{"--config=" + c.path("kube-proxy.yaml"), "--hostname-override=" + nodeName}},
	} {
		if err := c.start(component.name, c.bin(component.name), component.args...); err != nil {
			return err
		}
	}
	return nil
}

// nodeName is the node's name.
const nodeName = "node"

// waitForNode waits until the node is there, and ready.
func (c *cluster) waitForNode(ctx context.Context) error {
	fmt.Fprintln(c.progress, "waiting for the node")
	for _, state := range []string{"create", "condition=Ready"} {
		_, stderr, err := c.plane.Kubectl(ctx, "", "wait", "node/"+nodeName, "--for="+state, "--timeout=2m")
		if err != nil {
			return fmt.Errorf("wait for the node: %w: %s", errors.Join(context.Cause(ctx), err), stderr)
		}
	}
	return nil
}

// start starts a server in the network namespace that this process is in. What it
// prints goes to a file of its name.
func (c *cluster) start(name, path string, args ...string) error {
	log, err := os.Create(filepath.Join(c.dir, "logs", name+".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...) //nolint:noctx // it ends with the PID namespace
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "PATH="+c.path("bin")+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	go func() {
		_ = cmd.Wait() // its ProcessState says as much
		_ = log.Close()
		c.fail(fmt.Errorf("%s ended: %s (see %s)", name, cmd.ProcessState, log.Name()))
	}()
	return nil
}

// pauseImage is the image of the container that holds a Pod's namespaces.
const pauseImage = "gammaguard.test/pause:1"

// startContainerd starts containerd, and imports the pause image.
func (c *cluster) startContainerd(ctx context.Context) error {
	fmt.Fprintln(c.progress, "starting containerd")
	if err := c.start("containerd", c.bin("containerd"), "--config", c.path("containerd.toml")); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = Ctr(ctx, "version")
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for containerd: %w", errors.Join(context.Cause(ctx), err, last))
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
