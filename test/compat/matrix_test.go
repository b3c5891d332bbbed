//go:build e2e

package compat

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

var update = flag.Bool("update", false, "write docs/compatibility.md")

// TestMatrix tries all releases of the Gateway API on all releases of Kubernetes, and
// finds docs/compatibility.md say what came of it. With -update, it writes that page.
func TestMatrix(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	var clusters []cluster
	for _, kubernetes := range Kubernetes {
		t.Run(kubernetes, func(t *testing.T) {
			tried := try(t, kubernetes)
			clusters = append(clusters, tried)
			section := strings.TrimPrefix(page(t, tried), page(t))
			if !*update && !t.Failed() && !strings.Contains(read(t, "compatibility.md"), section) {
				t.Errorf("docs/compatibility.md is stale, run make compat; it does not have:\n%s", section)
			}
		})
	}
	if *update && !t.Failed() && len(clusters) == len(Kubernetes) {
		if err := os.WriteFile(pagePath("compatibility.md"), []byte(page(t, clusters...)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// try tries all releases of the Gateway API on an API server, also after one failed.
func try(t *testing.T, kubernetes string) cluster {
	cp, err := bed.Start(t.Context(), bed.Options{Kubernetes: kubernetes, Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, cp.Stop)
	kubectl(t, cp, "", "apply", "--server-side", "-k", filepath.Join("..", "..", "config", "overlays", "self-managed"))
	tryPolicies(t, cp)
	releases := Releases()
	releases[0].Install(t, cp)
	g, err := guard.Start(t.Context(), cp, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, g.Stop)
	tried := cluster{Kubernetes: kubernetes}
	for _, release := range releases {
		if !t.Run(release.String(), func(t *testing.T) { tried.Results = append(tried.Results, Try(t, cp, g, release)) }) {
			t.Logf("the log of gammaguard:\n%s", g.Log())
		}
	}
	tryRouteGrants(t, cp)
	return tried
}

// tryRouteGrants has config/policy refuse a route without a grant, and admit one with it.
func tryRouteGrants(t *testing.T, cp *bed.ControlPlane) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: alone, namespace: alone}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}`
	folder := filepath.Join("..", "..", "config", "policy")
	kubectl(t, cp, "{apiVersion: v1, kind: Namespace, metadata: {name: alone}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: alone}, spec: {ports: [{port: 80}]}}", "apply", "-f", "-")
	kubectl(t, cp, "", "apply", "--server-side", "-k", folder)
	background.Eventually(t, func() string {
		_, stderr, err := cp.Kubectl(t.Context(), route, "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(stderr, "ValidatingAdmissionPolicy 'gammaguard-route-grants'") || !strings.HasSuffix(stderr, "gammaguard.dev/grant=producer (grant-missing)\n") {
			return "a route without a grant: " + stderr
		}
		return ""
	})
	kubectl(t, cp, "", "label", "namespace", "alone", "gammaguard.dev/grant=producer")
	kubectl(t, cp, route, "create", "--dry-run=server", "-f", "-")
	kubectl(t, cp, "", "delete", "-k", folder)
}

func stop(t *testing.T, process func() error) {
	t.Helper()
	if err := process(); err != nil {
		t.Error(err)
	}
}

// rights let a developer change namespaces, and grant nothing.
const rights = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: developer},
 rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: developer},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: developer},
 subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: developer}]}
`

// tryPolicies has the policies of config/overlays/self-managed, which is installed, refuse
// what they are there for, and admit the rest. No gammaguard needs to run.
func tryPolicies(t *testing.T, cp *bed.ControlPlane) {
	kubectl(t, cp, rights, "apply", "-f", "-")
	registered := kubectl(t, cp, "", "get", "validatingwebhookconfiguration", "gammaguard", "-o", "json")
	const account, ignore = "system:serviceaccount:gammaguard-system:gammaguard-webhook", `"failurePolicy": "Ignore"`
	for _, change := range []struct{ user, command, object, deniedBy string }{
		{"developer", "label namespace default team=shop", "", ""},
		{"developer", "label namespace default gammaguard.dev/grant=all", "", "gammaguard-grants"},
		{account, "replace -f -", strings.ReplaceAll(registered, `"clientConfig": {`, `"clientConfig": {"caBundle": "Cg==",`), ""},
		{account, "replace -f -", strings.ReplaceAll(registered, `"failurePolicy": "Fail"`, ignore), "gammaguard-ca-bundle"},
	} {
		background.Eventually(t, func() string {
			_, stderr, err := cp.Kubectl(t.Context(), change.object, append(strings.Fields(change.command), "--dry-run=server", "--as", change.user)...)
			if err == nil && change.deniedBy == "" || err != nil && change.deniedBy != "" && strings.Contains(stderr, "'"+change.deniedBy+"'") {
				return ""
			}
			return change.user + ": kubectl " + change.command + ": want it denied by '" + change.deniedBy + "': " + stderr
		})
	}
}
