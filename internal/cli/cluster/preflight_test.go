package cluster_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// preflight runs the command, and returns the checks by name.
func preflight(t *testing.T, args string) (int, map[string]cluster.Check) {
	t.Helper()
	code, by, _ := progressOf(t, args)
	return code, by
}

// progressOf also returns what the command says meanwhile.
func progressOf(t *testing.T, args string) (code int, by map[string]cluster.Check, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t, "", append(strings.Fields("preflight -o json --kubeconfig "+plane.Kubeconfig), strings.Fields(args)...)...)
	var report cluster.PreflightReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || report.Kind != "PreflightReport" {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	by = map[string]cluster.Check{}
	for _, check := range report.Checks {
		by[check.Name] = check
	}
	return code, by, stderr
}

// TestPreflight: what a cluster has, what it lacks, and what nobody can tell.
func TestPreflight(t *testing.T) {
	kubectl(t, `
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: preflight}, webhooks: [
 {name: pods.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1"}, rules: [{apiGroups: [""], apiVersions: ["*"], resources: [pods], operations: [DELETE]}]},
 {name: routes.example.com, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, clientConfig: {url: "https://127.0.0.1:1"}, namespaceSelector: {matchLabels: {preflight: "yes"}},
  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: [httproutes], operations: [CREATE]}]},
 {name: validate.gammaguard.dev, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1"}, namespaceSelector: {matchLabels: {preflight: "yes"}},
  rules: [{apiGroups: [gateway.networking.k8s.io], apiVersions: ["*"], resources: [httproutes], operations: [CREATE]}]}]}
---
{apiVersion: v1, kind: Node, metadata: {name: preflight}}
`, "apply", "-f", "-")
	t.Cleanup(func() {
		_, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "validatingwebhookconfiguration/preflight", "node/preflight",
			"clusterrole/preflight", "clusterrolebinding/preflight")
		if err != nil {
			t.Error(stderr)
		}
	})
	kubectl(t, "", "patch", "node", "preflight", "--subresource=status", "--type=merge", "-p", `{"status":{"images":[{"names":["docker.io/library/gammaguard-webhook:dev"]}]}}`)

	code, checks := preflight(t, "")
	want := map[string]cluster.Check{
		"cert-manager":             {Result: cluster.Fail, Details: "cert-manager.io/v1 is not served: install cert-manager, or use config/overlays/self-managed, for audit mode together with config/components/audit-only"},
		"image":                    {Result: cluster.OK, Details: "gammaguard-webhook:dev: all 1 nodes have it"},
		"other webhooks on routes": {Result: cluster.Warn, Details: "routes.example.com (validating, failurePolicy Ignore): they can deny or change routes too"},
		"your permissions":         {Result: cluster.OK, Details: "you can create all objects"},
	}
	for name, check := range want {
		check.Name = name
		if diff := cmp.Diff(check, checks[name]); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if code != command.ExitFindings || len(checks) != 7 {
		t.Errorf("exit code %d, %d checks", code, len(checks))
	}
	for name, details := range map[string]string{
		"Kubernetes version": `^v1\.\d+\.\d+$`,
		"Gateway API":        `^GRPCRoute v1; HTTPRoute v1, v1beta1; TLSRoute v1.*; TCPRoute v1.*; UDPRoute v1.* \(release v1\.\d+\.\d+, channel experimental\)$`,
	} {
		if check := checks[name]; check.Result != cluster.OK || !regexp.MustCompile(details).MatchString(check.Details) {
			t.Errorf("%+v", check)
		}
	}

	code, checks = preflight(t, "--overlay self-managed --image registry.example.com/guard:v1")
	if _, some := checks["cert-manager"]; some || code != command.ExitClean {
		t.Errorf("self-managed: exit code %d, %v", code, checks)
	}
	if want := "registry.example.com/guard:v1: 0 of 1 nodes report that they have it; whether they can pull it cannot be determined from here"; checks["image"].Result != cluster.Unclear || checks["image"].Details != want {
		t.Errorf("another image: %+v", checks["image"])
	}

	// Who may do nothing learns what he lacks, and what cannot be told.
	code, checks = preflight(t, "--overlay self-managed --as nobody")
	if code != command.ExitFindings || checks["your permissions"].Result != cluster.Fail || !strings.HasPrefix(checks["your permissions"].Details, "you cannot create namespaces, ") {
		t.Errorf("as nobody: exit code %d, %+v", code, checks["your permissions"])
	}
	if checks["other webhooks on routes"].Result != cluster.Unclear || checks["image"].Result != cluster.Unclear {
		t.Errorf("as nobody: %+v", checks)
	}
	// Who may read one kind of webhook configurations sees those, and what is missing.
	kubectl(t, "", "create", "clusterrole", "preflight", "--verb=list", "--resource=validatingwebhookconfigurations")
	kubectl(t, "", "create", "clusterrolebinding", "preflight", "--clusterrole=preflight", "--user=half")
	_, checks = preflight(t, "--overlay self-managed --as half")
	if got, want := checks["other webhooks on routes"], "routes.example.com (validating, failurePolicy Ignore): they can deny or change routes too; you cannot read mutatingwebhookconfigurations"; got.Result != cluster.Warn || got.Details != want {
		t.Errorf("as half: %+v", got)
	}
	if code, stdout, _ := run(t, "", "preflight", "--kubeconfig", plane.Kubeconfig); code != command.ExitFindings || !strings.HasPrefix(stdout, "CHECK  ") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// TestUnguarded: who may write what shapes mesh traffic without a grant, as far as the roles
// can be read. Whoever is somebody without being named counts, and Kubernetes itself does not.
func TestUnguarded(t *testing.T) {
	const name = "not guarded"
	_, checks := preflight(t, "--overlay self-managed")
	if check := checks[name]; check.Result != cluster.OK && !strings.Contains(check.Details, "backendtlspolicies") {
		t.Errorf("before: %+v", check)
	}
	kubectl(t, `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: serviceprofiles.linkerd.io}, spec: {group: linkerd.io, scope: Namespaced,
 names: {kind: ServiceProfile, plural: serviceprofiles, singular: serviceprofile, listKind: ServiceProfileList},
 versions: [{name: v1alpha2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: unguarded-profiles}, rules: [{apiGroups: [linkerd.io], resources: [serviceprofiles], verbs: [get, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: unguarded-reads}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: unguarded-all}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
 subjects: [{kind: ServiceAccount, namespace: flux-system, name: flux}, {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:masters"}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: unguarded-reads}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: unguarded-reads},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: unguarded, namespace: default}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: unguarded-profiles},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}, {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:authenticated"}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: unguarded, namespace: kube-public}, rules: [{apiGroups: [linkerd.io], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: unguarded, namespace: kube-public}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: unguarded},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ops}]}
`, "apply", "-f", "-")
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, args := range []string{
			"delete crd serviceprofiles.linkerd.io", "delete clusterrole unguarded-profiles unguarded-reads", "delete clusterrolebinding unguarded-all unguarded-reads",
			"delete rolebinding unguarded -n default", "delete role,rolebinding unguarded -n kube-public",
		} {
			if _, stderr, err := plane.Kubectl(ctx, "", strings.Fields(args)...); err != nil {
				t.Error(stderr)
			}
		}
	})
	kubectl(t, "", "wait", "--for=condition=Established", "crd/serviceprofiles.linkerd.io", "--timeout=60s")
	_, checks = preflight(t, "--overlay self-managed")
	check := checks[name]
	for _, want := range []string{
		"serviceprofiles.linkerd.io", "ServiceAccount flux-system/flux (all of them)", "User dev in namespace default (", "Group system:authenticated in namespace default (",
		"User ops in namespace kube-public (",
	} {
		if check.Result != cluster.Warn || !strings.Contains(check.Details, want) {
			t.Errorf("lacks %q: %+v", want, check)
		}
	}
	for _, other := range []string{"reader", "masters", "kube-system", "cannot read"} {
		if strings.Contains(check.Details, other) {
			t.Errorf("names %q: %+v", other, check)
		}
	}
	_, checks = preflight(t, "--overlay self-managed --as nobody")
	if check := checks[name]; check.Result != cluster.Unclear || !strings.HasSuffix(check.Details, "; who may write them cannot be determined; you cannot read clusterrolebindings, clusterroles, rolebindings, roles") {
		t.Errorf("as nobody: %+v", check)
	}
}

