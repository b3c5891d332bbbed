package cluster_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

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
	bundle := func() string {
		made, err := selfsigned.New("a.test")
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(made.CA)
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
	wants := func(result cluster.Result, details string) {
		t.Helper()
		_, checks := preflight(t, "--installed --installation default/guard")
		if check := checks["webhook configurations"]; check.Result != result || check.Details != details {
			t.Errorf("%s %s\nwant %s %s", check.Result, check.Details, result, details)
		}
	}
	patch := func(object, op, field, value string) {
		t.Helper()
		text := `{"op": "` + op + `", "path": "/webhooks/0/` + field + `"`
		if value != "" {
			text += `, "value": ` + value
		}
		kubectl(t, "", "patch", object, "--type=json", "-p", "["+text+"}]")
	}
	ca, other := bundle(), bundle()
	const (
		clientCA = "clientConfig/caBundle"
		selector = `{"matchLabels": {"mesh": "yes"}}`
		leaves   = ": what it leaves out is not checked, but counts in audit and status; use exemptions or the mode label instead"
		lacks    = " has no caBundle yet: check the source of certificates"
		both     = "both are there; failurePolicy Fail"
	)
	wants(cluster.Fail, "the webhook validate.gammaguard.dev"+lacks)
	patch(validating, "add", clientCA, `"`+ca+`"`)
	wants(cluster.Fail, "the webhook mutate.gammaguard.dev"+lacks)
	patch(mutating, "add", clientCA, `"`+other+`"`)
	wants(cluster.Warn, "the webhook mutate.gammaguard.dev has another caBundle than validate.gammaguard.dev: if calls of it fail, routes are checked and not completed")
	patch(mutating, "replace", clientCA, `"`+ca+`"`)
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
