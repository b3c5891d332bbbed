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
		"one with a version":             {[]cluster.Detected{{Profile: mesh.FindProfile(mesh.Kuma), Controllers: []string{"x"}, Version: "2.13.1"}}, "kuma@2.13.1"},
		"definitions that are left over": {[]cluster.Detected{of(mesh.Istio), of(mesh.Linkerd, "x")}, "linkerd"},
		"definitions alone":              {[]cluster.Detected{of(mesh.Istio)}, "istio: no control plane was found, only its API groups"},
		"Cilium alone":                   {[]cluster.Detected{of(mesh.Cilium, "x")}, "cilium"},
		"Cilium below another":           {[]cluster.Detected{of(mesh.Cilium, "x"), of(mesh.Istio, "y")}, "istio: Cilium is assumed to be the Pod network only"},
		"two":                            {[]cluster.Detected{of(mesh.Istio, "x"), of(mesh.Linkerd, "y")}, "error: more than one mesh was found"},
		"two, and Cilium":                {[]cluster.Detected{of(mesh.Cilium, "z"), of(mesh.Istio, "x"), of(mesh.Linkerd, "y")}, "error: more than one mesh was found"},
	} {
		var got string
		switch proposal, note, err := cluster.Propose(test.found); {
		case err != nil:
			got = "error: " + err.Error()
		case note != "":
			got = fmt.Sprintf("%s: %s", proposal.Name(), note)
		default:
			got = string(proposal.Name())
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
spec: {selector: {matchLabels: {%[2]s}}, template: {metadata: {labels: {%[2]s}}, spec: {containers: [{name: main, image: "%[3]s"}]}}}
`
	detect(0, "MESH   API GROUPS   CONTROLLERS   VERSION", "Kuma   kuma.io      <none>        <unknown>", "",
		"Set this in the configuration of gammaguard (no control plane was found, only its API groups):", "", "mesh: kuma")
	kubectl(t, fmt.Sprintf(deployment, "istiod", "app: istiod", "registry.example:5000/istio/pilot:1.30.2-distroless@sha256:"+strings.Repeat("0", 64)), "apply", "-f", "-")
	detect(0, "MESH    API GROUPS   CONTROLLERS      VERSION", "Istio   <none>       default/istiod   1.30.2-distroless", "Kuma    kuma.io      <none>           <unknown>", "",
		"Set this in the configuration of gammaguard:", "", "mesh: istio@1.30.2-distroless")
	kubectl(t, fmt.Sprintf(deployment, "istiod-canary", "app: istiod", "istio/pilot:1.99.0"), "apply", "-f", "-")
	detect(0, "MESH    API GROUPS   CONTROLLERS                            VERSION", "Istio   <none>       default/istiod,default/istiod-canary   <unknown>",
		"Kuma    kuma.io      <none>                                 <unknown>", "",
		"Set this in the configuration of gammaguard:", "", "mesh: istio")
	kubectl(t, "", "delete", "deployment", "istiod")
	detect(0, "MESH    API GROUPS   CONTROLLERS             VERSION", "Istio   <none>       default/istiod-canary   1.99.0", "Kuma    kuma.io      <none>                  <unknown>", "",
		"Set this in the configuration of gammaguard:", "", "mesh: istio@1.99.0", "",
		"This release is newer than what gammaguard knows of Istio (1.31): it warns where it would deny.")
	// Who may not list Deployments gets what the API groups tell.
	code, stdout, stderr := run(t, "", "detect-mesh", "--as", "nobody", "--kubeconfig", plane.Kubeconfig)
	if code != 0 || !strings.HasSuffix(stdout, "mesh: kuma\n") || stderr != "note: you cannot read Deployments across all namespaces, so only API groups are looked at; ask for the right to list them\n" {
		t.Errorf("as nobody: exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = run(t, "", "detect-mesh", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	if code != 0 || !strings.Contains(stdout, `"proposal": "istio@1.99.0"`) || stderr != "" {
		t.Errorf("-o json: exit code %d, %s%s", code, stdout, stderr)
	}
}
