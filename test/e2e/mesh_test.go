//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// shop is a namespace with Services, whose routes may do anything in the mesh.
const shop = `
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels: {gammaguard.dev/grant: all}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec:
  ports:
  - {name: http, port: 80}
  - {name: other, port: 81}
---
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: shop}
spec:
  clusterIP: None
  ports:
  - {name: http, port: 80}
`

// route returns a route in namespace shop, in YAML.
func route(kind, name, parent string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: %s, namespace: shop}
spec:
  parentRefs: [%s]
  rules:
  - backendRefs: [{name: cart, port: 80}]
`, kind, name, parent)
}

// Parents of routes.
const (
	cartParent     = `{group: "", kind: Service, name: cart, port: 80}`
	headlessParent = `{group: "", kind: Service, name: headless, port: 80}`
	missingParent  = `{group: "", kind: Service, name: missing, port: 80}`
	gatewayParent  = `{name: gateway}`
)

// apply applies a document as a user does, and returns all that kubectl prints.
func apply(t *testing.T, document string) (string, error) {
	t.Helper()
	out, errs, err := kubectl(t, document, "apply", "-f", "-")
	return out + errs, err
}

// applies returns an error, with what kubectl prints, unless the document is applied.
func applies(t *testing.T, document string) error {
	t.Helper()
	said, err := apply(t, document)
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said))
	}
	return nil
}

// admitted fails unless the document is applied; it returns what kubectl prints.
func admitted(t *testing.T, document string) string {
	t.Helper()
	said, err := apply(t, document)
	if err != nil {
		t.Fatalf("refused:%s\n%s", document, said)
	}
	return said
}

// refused fails unless the document is refused by the rule.
func refused(t *testing.T, document, rule string) {
	t.Helper()
	said, err := apply(t, document)
	if err == nil {
		t.Fatalf("admitted, but %s should refuse:%s", rule, document)
	}
	if err := says(said, "("+rule+")"); err != nil {
		t.Fatal(err)
	}
}

// wantStatus waits until gammaguard's entry in the status of HTTPRoute good has the
// reason in its condition Accepted; none: until there is no entry.
func wantStatus(t *testing.T, reason string) {
	t.Helper()
	waitFor(t, "status of HTTPRoute good", 20*time.Second, func() error {
		var route gatewayv1.HTTPRoute
		if err := json.Unmarshal([]byte(mustKubectl(t, "", "get", "httproute", "-n", "shop", "good", "-o", "json")), &route); err != nil {
			return err
		}
		got := ""
		for _, parent := range route.Status.Parents {
			for _, condition := range parent.Conditions {
				if parent.ControllerName == "gammaguard.dev/guard" && condition.Type == string(gatewayv1.RouteConditionAccepted) {
					got = condition.Reason
				}
			}
		}
		if got != reason {
			return fmt.Errorf("reason %q, want %q", got, reason)
		}
		return nil
	})
}

// removeShop removes the namespace with all that is in it.
func removeShop(t *testing.T) {
	t.Helper()
	mustKubectl(t, "", "delete", "namespace", "shop", "--ignore-not-found", "--timeout=60s")
}

// lines returns the lines of a text that are not empty.
func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
