package cluster_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// TestInstalledRollout: the check of the replicas describes those that run, names what keeps the others, and gives no hint
// that leads nowhere.
func TestInstalledRollout(t *testing.T) {
	kubectl(t, `{apiVersion: v1, kind: Namespace, metadata: {name: rolled}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: rolled}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: guard, namespace: rolled}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: typo, namespace: rolled}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, grants: {contct: x}}"}}
---
{apiVersion: v1, kind: Secret, metadata: {name: cert, namespace: rolled}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: guard, namespace: rolled}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
 spec: {containers: [{name: webhook, image: "guard:v9", args: [--cert-source=self-managed, --cert-secret=rolled/cert]}], volumes: [{name: config, configMap: {name: guard}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: rolled, labels: {app.kubernetes.io/name: gammaguard, app.kubernetes.io/component: webhook}}, spec: {containers: [{name: webhook, image: x}]}}
`, "apply", "-f", "-")
	patch := func(object, patch string) {
		t.Helper()
		kubectl(t, "", "patch", "-n", "rolled", object, "--type=merge", "-p", patch, "--subresource=status")
	}
	pod := func(state string) { t.Helper(); patch("pod/new", `{"status": {"containerStatuses": [`+state+`]}}`) }
	const (
		rest    = "image guard:v9; certificates from gammaguard; mode enforce"
		pulling = `{"name": "webhook", "image": "x", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ErrImagePull"}}}`
		crashed = `{"name": "webhook", "image": "x", "imageID": "", "ready": false, "restartCount": 1, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 2}}}`
		log     = ". The log of gammaguard names the reason"
	)
	installed := func(what string, result cluster.Result, details string) map[string]cluster.Check {
		t.Helper()
		code, checks := preflight(t, "--installed --installation rolled/guard")
		if check := checks["installation"]; check.Result != result || check.Details != details || code == command.ExitClean {
			t.Errorf("%s: exit code %d, %s %s\nwant %s %s", what, code, check.Result, check.Details, result, details)
		}
		return checks
	}
	kubectl(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: gammaguard-serving}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: none}}`, "apply", "-f", "-")
	defer kubectl(t, "", "delete", "clusterrolebinding", "gammaguard-serving")

	pod(pulling)
	checks := installed("the first image cannot be pulled", cluster.Fail, "0 of 2 replicas are ready; Pod new: ErrImagePull; "+rest)
	if served := checks["has served"].Details; !strings.HasPrefix(served, "not yet, ") || strings.Contains(served, log) {
		t.Errorf("there is no log: %s", served)
	}
	pod(crashed)
	checks = installed("it crashes", cluster.Fail, "0 of 2 replicas are ready; Pod new: CrashLoopBackOff; "+rest)
	if served := checks["has served"].Details; !strings.HasSuffix(served, log) {
		t.Errorf("there is a log: %s", served)
	}
	patch("deployment/guard", `{"status": {"observedGeneration": 99, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2}}`)
	installed("an upgrade", cluster.Fail, "the rollout is not finished: 1 of 2 replicas are updated, the others run an older image or configuration; Pod new: CrashLoopBackOff; to be rolled out: "+rest)
	patch("deployment/guard", `{"status": {"updatedReplicas": 2}}`)
	installed("the end of an upgrade", cluster.Fail, "the rollout is not finished: 2 of 2 replicas are updated, and older ones stay until these are available; Pod new: CrashLoopBackOff; to be rolled out: "+rest)
	patch("pod/new", `{"status": {"containerStatuses": null, "conditions": [{"type": "Ready", "status": "True"}]}}`)
	patch("deployment/guard", `{"status": {"observedGeneration": 0, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}}`)
	installed("a change", cluster.Fail, "the rollout is not finished: the last change of the Deployment has not been processed; to be rolled out: "+rest)
	patch("deployment/guard", `{"status": {"observedGeneration": 99, "readyReplicas": 1}}`)
	installed("one of two", cluster.Warn, "1 of 2 replicas are ready; "+rest)
	patch("deployment/guard", `{"status": {"readyReplicas": 2}}`)
	installed("all", cluster.OK, "2 of 2 replicas are ready; "+rest)
	const election = "gammaguard-leader-election"
	leads := func(result cluster.Result, details string) {
		t.Helper()
		_, checks := preflight(t, "--installed --installation rolled/guard")
		if check := checks["leader election"]; check.Result != result || check.Details != details {
			t.Errorf("leader election: %s %s\nwant %s %s", check.Result, check.Details, result, details)
		}
	}
	const missing = "there is no %s rolled/" + election + ": no replica can become the leader, which writes status and Reports; apply the overlay again"
	leads(cluster.Warn, fmt.Sprintf(missing, "role"))
	kubectl(t, "", "create", "role", election, "-n", "rolled", "--verb=create", "--resource=leases")
	leads(cluster.Warn, fmt.Sprintf(missing, "rolebinding"))
	kubectl(t, "", "create", "rolebinding", election, "-n", "rolled", "--role="+election, "--serviceaccount=rolled:default")
	leads(cluster.OK, "its Role and RoleBinding are there")
	own := func(check string, result cluster.Result, details string) {
		t.Helper()
		_, checks := preflight(t, "--installed --installation rolled/guard")
		if got := checks[check]; got.Result != result || got.Details != details {
			t.Errorf("%s: %s %s\nwant %s %s", check, got.Result, got.Details, result, details)
		}
	}
	const webhook, gone = "gammaguard-webhook", "there is no %s gammaguard-webhook: unless you renamed it, gammaguard cannot read what it needs; apply the overlay again"
	own("permissions", cluster.Warn, fmt.Sprintf(gone, "clusterrole"))
	kubectl(t, "", "create", "clusterrole", webhook, "--verb=get", "--resource=namespaces")
	defer kubectl(t, "", "delete", "clusterrole", webhook)
	own("permissions", cluster.Warn, fmt.Sprintf(gone, "clusterrolebinding"))
	kubectl(t, "", "create", "clusterrolebinding", webhook, "--clusterrole="+webhook, "--serviceaccount=rolled:default")
	defer kubectl(t, "", "delete", "clusterrolebinding", webhook)
	own("permissions", "", "")
	own("names in status", "", "") // there are no policies
	policies := filepath.Join("..", "..", "..", "config", "policy", "account", "service_account.yaml")
	kubectl(t, "", "apply", "-f", policies)
	defer kubectl(t, "", "delete", "-f", policies)
	own("names in status", "", "")
	kubectl(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: guard, namespace: rolled}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, status: {controllerName: a.example/guard, formerControllerNames: [gammaguard.dev/guard]}}"}}`, "apply", "-f", "-")
	const refused = "ValidatingAdmissionPolicy %s does not have %s of the configuration, so the API server refuses %s: see Names in status in docs/configuration.md"
	own("names in status", cluster.Fail, fmt.Sprintf(refused, "gammaguard-service-account", "a.example/guard", "what gammaguard writes into the status of routes"))
	kubectl(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: guard, namespace: rolled}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, status: {conflictReason: Taken}}"}}`, "apply", "-f", "-")
	own("names in status", cluster.Fail, fmt.Sprintf(refused, "gammaguard-events", "Taken", "gammaguard's Events"))
	kubectl(t, "", "delete", "secret", "-n", "rolled", "cert")
	installed("no Secret", cluster.Warn, "2 of 2 replicas are ready; "+rest+"; there is no Secret rolled/cert, so no Pod that starts becomes ready: apply the overlay again")
	kubectl(t, "", "create", "secret", "generic", "cert", "-n", "rolled")
	kubectl(t, "", "patch", "deployment", "-n", "rolled", "guard", "--type=json", "-p", `[{"op": "replace", "path": "/spec/template/spec/volumes/0/configMap/name", "value": "typo"}]`)
	installed("a field that does not exist", cluster.Fail,
		`2 of 2 replicas are ready; image guard:v9; certificates from gammaguard; the configuration cannot be read: ConfigMap rolled/typo: guard.yaml: unknown field "grants.contct"; did you mean "contact"?`)
}
