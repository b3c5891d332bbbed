package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/gammaguard/gammaguard/test/bed"
)

// cluster is a single-node cluster. All of it runs in the namespaces that this
// process is in, and ends with them.
type cluster struct {
	plane     *bed.ControlPlane
	dir       string
	progress  io.Writer
	processes []*process
	// ended is closed once a server has ended.
	ended chan struct{}
	end   func()
}

// start starts the cluster, with its files in dir, and returns when its node is
// ready.
func start(ctx context.Context, dir string, progress io.Writer) (*cluster, error) {
	c := &cluster{dir: dir, progress: progress, ended: make(chan struct{})}
	c.end = sync.OnceFunc(func() { close(c.ended) })
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return nil, err
	}
	err := c.startAll(ctx)
	return c, err
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

// readyTimeout bounds the wait for the node.
const readyTimeout = 2 * time.Minute

func (c *cluster) waitForNode(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.plane.Config)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.progress, "waiting for the node")
	return c.wait(ctx, readyTimeout, "the node", func(ctx context.Context) error {
		node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("it is not ready")
	})
}