// TestUnguardedDocumented: docs/unguarded.md names the resources that preflight looks at, and
// no others.
func TestUnguardedDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/unguarded.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && strings.Contains(cells[3], "`") {
			for resource := range strings.SplitSeq(cells[4], ",") {
				named[strings.Trim(resource, " `")+"."+strings.Trim(cells[3], " `")] = true
			}
		}
	}
	for _, of := range cluster.Unguarded {
		if key := of.Resource + "." + of.Group; !named[key] {
			t.Errorf("the page lacks %s", key)
		} else {
			delete(named, key)
		}
	}
	if len(named) > 0 {
		t.Errorf("preflight does not look at %v", named)
	}
}

// TestInstalled: preflight asks for the right to create each kind of what an overlay
// installs.
func TestInstalled(t *testing.T) {
	asked := map[string]bool{}
	for _, of := range cluster.Installed {
		asked[of.Group+"/"+of.Resource] = true
	}
	for _, overlay := range []string{"default", "overlays/self-managed"} {
		documents := strings.Split(kubectl(t, "", "kustomize", "../../../config/"+overlay), "\n---\n")
		for _, document := range documents {
			var object metav1.TypeMeta
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
			if object.Kind == "Deployment" && !strings.Contains(document, "app.kubernetes.io/component: webhook\n        app.kubernetes.io/name: gammaguard\n") {
				t.Errorf("%s: the labels of the Pods are not those by which they are listed", overlay)
			}
			if !asked[resource.Group+"/"+resource.Resource] {
				t.Errorf("%s: %s is not asked for", overlay, resource)
			}
		}
		if len(documents) < 15 {
			t.Errorf("%s: only %d objects", overlay, len(documents))
		}
	}
}
