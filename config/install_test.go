package config

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
)

// overlays are what users install.
var overlays = []string{"default", "overlays/self-managed", "overlays/audit-only", "overlays/gitops"}

// render builds a folder and decodes what comes out; an unknown field fails.
func render(t *testing.T, folder string) []client.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, certmanagerv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []client.Object
	for _, resource := range build(t, folder).Resources() {
		data, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		decoded, _, err := decoder.Decode(data, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", folder, err, data)
		}
		object, ok := decoded.(client.Object)
		if !ok {
			t.Fatalf("%s: %T is no object", folder, decoded)
		}
		objects = append(objects, object)
	}
	return objects
}

// build builds a folder as kubectl does.
func build(t *testing.T, folder string) resmap.ResMap {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// only returns the one object of the type, or of those the one of the name.
func only[T client.Object](t *testing.T, objects []client.Object, name string) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if typed, ok := object.(T); ok && (name == "" || typed.GetName() == name) {
			found = append(found, typed)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T named %q", len(found), *new(T), name)
	}
	return found[0]
}

// TestRestricted holds the Pods to what Pod Security calls restricted, and more.
// That the API server agrees is tested in test/install.
func TestRestricted(t *testing.T) {
	for _, folder := range overlays {
		t.Run(folder, func(t *testing.T) {
			objects := render(t, folder)
			level := only[*corev1.Namespace](t, objects, "").Labels["pod-security.kubernetes.io/enforce"]
			pod := only[*appsv1.Deployment](t, objects, "").Spec.Template.Spec
			if level != "restricted" || len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
				t.Fatalf("level %q, %d containers", level, len(pod.Containers))
			}
			want := &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr(false), ReadOnlyRootFilesystem: ptr(true),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
			for _, container := range pod.Containers {
				if diff := cmp.Diff(want, container.SecurityContext); diff != "" {
					t.Errorf("container %s (-want +got):\n%s", container.Name, diff)
				}
				for _, resources := range []corev1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
					if resources.Cpu().IsZero() || resources.Memory().IsZero() {
						t.Errorf("resources of container %s: %v", container.Name, container.Resources)
					}
				}
			}
			wantPod := &corev1.PodSecurityContext{
				RunAsNonRoot: ptr(true), RunAsUser: ptr[int64](65532), RunAsGroup: ptr[int64](65532), FSGroup: ptr[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			}
			if diff := cmp.Diff(wantPod, pod.SecurityContext); diff != "" {
				t.Errorf("Pod (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfigurations loads the configuration of each overlay as the webhook does,
// from the ConfigMap that its Pods mount.
func TestConfigurations(t *testing.T) {
	type settings struct {
		Mode  mesh.Mode
		Rules map[string]RuleAction
	}
	want := map[string]settings{
		"default":               {Mode: mesh.Enforce},
		"overlays/self-managed": {Mode: mesh.Enforce},
		"overlays/audit-only":   {Mode: mesh.Audit},
		"overlays/gitops":       {Mode: mesh.Enforce, Rules: map[string]RuleAction{"parent-not-found": "warn"}},
	}
	for _, folder := range overlays {
		objects := render(t, folder)
		configMap := only[*corev1.ConfigMap](t, objects, "")
		pod := only[*appsv1.Deployment](t, objects, "").Spec.Template.Spec
		mounted := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.ConfigMap != nil && v.ConfigMap.Name == configMap.Name
		})
		if !mounted || !strings.HasPrefix(configMap.Name, "gammaguard-config-") {
			t.Errorf("%s: ConfigMap %s is not mounted, or has no hash", folder, configMap.Name)
		}
		loaded, err := Load([]byte(configMap.Data["guard.yaml"]))
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		if diff := cmp.Diff(want[folder], settings{loaded.Mode, loaded.Rules}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}

// TestNamesAgree: the same names stand in several places.
func TestNamesAgree(t *testing.T) {
	for _, folder := range overlays {
		t.Run(folder, func(t *testing.T) {
			objects := render(t, folder)
			deployment := only[*appsv1.Deployment](t, objects, "")
			service := only[*corev1.Service](t, objects, "")
			labels := deployment.Spec.Template.Labels
			if diff := cmp.Diff(labels, service.Spec.Selector); diff != "" {
				t.Errorf("labels of the Pods and selector of the Service:\n%s", diff)
			}
			for _, object := range objects {
				if kind := object.GetObjectKind().GroupVersionKind().Kind; object.GetLabels()["app.kubernetes.io/name"] != "gammaguard" {
					t.Errorf("%s %s has no label app.kubernetes.io/name=gammaguard", kind, object.GetName())
				}
			}
			open := only[*networkingv1.NetworkPolicy](t, objects, "").Spec
			if diff := cmp.Diff(labels, open.PodSelector.MatchLabels); diff != "" {
				t.Errorf("labels of the Pods and selector of the NetworkPolicy:\n%s", diff)
			}
			if diff := cmp.Diff(ports(deployment), policyPorts(open)); diff != "" {
				t.Errorf("ports of the Pods and of the NetworkPolicy:\n%s", diff)
			}
			args := deployment.Spec.Template.Spec.Containers[0].Args
			wantArgs := []string{"--webhook-service=gammaguard-system/" + service.Name, "--leader-elect"}
			policies := []string{"gammaguard-service-account", "gammaguard-events"}
			volume := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: "gammaguard-webhook-cert", Optional: ptr(true), DefaultMode: ptr[int32](0o440),
			}}
			if folder == "overlays/self-managed" {
				wantArgs = append(wantArgs, "--cert-source=self-managed",
					"--cert-secret=gammaguard-system/"+only[*corev1.Secret](t, objects, "").Name)
				policies = append(policies, "gammaguard-ca-bundle")
				volume = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr(resource.MustParse("1Mi"))}}
			} else {
				serving := only[*certmanagerv1.Certificate](t, objects, "gammaguard-serving-cert")
				wantArgs = append(wantArgs, "--cert-manager-certificate="+client.ObjectKeyFromObject(serving).String())
				spec := serving.Spec
				if spec.SecretName != volume.Secret.SecretName || !slices.Equal(spec.DNSNames, []string{service.Name + "." + service.Namespace + ".svc"}) {
					t.Errorf("Certificate of %v in Secret %s", spec.DNSNames, spec.SecretName)
				}
				for _, registration := range registrations(objects) {
					if from := registration.GetAnnotations()["cert-manager.io/inject-ca-from"]; from != client.ObjectKeyFromObject(serving).String() {
						t.Errorf("%s takes its CA from %q", registration.GetName(), from)
					}
				}
			}
			account := only[*corev1.ServiceAccount](t, objects, "")
			who := fmt.Sprintf("request.userInfo.username == 'system:serviceaccount:%s:%s'", account.Namespace, account.Name)
			for _, policy := range policies {
				if c := only[*admissionv1.ValidatingAdmissionPolicy](t, objects, policy).Spec.MatchConditions; len(c) != 1 || c[0].Expression != who {
					t.Errorf("%s is not about ServiceAccount %s alone: %v", policy, account.Name, c)
				}
			}
			for _, arg := range wantArgs {
				if !slices.Contains(args, arg) {
					t.Errorf("no %s among %v", arg, args)
				}
			}
			index := slices.IndexFunc(deployment.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "certs" })
			if diff := cmp.Diff(volume, deployment.Spec.Template.Spec.Volumes[index].VolumeSource); diff != "" {
				t.Errorf("volume (-want +got):\n%s", diff)
			}
		})
	}
}

