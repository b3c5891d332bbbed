// Package personas plays a day of each of those who work with gammaguard: what they type, and what they read, against a
// real API server. Each day is a page here, which can be read on its own.
package personas

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/test/bed"
	webhook "github.com/gammaguard/gammaguard/test/bed/guard"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	if filepath.Base(os.Args[0]) == "helm" {
		os.Exit(helm(os.Args[1:]))
	}
	os.Exit(bed.Run(m, bed.Options{}, &plane))
}

// TestPersonas plays the days, one after the other: the platform engineer needs a cluster without gammaguard, and leaves one.
func TestPersonas(t *testing.T) {
	root, bin := must(bed.Root())(t), t.TempDir()
	if _, err := bed.Go(t.Context(), root, nil, "build", "-buildvcs=false", "-o", bin, "./cmd/gammaguard"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(must(os.Executable())(t), filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	endNamespaces(t)
	var pods *webhook.Guard
	stop := func(t *testing.T) {
		t.Helper()
		if pods != nil {
			if err := pods.Stop(); err != nil {
				t.Error(err)
			}
		}
		pods = nil
	}
	start := func(t *testing.T) {
		t.Helper()
		stop(t)
		pods = must(webhook.Start(t.Context(), plane, webhook.Options{}))(t)
	}
	scenes := map[string]func(t *testing.T){
		"The Pods start.": func(t *testing.T) {
			t.Helper()
			start(t)
			if _, stderr, err := plane.Kubectl(t.Context(), "", "patch", "deployment", "-n", "gammaguard-system", "gammaguard-webhook", "--subresource=status", "--type=merge",
				"-p", `{"status": {"observedGeneration": 99, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}}`); err != nil {
				t.Fatal(stderr)
			}
		},
		"The Pods stop.": stop,
		"The test takes back its webhooks, which have an address in the place of a Service.": func(t *testing.T) {
			t.Helper()
			stop(t)
			if _, stderr, err := plane.Kubectl(t.Context(), "", "delete", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "gammaguard"); err != nil {
				t.Fatal(stderr)
			}
		},
	}
	t.Cleanup(func() { stop(t) })
	play := func(name, user string, groups ...string) {
		t.Run(name, func(t *testing.T) {
			s := readScript(t, name+".md")
			s.dir, s.scenes = checkout(t, root), scenes
			path := "PATH=" + strings.Join([]string{bin, plane.BinDir, os.Getenv("PATH")}, string(filepath.ListSeparator))
			git := []string{
				"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + name + "@example.com",
				"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + name + "@example.com", path,
			}
			s.admin = append(plane.Environ(), git...)
			s.environment = s.admin
			if user != "" {
				s.environment = slices.Concat(s.admin, []string{"KUBECONFIG=" + kubeconfig(t, user, groups...)})
			}
			s.play(t)
		})
	}
	play("ci-author", "")
	play("reviewer", "")
	play("platform-engineer", "")
	if _, stderr, err := plane.Kubectl(t.Context(), "", "apply", "-k", filepath.Join(root, "config", "overlays", "self-managed")); err != nil {
		t.Fatal(stderr)
	}
	start(t)
	play("developer", "dev")
	play("mesh-admin", "anna", "mesh-admins")
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// checkout makes a folder with what a persona takes from the source of gammaguard.
func checkout(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples", "shop"), os.DirFS(filepath.Join(root, "examples", "shop"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config", "charts"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "operator.yaml"), []byte(operator), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// operator stands for the definitions that the Prometheus operator brings.
const operator = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: ServiceMonitor, plural: servicemonitors, singular: servicemonitor, listKind: ServiceMonitorList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  scope: Namespaced
  names: {kind: PrometheusRule, plural: prometheusrules, singular: prometheusrule, listKind: PrometheusRuleList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// kubeconfig returns the path of that of a user, who has namespace shop as current.
func kubeconfig(t *testing.T, name string, groups ...string) string {
	t.Helper()
	user := must(plane.User(name, groups...))(t)
	config := clientcmdapi.NewConfig()
	config.Clusters["shop"] = &clientcmdapi.Cluster{Server: user.Host, CertificateAuthorityData: user.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: user.CertData, ClientKeyData: user.KeyData}
	config.Contexts["shop"] = &clientcmdapi.Context{Cluster: "shop", AuthInfo: name, Namespace: "shop"}
	config.CurrentContext = "shop"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// endNamespaces ends the namespaces that are being deleted, in the place of the controller that does in a cluster.
func endNamespaces(t *testing.T) {
	t.Helper()
	c := must(plane.Client())(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			var all corev1.NamespaceList
			if err := c.List(ctx, &all); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "list namespaces:", err)
			}
			for i := range all.Items {
				if namespace := &all.Items[i]; namespace.DeletionTimestamp != nil {
					namespace.Spec.Finalizers = nil
					if err := c.SubResource("finalize").Update(ctx, namespace); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
						fmt.Fprintln(os.Stderr, "end a namespace:", err)
					}
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}
