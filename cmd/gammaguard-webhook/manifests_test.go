package main

import (
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestManifests parses the arguments that the Pods of each overlay start with, and
// compares what depends on them.
func TestManifests(t *testing.T) {
	sources := map[string]string{
		"default":               "Certificate gammaguard-system/gammaguard-serving-cert",
		"overlays/self-managed": "Secret gammaguard-system/gammaguard-webhook-cert for gammaguard-webhook.gammaguard-system.svc, copied to /var/run/gammaguard/certs, trusted by webhook configurations gammaguard",
		"overlays/audit-only":   "Certificate gammaguard-system/gammaguard-serving-cert",
		"overlays/gitops":       "Certificate gammaguard-system/gammaguard-serving-cert",
	}
	for folder, source := range sources {
		t.Run(folder, func(t *testing.T) {
			pod := deployment(t, "../../config/"+folder).Spec.Template.Spec
			container := named(t, &pod, "webhook")
			f, err := parse(container.Args, io.Discard)
			if err != nil {
				t.Fatalf("%v: %v", container.Args, err)
			}
			type facts struct {
				Source, Host, Config, CertDir        string
				WebhookPort                          int
				MetricsAddress, ProbeAddress         string
				LeaderElection, HTTP2, GraceIsEnough bool
			}
			ports := map[string]string{}
			for _, port := range container.Ports {
				ports[port.Name] = fmt.Sprintf(":%d", port.ContainerPort)
			}
			mounts := map[string]string{}
			for _, mount := range container.VolumeMounts {
				mounts[mount.Name] = mount.MountPath
			}
			got := facts{
				describe(f.certs.from(f.server.CertDir)), f.certs.host(), f.config, f.server.CertDir,
				f.server.WebhookPort, f.server.MetricsAddress, f.server.ProbeAddress,
				f.server.LeaderElection.Enabled, f.server.EnableHTTP2,
				// controller-runtime gives what runs 30 seconds to stop.
				float64(*pod.TerminationGracePeriodSeconds) >= f.server.ShutdownDelay.Seconds()+30,
			}
			want := facts{
				source, "gammaguard-webhook.gammaguard-system.svc", mounts["config"] + "/guard.yaml", mounts["certs"],
				9443, ports["metrics"], ports["probes"], true, false, true,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if ports["webhook"] != ":9443" {
				t.Errorf("port of the webhooks: %s", ports["webhook"])
			}
			wantHolder(t, &pod, f, mounts["listener"])
		})
	}
}

// wantHolder wants the Pod's other container to hold the port for the server with
// the flags: the same image, address and unix socket, which is in a volume of both.
func wantHolder(t *testing.T, pod *corev1.PodSpec, server *flags, folder string) {
	t.Helper()
	container := named(t, pod, holdPort)
	if container.Image != named(t, pod, "webhook").Image || len(container.Args) == 0 || container.Args[0] != holdPort {
		t.Fatalf("image %s, arguments %v", container.Image, container.Args)
	}
	f, err := parseHold(container.Args[1:], io.Discard)
	if err != nil {
		t.Fatalf("%v: %v", container.Args, err)
	}
	got := []any{f.host, f.port, f.path, container.VolumeMounts}
	want := []any{server.server.WebhookHost, server.server.WebhookPort, server.server.ListenerSocket, []corev1.VolumeMount{
		{Name: "listener", MountPath: folder},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the port's holder (-want +got):\n%s", diff)
	}
	if path.Dir(f.path) != folder {
		t.Errorf("unix socket %s is not in the volume at %q", f.path, folder)
	}
}

// named returns the container of the name.
func named(t *testing.T, pod *corev1.PodSpec, name string) *corev1.Container {
	t.Helper()
	for i := range pod.Containers {
		if pod.Containers[i].Name == name {
			return &pod.Containers[i]
		}
	}
	t.Fatalf("no container %s", name)
	return nil
}

// deployment returns the Deployment of a kustomize folder.
func deployment(t *testing.T, folder string) *appsv1.Deployment {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range built.Resources() {
		if !strings.EqualFold(resource.GetKind(), "Deployment") {
			continue
		}
		data, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict(data, &d); err != nil {
			t.Fatal(err)
		}
		return &d
	}
	t.Fatalf("%s has no Deployment", folder)
	return nil
}