// ports returns the ports that a Deployment's Pods listen on, in order.
func ports(deployment *appsv1.Deployment) []int {
	var all []int
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			all = append(all, int(port.ContainerPort))
		}
	}
	slices.Sort(all)
	return all
}

// policyPorts returns the ports that a NetworkPolicy lets anybody reach, in order.
func policyPorts(policy networkingv1.NetworkPolicySpec) []int {
	var all []int
	for _, rule := range policy.Ingress {
		for _, port := range rule.Ports {
			all = append(all, port.Port.IntValue())
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryManifestIsInstalled: a file that no kustomization names would be
// installed by nobody.
func TestEveryManifestIsInstalled(t *testing.T) {
	named := map[string]bool{}
	var visit func(folder string)
	visit = func(folder string) {
		var kustomization struct {
			Resources, Components []string
			Patches               []struct{ Path string }
			ConfigMapGenerator    []struct{ Files []string }
		}
		if err := yaml.Unmarshal(documents(t, folder+"/kustomization.yaml")[0], &kustomization); err != nil {
			t.Fatal(err)
		}
		named[folder+"/kustomization.yaml"] = true
		for _, patch := range kustomization.Patches {
			named[path.Join(folder, patch.Path)] = true
		}
		for _, generator := range kustomization.ConfigMapGenerator {
			for _, file := range generator.Files {
				named[path.Join(folder, file)] = true
			}
		}
		for _, resource := range slices.Concat(kustomization.Resources, kustomization.Components) {
			if strings.HasSuffix(resource, ".yaml") {
				named[path.Join(folder, resource)] = true
			} else {
				visit(path.Join(folder, resource))
			}
		}
	}
	// Some components are for users to add, see docs/components.md.
	for _, folder := range append(slices.Clone(overlays),
		"components/metrics", "components/network-policy", "components/client-authentication", "components/openreports", "components/monitoring",
		"components/policies", "components/fail-open", "overlays/policies") {
		visit(folder)
	}
	err := fs.WalkDir(Manifests, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !named[path] {
			t.Errorf("%s is installed by nobody", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
