package main

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gammaguard/gammaguard/test/kustomize"
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
			pod := deployment(t, folder).Spec.Template.Spec
			container := pod.Containers[0]
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
		})
	}
}

// TestClientAuthentication: the component mounts the CA that its arguments name.
func TestClientAuthentication(t *testing.T) {
	container := deployment(t, "default", "client-authentication").Spec.Template.Spec.Containers[0]
	f, err := parse(container.Args, io.Discard)
	if err != nil {
		t.Fatalf("%v: %v", container.Args, err)
	}
	mounted := slices.ContainsFunc(container.VolumeMounts, func(mount corev1.VolumeMount) bool {
		return mount.Name == "client-ca" && mount.MountPath+"/ca.crt" == f.server.ClientCAFile
	})
	if names := f.server.ClientAllowedNames; !mounted || len(names) != 1 || names[0] != "kube-apiserver-webhooks" {
		t.Errorf("names %v, file %q, mounted: %v", names, f.server.ClientCAFile, container.VolumeMounts)
	}
}

// deployment returns the Deployment of a folder of config with components.
func deployment(t *testing.T, folder string, components ...string) *appsv1.Deployment {
	t.Helper()
	built, err := kustomize.Build(folder, components...)
	if err != nil {
		t.Fatal(err)
	}
	for _, manifest := range built {
		if manifest["kind"] != "Deployment" {
			continue
		}
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest, &d, true); err != nil {
			t.Fatal(err)
		}
		return &d
	}
	t.Fatalf("%s has no Deployment", folder)
	return nil
}
