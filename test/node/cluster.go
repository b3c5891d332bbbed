//go:build linux

// Package node runs a real single-node cluster: the test bed's control plane with
// kube-controller-manager, kube-scheduler, kube-proxy, a kubelet and containerd,
// all built from their modules, so that gammaguard runs as users run it, in Pods,
// called by the API server through its Service.
//
// Everything runs inside a network namespace of its own, from which nothing leads
// outside, and in a PID and a mount namespace of its supervisor: when that ends, by
// cluster down or by kill -9, all that it started ends, and every mount goes.
// .cache/cluster holds the cluster's files: kubectl, gammaguard, and ctr for use by hand, its logs, the
// API server's audit log.
//
// It needs root, Linux and a few Debian packages, which Prerequisites
// names where one is missing. The command in ./cluster starts and stops it.
package node

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	plane *bed.ControlPlane
	dir   string
	// fail ends the cluster's context, when a server has ended.
	fail context.CancelCauseFunc
}

// start starts the cluster, with its files in dir, and returns when its node is
// ready. The context that it returns ends when a server does.
func start(ctx context.Context, dir string) (context.Context, error) {
	ctx, fail := context.WithCancelCause(ctx)
	c := &cluster{dir: dir, fail: fail}
	for _, step := range []struct {
		doing string
		do    func(context.Context) error
	}{
		{"starting etcd and kube-apiserver", c.startControlPlane},
		{"starting containerd", c.startContainerd},
		{"starting kube-controller-manager, kube-scheduler, kubelet and kube-proxy", c.startComponents},
		{"waiting for the node", c.waitForNode},
	} {
		fmt.Fprintln(os.Stderr, step.doing)
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.doing, errors.Join(context.Cause(ctx), err))
		}
	}
	return ctx, nil
}

// startControlPlane writes the cluster's files too.
func (c *cluster) startControlPlane(ctx context.Context) error {
	if err := os.MkdirAll(c.path("logs"), 0o755); err != nil {
		return err
	}
	log, err := os.Create(c.path("logs/kube-apiserver.log"))
	if err != nil {
		return err
	}
	c.plane, err = bed.Start(ctx, bed.Options{
		MultiCluster: true,
		ServerOutput: log,
		ServingIPs:   []net.IP{net.ParseIP(NodeIP), net.ParseIP(kubernetesIP)},
		AuditPolicy:  auditPolicy,
		APIServerFlags: map[string][]string{
			"disable-admission-plugins":       nil, // envtest switches ServiceAccounts off
			"advertise-address":               {NodeIP},
			"bind-address":                    {"0.0.0.0"},
			"kubelet-preferred-address-types": {"InternalIP"},
			"audit-log-maxsize":               {"2000"}, // MiB: it is never cut
		},
	})
	if err != nil {
		return err
	}
	return errors.Join(
		os.Symlink(c.plane.Kubeconfig, c.path("kubeconfig")), os.Symlink(c.plane.AuditLog, c.path("audit.log")),
		os.WriteFile(c.path("ca.crt"), c.plane.Config.CAData, 0o600), c.writeFiles(), makeCgroups(),
	)
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

func (c *cluster) startComponents(context.Context) error {
	kubeconfig := "--kubeconfig=" + c.path("kubeconfig")
	for _, command := range [][]string{
		{
			"kube-controller-manager", kubeconfig, "--leader-elect=false",
			"--service-account-private-key-file=" + filepath.Join(c.plane.CertDir, "sa-signer.key"),
			"--root-ca-file=" + c.path("ca.crt"), "--use-service-account-credentials",
		},
		{"kube-scheduler", kubeconfig, "--leader-elect=false"},
		{
			"kubelet", kubeconfig, "--config=" + c.path("etc/kubelet.yaml"), "--root-dir=" + c.path("kubelet"),
			"--cert-dir=" + c.path("kubelet/pki"), "--node-ip=" + NodeIP, "--hostname-override=" + nodeName,
		},
		{"kube-proxy", "--config=" + c.path("etc/kube-proxy.yaml"), "--hostname-override=" + nodeName},
	} {
		if err := c.start(command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// nodeName is the node's name.
const nodeName = "node"

// waitForNode waits until the node is there, and ready.
func (c *cluster) waitForNode(ctx context.Context) error {
	for _, state := range []string{"create", "condition=Ready"} {
		_, stderr, err := c.plane.Kubectl(ctx, "", "wait", "node/"+nodeName, "--for="+state, "--timeout=2m")
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
	}
	return nil
}

// start starts a server in the network namespace that this process is in. What it
// prints goes to a file of its name.
func (c *cluster) start(name string, args ...string) error {
	log, err := os.Create(c.path("logs/" + name + ".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(c.path("bin/"+name), args...) //nolint:noctx // it ends with the PID namespace
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

// startContainerd starts containerd, and imports the pause image once it serves.
func (c *cluster) startContainerd(ctx context.Context) error {
	if err := c.start("containerd", "--config", c.path("etc/containerd.toml")); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = Import(ctx, c.path("pause.tar"))
		return last == nil, nil
	})
	return errors.Join(err, last)
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
	return run(ctx, filepath.Join(dir, "ctr"), args...)
}
