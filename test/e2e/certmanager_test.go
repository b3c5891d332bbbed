//go:build e2e

package e2e

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/gammaguard/gammaguard/test/bed"
)

// installCertManager installs cert-manager: its CustomResourceDefinitions, from its
// module, and its controllers and CA injector.
func installCertManager(t *testing.T) {
	t.Helper()
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(root, filepath.FromSlash(certManager.Module))
	dir, err := bed.Go(t.Context(), module, []string{"GOWORK=off"}, "list", "-m", "-f", "{{.Dir}}", certManager.VersionOf)
	if err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, "", "apply", "--server-side", "-f", filepath.Join(dir, "deploy", "crds"))
	mustKubectl(t, "", "wait", "--for=condition=Established", "crd", "certificates.cert-manager.io", "issuers.cert-manager.io", "--timeout=60s")
	mustKubectl(t, "", "apply", "-k", "test/certmanager/manifests")
	mustKubectl(t, "", "rollout", "status", "-n", "cert-manager", "deployment/certmanager", "--timeout=120s")
}

// renew has cert-manager issue the Certificate anew, as its own command line tool
// does, and waits until it has.
func renew(t *testing.T, name string) {
	t.Helper()
	before := revision(t, name)
	now := time.Now().UTC().Format(time.RFC3339)
	mustKubectl(t, "", "patch", "certificate", "-n", system, name, "--subresource=status", "--type=merge", "-p",
		`{"status":{"conditions":[{"type":"Issuing","status":"True","reason":"ManuallyTriggered","message":"for the test","lastTransitionTime":"`+now+`"}]}}`)
	waitFor(t, "renewal of Certificate "+name, 30*time.Second, func() error {
		if got := revision(t, name); got <= before {
			return errAgain
		}
		return nil
	})
}

// revision returns how often the Certificate was issued.
func revision(t *testing.T, name string) int {
	t.Helper()
	number, err := strconv.Atoi(mustKubectl(t, "", "get", "certificate", "-n", system, name, "-o", "jsonpath={.status.revision}"))
	if err != nil {
		t.Fatal(err)
	}
	return number
}
