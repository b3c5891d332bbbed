package kubectl

import (
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/background"
)

// TestPreviews: kubectl prints what a change of labels, or of a Service, does to routes,
// in a dry run too, and the change is made all the same.
func TestPreviews(t *testing.T) {
	start(t, "")
	c := newClient(t)
	const name = "previewed"
	shop(t, c, name, "all")
	create(t, c, routeOnCart(t, name, "web"))
	says := func(want string, args ...string) {
		t.Helper()
		background.Eventually(t, func() string { // the caches follow
			_, stderr, err := plane.Kubectl(t.Context(), "", args...)
			switch {
			case err != nil:
				return err.Error() + ": " + stderr
			case !strings.Contains(stderr, "Warning: "+want):
				return strings.Join(args, " ") + ": want " + want + ", got " + stderr
			}
			return ""
		})
	}
	says("if created now, 1 of 1 routes would be denied: HTTPRoute web (grant-missing)", "label", "namespace", name, "gammaguard.dev/grant-", "--dry-run=server")
	const toAlias = `{"spec": {"type": "ExternalName", "externalName": "a.test"}}`
	says("spec.type: HTTPRoute previewed/web has this Service as a parent and a backend, which cannot be of type ExternalName", "patch", "service", "cart", "-n", name, "-p", toAlias, "--dry-run=server")
	const port = `[{"op": "replace", "path": "/spec/ports", "value": [{"port": 81, "protocol": "UDP"}]}]`
	says("HTTPRoute previewed/web selects TCP ports, of which this change leaves none", "patch", "service", "cart", "-n", name, "--type=json", "-p", port, "--dry-run=server")
	says("HTTPRoute previewed/web has this Service as a parent", "delete", "service", "cart", "-n", name, "--dry-run=server")
	says("HTTPRoute previewed/web has this Service as a parent", "delete", "service", "cart", "-n", name)
	if _, stderr, err := plane.Kubectl(t.Context(), "", "label", "namespace", name, "team=a"); err != nil || stderr != "" {
		t.Errorf("another label: %v %s", err, stderr)
	}
}
