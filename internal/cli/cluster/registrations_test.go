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
	defer kubectl(t, "", "delete", "--ignore-not-found", validating, mutating)
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
	patch := func(object, op, field, value string) { t.Helper(); patchAt(object, 0, op, field, value) }
	serving := slices.Index(strings.Fields(kubectl(t, "", "get", validating, "-o", "jsonpath={.webhooks[*].name}")), config.ServingWebhook)
	ca, other := bundle(), bundle()
	const (
		clientCA = "clientConfig/caBundle"
		selector = `{"matchLabels": {"mesh": "yes"}}`
		leaves   = ": what it leaves out is not checked, but counts in audit and status; use exemptions or the mode label instead"
		lacks    = " has no caBundle yet: check the source of certificates"
		lacksCA  = ".gammaguard.dev lacks a CA that serving.gammaguard.dev trusts: if its calls fail, "
		add      = "; add the CA that signed the certificate as caBundle to each webhook of both webhook configurations"
		both     = "both are there; failurePolicy Fail"
	)
	wants(cluster.Fail, "the webhook validate.gammaguard.dev"+lacks)
	patch(validating, "add", clientCA, trusting(ca))
	wants(cluster.Fail, "the webhook serving.gammaguard.dev"+lacks)
	patchAt(validating, serving, "add", clientCA, trusting(ca))
	wants(cluster.Fail, "the webhook mutate.gammaguard.dev"+lacks)
	patch(mutating, "add", clientCA, trusting(other))
	wants(cluster.Warn, "the webhook mutate"+lacksCA+"routes are checked and not completed"+add)
	patch(mutating, "replace", clientCA, trusting(ca))
	wants(cluster.OK, both)
	patch(validating, "replace", clientCA, trusting(other))
	wants(cluster.Warn, "the webhook validate"+lacksCA+"mesh routes are refused"+add)
	patch(validating, "replace", "failurePolicy", `"Ignore"`)
	wants(cluster.Warn, "the webhook validate"+lacksCA+"mesh routes are admitted unchecked"+add)
	patch(validating, "replace", "failurePolicy", `"Fail"`)
	patch(validating, "replace", clientCA, trusting(other, ca)) // as gammaguard's leader repairs it
	wants(cluster.OK, both)
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
