//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// system is the namespace that gammaguard is installed in.
const system = "gammaguard-system"

// deployment names gammaguard's Deployment for kubectl.
const deployment = "deployment/gammaguard-webhook"

// overlay is one of config's, and what it does.
type overlay struct {
	// path is its folder, as users give it to kubectl.
	path string
	// certManager says that the serving certificate is cert-manager's.
	certManager bool
	// enforces says that bad routes are refused and that status is written.
	enforces bool
	// missing is what becomes of a route on a Service that does not exist: refused,
	// warned about or admitted.
	missing verdict
	// more are further tests of it.
	more func(*testing.T, *overlay)

	// requests are gammaguard's own, as the audit log has them.
	requests []auditv1.Event
}

type verdict string

const (
	deny verdict = "deny"
	warn verdict = "warn"
	pass verdict = "pass"
)

// TestOverlays installs each overlay, tests what it is for, and uninstalls it.
func TestOverlays(t *testing.T) {
	installCertManager(t)
	overlays := []*overlay{
		{path: "config/default", certManager: true, enforces: true, missing: deny, more: certManagerTests},
		{path: "config/overlays/self-managed", enforces: true, missing: deny, more: selfManagedTests},
		{path: "config/overlays/audit-only", certManager: true, missing: pass},
		{path: "config/overlays/gitops", certManager: true, enforces: true, missing: warn},
	}
	for _, o := range overlays {
		t.Run(o.path, func(t *testing.T) { o.test(t) })
	}
	t.Run("RBAC", func(t *testing.T) { testRBAC(t, overlays) })
}

// test runs the tests of an overlay, from install to uninstall.
func (o *overlay) test(t *testing.T) {
	log := openAuditLog(t)
	o.install(t)
	t.Cleanup(func() {
		if t.Failed() {
			explain(t)
		}
		o.uninstall(t)
	})
	t.Run("routes", o.testRoutes)
	t.Run("permissions", o.testPermissions)
	t.Run("apply again", o.testApplyAgain)
	if o.more != nil {
		o.more(t, o)
	}
	o.requests = log.own(t)
	wantNoForbidden(t, o.requests)
	wantNoForbiddenLogged(t)
}

// install applies the overlay as the README says, and waits until the API server
// calls the webhooks.
func (o *overlay) install(t *testing.T) {
	t.Helper()
	for _, command := range readme(t, "Install it", o.path) {
		mustKubectl(t, "", command...)
	}
	mustKubectl(t, shop, "apply", "-f", "-")
	waitForServing(t)
	waitFor(t, "the webhooks are called", time.Minute, func() error {
		return applies(t, route("HTTPRoute", "probe", cartParent))
	})
	mustKubectl(t, "", "delete", "httproute", "-n", "shop", "probe")
}

// waitForServing waits until gammaguard has noted that an API server reaches it.
func waitForServing(t *testing.T) {
	t.Helper()
	waitFor(t, "gammaguard has served", time.Minute, func() error {
		if mustKubectl(t, "", "get", "clusterrolebinding", "gammaguard-serving", "-o", "jsonpath={.subjects[*].name}") == "" {
			return errors.New("no subject of gammaguard-serving")
		}
		return nil
	})
}

// uninstall deletes the overlay as the README says: nothing is left that blocks
// routes.
func (o *overlay) uninstall(t *testing.T) {
	for _, command := range readme(t, "Uninstall it", o.path) {
		mustKubectl(t, "", command...)
	}
	for _, kind := range []string{
		"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies",
		"validatingadmissionpolicybindings", "clusterroles", "clusterrolebindings", "namespaces",
	} {
		if left := mustKubectl(t, "", "get", kind, "-o", "name"); strings.Contains(left, "gammaguard") {
			t.Errorf("kubectl delete -k leaves:\n%s", left)
		}
	}
	admitted(t, route("HTTPRoute", "after", headlessParent))
	mustKubectl(t, "", "delete", "httproute", "-n", "shop", "after")
	removeShop(t)
}

// testRoutes applies good and bad routes, and looks at the status of a conflict.
func (o *overlay) testRoutes(t *testing.T) {
	admitted(t, route("HTTPRoute", "good", cartParent))
	admitted(t, route("HTTPRoute", "north-south", gatewayParent))
	reason := ""
	if o.enforces {
		refused(t, route("HTTPRoute", "bad", headlessParent), "parent-headless")
		reason = "Conflicted"
	} else {
		admitted(t, route("HTTPRoute", "bad", headlessParent))
	}
	admitted(t, route("GRPCRoute", "taker", cartParent))
	wantStatus(t, reason)
	mustKubectl(t, "", "delete", "grpcroute", "-n", "shop", "taker")
	wantStatus(t, "")
	missing := route("HTTPRoute", "missing", missingParent)
	switch o.missing {
	case deny:
		refused(t, missing, "parent-not-found")
	case warn:
		if err := says(admitted(t, missing), "(parent-not-found)"); err != nil {
			t.Error(err)
		}
	case pass:
		if said := admitted(t, missing); strings.Contains(said, "(parent-not-found)") {
			t.Errorf("a denial in audit mode is told to the user:\n%s", said)
		}
	}
}

// testApplyAgain applies the overlay once more: nothing may change. Of a
// PodDisruptionBudget kubectl says "configured" whatever happens, since it always
// sends the selector; there the version tells.
func (o *overlay) testApplyAgain(t *testing.T) {
	version := func() string {
		return mustKubectl(t, "", "get", "poddisruptionbudgets", "-n", system, "-o", "jsonpath={.items[*].metadata.generation}")
	}
	before := version()
	for _, line := range lines(mustKubectl(t, "", "apply", "-k", o.path)) {
		if !strings.HasSuffix(line, " unchanged") && !strings.HasPrefix(line, "poddisruptionbudget.policy/") {
			t.Errorf("applied twice: %s", line)
		}
	}
	if after := version(); after != before {
		t.Errorf("applied twice: the PodDisruptionBudget changed from version %q to %q", before, after)
	}
}

// wantNoForbiddenLogged fails where gammaguard's log tells of a forbidden request.
func wantNoForbiddenLogged(t *testing.T) {
	t.Helper()
	for _, line := range lines(mustKubectl(t, "", "logs", "-n", system, deployment, "--all-pods", "--all-containers", "--tail=-1")) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("in the log: %s", line)
		}
	}
}

// explain prints what one wants to see after a failure.
func explain(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o", "wide"},
		{"describe", "pods", "-n", system},
		{"logs", "-n", system, deployment, "--all-pods", "--all-containers", "--tail=40"},
	} {
		out, errs, _ := kubectl(t, "", args...)
		t.Logf("kubectl %s\n%s%s", strings.Join(args, " "), out, errs)
	}
}

// replicas returns how many Pods the Deployment wants.
func replicas(t *testing.T) int {
	t.Helper()
	var d appsv1.Deployment
	if err := json.Unmarshal([]byte(mustKubectl(t, "", "get", "-n", system, deployment, "-o", "json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Spec.Replicas == nil {
		return 1
	}
	return int(*d.Spec.Replicas)
}

// scale has the Deployment run that many Pods.
func scale(t *testing.T, n int) {
	t.Helper()
	mustKubectl(t, "", "scale", "-n", system, deployment, fmt.Sprintf("--replicas=%d", n))
	mustKubectl(t, "", "rollout", "status", "-n", system, deployment, "--timeout=120s")
}
