package cluster_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/cluster"
	"github.com/gammaguard/gammaguard/test/kustomize"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// TestInstalledRegistrations: what is wrong with either webhook configuration is named, and nothing is wrong with those that
// are shipped.
func TestInstalledRegistrations(t *testing.T) {
	built, err := kustomize.Build("default", "policies")
	if err != nil {
		t.Fatal(err)
	}
	const validating, mutating = "validatingwebhookconfiguration/gammaguard", "mutatingwebhookconfiguration/gammaguard"
	defer kubectl(t, "", "delete", "--ignore-not-found", validating, mutating, "deployment/guard")
	bundle := func() []byte {
		made, err := selfsigned.New("a.test")
		if err != nil {
			t.Fatal(err)
		}
		return made.CA
	}
	for _, manifest := range built {
		if kind, _ := manifest["kind"].(string); strings.HasSuffix(kind, "WebhookConfiguration") {
			text, err := json.Marshal(manifest)
			if err != nil {
				t.Fatal(err)
			}
			kubectl(t, string(text), "apply", "-f", "-")
		}
	}
	trusting := func(cas ...[]byte) string { return `"` + base64.StdEncoding.EncodeToString(bytes.Join(cas, nil)) + `"` }
	wants := func(result cluster.Result, details string) {
		t.Helper()
		_, checks := preflight(t, "--installed --installation default/guard")
		if check := checks["webhook configurations"]; check.Result != result || check.Details != details {
			t.Errorf("%s %s\nwant %s %s", check.Result, check.Details, result, details)
		}
	}
	patchAt := func(object string, at int, op, field, value string) {
		t.Helper()
		text := fmt.Sprintf(`{"op": %q, "path": "/webhooks/%d/%s"`, op, at, field)
		if value != "" {
			text += `, "value": ` + value
		}
		kubectl(t, "", "patch", object, "--type=json", "-p", "["+text+"}]")
	}
	selfManage := func() {
		t.Helper()
		kubectl(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: guard, namespace: default}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
 spec: {containers: [{name: webhook, image: guard, args: [--cert-secret=default/cert]}]}}}}`, "apply", "-f", "-")
	}
	patch := func(object, op, field, value string) { t.Helper(); patchAt(object, 0, op, field, value) }
	serving := slices.Index(strings.Fields(kubectl(t, "", "get", validating, "-o", "jsonpath={.webhooks[*].name}")), config.ServingWebhook)
	ca, other := bundle(), bundle()
	const (
		clientCA = "clientConfig/caBundle"
		selector = `{"matchLabels": {"mesh": "yes"}}`
		leaves   = ": what it leaves out is not checked, but counts in audit and status; remove it with kubectl edit, and use exemptions or the mode label instead"
		lacks    = " has no caBundle yet: check the source of certificates"
		lacksCA  = "calls can fail, for lack of a CA that serving.gammaguard.dev trusts: "
		labels   = "labels.gammaguard.dev (no previews), "
		others   = ", routes.gammaguard.dev (no previews), services.gammaguard.dev (no previews)"
		add      = "; add the CA that signed the certificate as caBundle to each webhook of both webhook configurations"
		both     = "both are there; failurePolicy Fail"
	)
	wants(cluster.Fail, "the webhook validate.gammaguard.dev"+lacks)
	patch(validating, "add", clientCA, trusting(ca))
	wants(cluster.Fail, "the webhook serving.gammaguard.dev"+lacks)
	patchAt(validating, serving, "add", clientCA, trusting(ca))
	wants(cluster.Fail, "the webhook mutate.gammaguard.dev"+lacks)
	patch(mutating, "add", clientCA, trusting(other))
	const checked, refused = "mutate.gammaguard.dev (routes are checked and not completed)", "validate.gammaguard.dev (mesh routes are refused)"
	wants(cluster.Warn, lacksCA+labels+checked+others+add)
	patch(mutating, "replace", clientCA, trusting(ca))
	wants(cluster.Warn, lacksCA+strings.TrimSuffix(labels, ", ")+others+add)
	for at := range serving {
		patchAt(validating, at, "add", clientCA, trusting(ca))
	}
	wants(cluster.OK, both)
	patch(validating, "replace", clientCA, trusting(other))
	patch(mutating, "replace", clientCA, trusting(other))
	wants(cluster.Warn, lacksCA+checked+", "+refused+add)
	patch(mutating, "replace", clientCA, trusting(ca))
	patch(validating, "replace", "failurePolicy", `"Ignore"`)
	wants(cluster.Warn, lacksCA+"validate.gammaguard.dev (mesh routes are admitted unchecked)"+add)
	patch(validating, "replace", "failurePolicy", `"Fail"`)
	patch(validating, "replace", clientCA, trusting(ca, other)) // as gammaguard's leader repairs it
	wants(cluster.OK, both)
	patchAt(validating, serving, "replace", clientCA, trusting(ca, bundle())) // on the day after a rotation
	wants(cluster.Warn, lacksCA+labels+checked+others+", "+refused+add)
	selfManage()
	wants(cluster.OK, both)
	patch(validating, "replace", clientCA, trusting(other))
	wants(cluster.Warn, lacksCA+refused+"; the leader of gammaguard adds the CA within seconds: otherwise, its log names the reason")
	patch(validating, "replace", clientCA, trusting(ca))
	patch(mutating, "replace", "namespaceSelector", selector)
	wants(cluster.Warn, "mutate.gammaguard.dev has a namespaceSelector: what it leaves out is checked and not completed")
	patch(validating, "add", "namespaceSelector", selector)
	wants(cluster.Warn, "validate.gammaguard.dev has a namespaceSelector"+leaves)
	patch(validating, "remove", "namespaceSelector", "")
	patch(validating, "add", "objectSelector", selector)
	wants(cluster.Warn, "validate.gammaguard.dev has an objectSelector"+leaves)
	patch(validating, "remove", "objectSelector", "")
	patch(validating, "add", "matchConditions/-", `{"name": "not-mine", "expression": "true"}`)
	wants(cluster.Warn, "validate.gammaguard.dev has the match condition not-mine"+leaves)
	kubectl(t, "", "delete", mutating)
	wants(cluster.Warn, "there is no mutatingwebhookconfiguration gammaguard: routes are checked and not completed")
}
