package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/mesh"
)

func TestPropose(t *testing.T) {
	of := func(name mesh.ProfileName, controllers ...string) cluster.Detected {
		return cluster.Detected{Profile: mesh.FindProfile(name), Groups: []string{"a"}, Controllers: controllers}
	}
	for name, test := range map[string]struct {
		found []cluster.Detected
		want  string
	}{
		"nothing":                        {nil, "error: no mesh was found"},
		"one":                            {[]cluster.Detected{of(mesh.Kuma, "x")}, "kuma"},
		"definitions that are left over": {[]cluster.Detected{of(mesh.Istio), of(mesh.Linkerd, "x")}, "linkerd"},
		"definitions alone":              {[]cluster.Detected{of(mesh.Istio)}, "istio: no control plane was found, only its API groups"},
		"Cilium alone":                   {[]cluster.Detected{of(mesh.Cilium, "x")}, "cilium"},
		"Cilium below another":           {[]cluster.Detected{of(mesh.Cilium, "x"), of(mesh.Istio, "y")}, "istio: Cilium is assumed to be the Pod network only"},
		"two":                            {[]cluster.Detected{of(mesh.Istio, "x"), of(mesh.Linkerd, "y")}, "error: more than one mesh was found"},
		"two, and Cilium":                {[]cluster.Detected{of(mesh.Cilium, "z"), of(mesh.Istio, "x"), of(mesh.Linkerd, "y")}, "error: more than one mesh was found"},
	} {
		var got string
		switch profile, note, err := cluster.Propose(test.found); {
		case err != nil:
			got = "error: " + err.Error()
		case note != "":
			got = fmt.Sprintf("%s: %s", profile.Name, note)
		default:
			got = string(profile.Name)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestDetectMesh: the command finds nothing, then the API group, then the control plane.
func TestDetectMesh(t *testing.T) {
	detect := func(code int, want ...string) {
		t.Helper()
		got, stdout, stderr := run(t, "", "detect-mesh", "--kubeconfig", plane.Kubeconfig)
		if diff := cmp.Diff(strings.Join(want, "\n")+"\n", stdout); diff != "" || got != code || stderr != "" {
			t.Errorf("exit code %d, stderr %q (-want +got):\n%s", got, stderr, diff)
		}
	}
	detect(1, "There is no mesh to propose: no mesh was found. Without mesh, gammaguard follows the specification.")
	kubectl(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: dataplanes.kuma.io}
spec:
  group: kuma.io
  scope: Namespaced
  names: {kind: Dataplane, plural: dataplanes, singular: dataplane, listKind: DataplaneList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "apply", "-f", "-")
	kubectl(t, "", "wait", "--for=condition=Established", "crd/dataplanes.kuma.io", "--timeout=60s")
	const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default, labels: {%[2]s}}
spec: {selector: {matchLabels: {%[2]s}}, template: {metadata: {labels: {%[2]s}}, spec: {containers: [{name: main, image: none}]}}}
`
	detect(0, "MESH   API GROUPS   CONTROLLERS", "Kuma   kuma.io      <none>", "",
		"Set this in the configuration of gammaguard (no control plane was found, only its API groups):", "", "mesh: kuma")
	kubectl(t, fmt.Sprintf(deployment, "istiod", "app: istiod"), "apply", "-f", "-")
	detect(0, "MESH    API GROUPS   CONTROLLERS", "Istio   <none>       default/istiod", "Kuma    kuma.io      <none>", "",
		"Set this in the configuration of gammaguard:", "", "mesh: istio")
	// Who may not list Deployments gets what the API groups tell.
	code, stdout, stderr := run(t, "", "detect-mesh", "--as", "nobody", "--kubeconfig", plane.Kubeconfig)
	if code != 0 || !strings.HasSuffix(stdout, "mesh: kuma\n") || !strings.HasSuffix(stderr, "\n  Deployments across all namespaces\n") {
		t.Errorf("as nobody: exit code %d, %s%s", code, stdout, stderr)
	}
}
