package cluster_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// guard answers in the place of gammaguard.
type guard struct {
	mu      sync.Mutex
	answers string // of the next routes: r refuses, a admits; the last one stays
	then    func() // what happens once the next route is answered
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "spec.parentRefs[0].port: there is none (parent-port-not-found)",
	}}
	if review.Request.Resource.Resource == "httproutes" {
		g.mu.Lock()
		review.Response.Allowed = g.answers[0] == 'a'
		if len(g.answers) > 1 {
			g.answers = g.answers[1:]
		}
		if g.then != nil {
			g.then()
			g.then = nil
		}
		g.mu.Unlock()
	}
	_ = json.NewEncoder(w).Encode(review)
}

// TestInstalledWait: with --wait, what a replica of before the last change answers is no last word. What stays wrong is
// reported once the time is over.
func TestInstalledWait(t *testing.T) {
	g := &guard{}
	server := httptest.NewTLSServer(g)
	defer server.Close()
	serverCA := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ca, err := yaml.Marshal(serverCA)
	if err != nil {
		t.Fatal(err)
	}
	const webhook = `admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: URL, caBundle: CA}`
	kubectl(t, strings.NewReplacer("URL", server.URL, "CA", strings.TrimSpace(string(ca))).Replace(`{apiVersion: v1, kind: Namespace, metadata: {name: awaited}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: awaited}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: enforce, namespace: awaited}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: warn, namespace: awaited}, data: {guard.yaml: "{apiVersion: gammaguard.dev/v1alpha1, kind: GuardConfiguration, mode: warn}"}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: guard, namespace: awaited}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
 spec: {containers: [{name: webhook, image: "guard:v9"}], volumes: [{name: config, configMap: {name: enforce}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: awaited, labels: {app.kubernetes.io/name: gammaguard, app.kubernetes.io/component: webhook, pod-template-hash: b}}, spec: {containers: [{name: webhook, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: awaited, finalizers: [a.test/b], labels: {app.kubernetes.io/name: gammaguard, app.kubernetes.io/component: webhook, pod-template-hash: a}}, spec: {containers: [{name: webhook, image: x}]}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: gammaguard-serving}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: none},
 subjects: [{kind: ServiceAccount, namespace: awaited, name: default}]}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: gammaguard}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: gammaguard}, webhooks: [
 {name: validate.gammaguard.dev, `+webhook+`, rules: [{apiGroups: [gateway.networking.k8s.io], apiVersions: [v1], resources: [httproutes], operations: [CREATE]}]},
 {name: serving.gammaguard.dev, `+webhook+`, rules: [{apiGroups: [rbac.authorization.k8s.io], apiVersions: [v1], resources: [clusterrolebindings], operations: [UPDATE]}],
  matchConditions: [{name: probe, expression: "object.metadata.name == 'gammaguard-serving'"}]}]}
`), "apply", "-f", "-")
	defer kubectl(t, "", "delete", "--ignore-not-found", "validatingwebhookconfiguration/gammaguard", "mutatingwebhookconfiguration/gammaguard", "clusterrolebinding/gammaguard-serving")
	for _, of := range []string{"deployment/guard " + `{"status": {"observedGeneration": 99, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}}`, "pod/new " + `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`} {
		object, patch, _ := strings.Cut(of, " ")
		kubectl(t, "", "patch", object, "-n", "awaited", "--subresource=status", "--type=merge", "-p", patch)
	}
	const row = "a bad route in namespace awaited"
	try := func(what, answers, args string, code int, result cluster.Result, details string, progress ...string) {
		t.Helper()
		g.mu.Lock()
		g.answers = answers
		g.mu.Unlock()
		got, checks, stderr := progressOf(t, "--installed --installation awaited/guard "+args)
		if check := checks[row]; got != code || check.Result != result || check.Details != details {
			t.Errorf("%s: exit code %d, %s %s\nwant %d, %s %s", what, got, check.Result, check.Details, code, result, details)
		}
		want := ""
		for _, line := range progress {
			want += "waiting: " + line + "\n"
		}
		if stderr != want {
			t.Errorf("%s: progress\n%swant\n%s", what, stderr, want)
		}
	}
	const (
		restart  = "; after an edit of the ConfigMap, run kubectl rollout restart -n awaited deployment/guard"
		refused  = "is refused by gammaguard"
		stays    = refused + ", although the mode is warn: a replica has not read that yet" + restart
		admitted = "is admitted, although gammaguard answers: "
		exempt   = admitted + "its configuration exempts you, or turns the rules off" + restart
		warns    = admitted + "the mode is warn"
		ending   = "; Pod old is ending, and may still answer with an older image or configuration; image guard:v9; certificates from a Secret; mode enforce"
	)
	try("at once", "r", "--wait 1m", command.ExitClean, cluster.OK, refused)
	try("a step to enforce", "aar", "--wait 1m", command.ExitClean, cluster.OK, refused, row+": "+exempt)
	try("exempt", "a", "", command.ExitNotEnforcing, cluster.Fail, exempt)
	try("exempt, after waiting", "a", "--wait 2s", command.ExitNotEnforcing, cluster.Fail, exempt, row+": "+exempt)

	limited := func(json string) { // what is added to the webhook; the API server may still ask it
		t.Helper()
		kubectl(t, "", "patch", "validatingwebhookconfiguration", "gammaguard", "--type=json", "-p", json)
	}
	limited(`[{"op": "add", "path": "/webhooks/0/namespaceSelector", "value": {"matchLabels": {"mesh": "yes"}}}]`)
	try("a namespaceSelector", "a", "", command.ExitNotEnforcing, cluster.Fail, admitted+"validate.gammaguard.dev has a namespaceSelector that leaves it out")
	kubectl(t, "", "label", "namespace", "awaited", "mesh=yes")
	try("it selects the namespace", "r", "", command.ExitClean, cluster.OK, refused)
	limited(`[{"op": "remove", "path": "/webhooks/0/namespaceSelector"}, {"op": "add", "path": "/webhooks/0/objectSelector", "value": {"matchLabels": {"mesh": "yes"}}}]`)
	try("an objectSelector", "a", "", command.ExitNotEnforcing, cluster.Fail, admitted+"validate.gammaguard.dev has an objectSelector that leaves it out")
	limited(`[{"op": "remove", "path": "/webhooks/0/objectSelector"}, {"op": "add", "path": "/webhooks/0/matchConditions", "value": [{"name": "not-mine", "expression": "false"}]}]`)
	try("a match condition", "a", "", command.ExitNotEnforcing, cluster.Fail,
		admitted+"either the match condition not-mine of validate.gammaguard.dev leaves it out, or the configuration exempts you, or turns the rules off")
	limited(`[{"op": "remove", "path": "/webhooks/0/matchConditions"}]`)

	kubectl(t, "", "delete", "pod", "old", "-n", "awaited", "--wait=false")
	try("a Pod is ending", "a", "", command.ExitNotEnforcing, cluster.Fail, admitted+"a Pod of before the rollout may have answered")
	g.then = func() {
		if _, stderr, err := plane.Kubectl(t.Context(), "", "patch", "pod", "old", "-n", "awaited", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`); err != nil {
			t.Error(stderr)
		}
	}
	try("until the Pod has ended", "r", "--wait 1m", command.ExitClean, cluster.OK, refused, "installation: 1 of 1 replicas are ready"+ending)

	kubectl(t, "", "patch", "deployment", "-n", "awaited", "guard", "--type=json", "-p", `[{"op": "replace", "path": "/spec/template/spec/volumes/0/configMap/name", "value": "warn"}]`)
	try("a step to warn", "ra", "--wait 1m", command.ExitNotEnforcing, cluster.Warn, warns, row+": "+stays)
	ready := func(replicas string) {
		kubectl(t, "", "patch", "deployment/guard", "-n", "awaited", "--subresource=status", "--type=merge", "-p", `{"status": {"readyReplicas": `+replicas+`}}`)
	}
	ready("0")
	try("in mode warn, with another check that fails", "a", "", command.ExitFindings, cluster.Warn, warns)
	ready("1")
	try("it stays at enforce", "r", "", command.ExitFindings, cluster.Fail, stays)
	kubectl(t, "", "label", "namespace", "awaited", "gammaguard.dev/mode=enforce")
	try("the label enforces", "r", "", command.ExitClean, cluster.OK, refused)
	kubectl(t, "", "label", "namespace", "awaited", "gammaguard.dev/mode-")
	const policies = "../../../config/policy" // of the default configuration
	kubectl(t, "", "apply", "-k", policies)
	defer kubectl(t, "", "delete", "--ignore-not-found", "-k", policies)
	eventually := func(want string) { // a policy is taken up a moment after it is stored, and forgotten a moment after it is gone
		t.Helper()
		background.Eventually(t, func() string {
			if _, checks := preflight(t, "--installed --installation awaited/guard"); checks[row].Details != want {
				return checks[row].Details
			}
			return ""
		})
	}
	eventually("is refused by the API server itself, for its grant; gammaguard answers, although the mode is warn: apply what 'gammaguard policy' writes for the configuration, in the place of the component policies")
	kubectl(t, "", "label", "namespace", "awaited", "gammaguard.dev/mode=enforce")
	trusts := func(webhook int, ca []byte) {
		t.Helper()
		limited(fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/%d/clientConfig/caBundle", "value": %q}]`, webhook, base64.StdEncoding.EncodeToString(ca)))
	}
	const add = "; add the CA that signed the certificate as caBundle to each webhook of both webhook configurations"
	made, err := selfsigned.New("a.test")
	if err != nil {
		t.Fatal(err)
	}
	trusts(1, made.CA)
	eventually("is refused by the API server itself, for its grant")
	code, checks := preflight(t, "--installed --installation awaited/guard")
	if check := checks["API server reaches gammaguard"]; code != command.ExitNotAnswering || checks[row].Result != cluster.OK || check.Result != cluster.Fail || !strings.HasSuffix(check.Details, add) {
		t.Errorf("exit code %d, %+v, %+v", code, checks[row], check)
	}
	kubectl(t, "", "delete", "-k", policies)
	trusts(1, serverCA)
	eventually(refused)
	trusts(0, made.CA)
	background.Eventually(t, func() string {
		code, checks := preflight(t, "--installed --installation awaited/guard")
		if d := checks[row].Details; code != command.ExitNotAnswering || !strings.HasPrefix(d, "is refused because its webhook does not trust gammaguard: ") || !strings.HasSuffix(d, add) {
			return d
		}
		return ""
	})
	trusts(0, serverCA)
	kubectl(t, "", "label", "namespace", "awaited", "gammaguard.dev/mode-")
	eventually(stays)
	kubectl(t, "", "delete", "configmap", "-n", "awaited", "warn")
	try("the mode is unknown, since the configuration is missing", "a", "", command.ExitFindings, cluster.Warn, admitted+"the mode cannot be read")

	kubectl(t, "", "delete", "clusterrolebinding", "gammaguard-serving")
	try("there is no binding", "a", "", command.ExitNotAnswering, cluster.Fail, "is admitted: gammaguard is asked only once it has served")
	_, checks, _ = progressOf(t, "--installed --installation awaited/guard")
	if check := checks["API server reaches gammaguard"]; check.Result != cluster.Unclear {
		t.Errorf("nothing to probe with: %+v", check)
	}
}
