package cluster_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// narrow gives users the right to read some of the objects of described: landlord all in
// the namespace of the Service, guest those of a namespace with consumer routes alone, tenant those of both, and
// the namespaces themselves, granter these too, but nothing in them, and router the routes of the first alone.
const narrow = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: narrow}, rules: [
 {apiGroups: [""], resources: [services, namespaces], verbs: [get, list]},
 {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list]},
 {apiGroups: [gateway.networking.k8s.io], resources: ["*"], verbs: [get, list]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: narrow, namespace: narrow}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: narrow}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: landlord}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: narrow, namespace: narrow-guest}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: narrow}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: guest}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: narrow-tenant, namespace: narrow}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: narrow}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: narrow-tenant, namespace: narrow-guest}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: narrow}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: narrow-router, namespace: narrow}, rules: [{apiGroups: [gateway.networking.k8s.io], resources: ["*"], verbs: [get, list]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: narrow-router, namespace: narrow}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: narrow-router}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: router}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: narrow-granter}, rules: [{apiGroups: [""], resources: [namespaces], verbs: [get, list]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: narrow-granter}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: narrow-granter}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: granter}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]}
`

// TestLeastRights: every read command works for a user who may read one namespace only:
// it shows what there is to see, and says on standard error what the user cannot see.
func TestLeastRights(t *testing.T) {
	kubectl(t, strings.ReplaceAll(described, "desc", "narrow")+"---"+narrow, "apply", "-f", "-")
	const (
		route   = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: narrow}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}`
		consume = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: guest, namespace: narrow-guest}, spec: {parentRefs: [{group: "", kind: Service, namespace: narrow, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, namespace: narrow, port: 80}]}]}}`
		moved   = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: narrow}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 90}]}]}}`
		aside   = `{apiVersion: v1, kind: Service, metadata: {name: aside, namespace: narrow-aside}, spec: {ports: [{port: 80}]}}`
		all     = "routes across all namespaces"
	)
	given := filepath.Join(t.TempDir(), "given.json")
	if err := os.WriteFile(given, []byte(`[{"name": "80", "virtualHosts": [{"name": "cart", "domains": ["cart.narrow.svc.cluster.local"], "routes": [{"match": {"prefix": "/"}, "directResponse": {"status": 500}}]}]}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		as, args, stdin string
		code            int
		// sees is part of the output, and lacks a line of what the user cannot see.
		sees, lacks string
	}{
		{"landlord", "audit -n narrow", "", command.ExitFindings, "parent-port-not-found", "Deployment gammaguard-system/gammaguard-webhook"},
		{"landlord", "audit -A -n narrow", "", command.ExitFindings, "parent-headless", all},
		{"landlord", "conflicts -n narrow", "", command.ExitClean, "HTTPRoute narrow/web", all},
		{"landlord", "describe service/cart -n narrow", "", command.ExitClean, "TCPRoute narrow/raw", all},
		{"landlord", "graph -n narrow", "", command.ExitClean, "HTTPRoute web", all},
		{"landlord", "graph -A -n narrow -o html", "", command.ExitClean, "narrow/cart:80/TCP", all},
		{"landlord", "grants -n narrow", "", command.ExitClean, "producer", "Deployment gammaguard-system/gammaguard-webhook"},
		{"landlord", "grants -A", "", command.ExitUsage, "", "you cannot read any namespace; specify one that you can read with -n, or ask for the ClusterRole gammaguard-viewer\n"},
		{"landlord", "grants list --requested -n narrow", "", command.ExitClean, "", "Namespace narrow asks for no grant that it does not have; for all namespaces, use -A.\n"},
		{"landlord", "check -f - --cluster -n narrow", route, command.ExitClean, "web", all},
		// As after kubectl apply: the label that was applied, and that the input lacks, is removed.
		{"landlord", "check -f - --cluster", "{apiVersion: v1, kind: Namespace, metadata: {name: narrow}}\n---\n" + route, command.ExitFindings, "grant-missing", all},
		{"granter", "diff -f - --cluster", route, command.ExitUsage, "", "you cannot list HTTPRoutes in namespace narrow, so what changes cannot be known; ask for the ClusterRole gammaguard-viewer\n"},
		{"landlord", "trace service/cart:80 -n narrow --cluster", "", command.ExitClean, "HTTPRoute narrow/web", all},
		// The namespaces of the request and of the input count, and not the one of the kubeconfig.
		{"landlord", "trace http://cart.narrow/", "", command.ExitClean, "HTTPRoute narrow/web", all},
		// What cannot be read is not said not to exist.
		{"landlord", "trace http://cart.narrow/ --from narrow-guest", "", command.ExitClean, "consumer of narrow-guest: unknown; producer", all},
		{"landlord", "trace http://cart.narrow/ --from narrow-guest", "", command.ExitClean, "note: routes in namespace narrow-guest (GRPCRoute, HTTPRoute, TLSRoute, TCPRoute) cannot be read: they are assumed not to exist", all},
		{"router", "describe httproute/edge -n narrow", "", command.ExitClean, "", "Namespace narrow"},
		{"landlord", "trace http://cart.narrow/ -o json", "", command.ExitClean, `"route": "HTTPRoute narrow/web"`, all},
		{"landlord", "diff -f - --cluster", moved, command.ExitFindings, "500 (the rule has no backendRefs)  →  503", all},
		// The namespace that is asked about counts, whatever the input is about.
		{"landlord", "trace cart.narrow:80 -f - --cluster -n narrow-aside", aside, command.ExitClean, "HTTPRoute narrow/web", all},
		{"landlord", "conflicts -f - --cluster -n narrow", aside, command.ExitClean, "HTTPRoute narrow/web", all},
		{"landlord", "graph -f - --cluster -n narrow", aside, command.ExitClean, "HTTPRoute web", all},
		{"landlord", "graph svc/cart.narrow -f - --cluster -n narrow-aside", aside, command.ExitClean, "HTTPRoute web", all},
		{"landlord", "graph svc/other.narrow -f - --cluster -n narrow-aside", aside, command.ExitUsage, "", "error: Service narrow/other does not exist, and no route names it; the Services there: bare, cart\n"},
		{"landlord", "verify " + given + " --from narrow -f - --cluster -n narrow", aside, command.ExitClean, "1 class of requests compared", all},
		// So do those of what the proxies were given, and of its client.
		{"guest", "verify " + given + " --from narrow-guest -f - --cluster -n narrow-aside", "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: narrow}, spec: {ports: [{port: 80}]}}", command.ExitFindings, "from namespace narrow-guest", all},
		{"granter", "verify " + given + " --from narrow-missing -f - --cluster -n narrow-aside", aside, command.ExitUsage, "", "error: namespace narrow-missing does not exist\n"},
		{"tenant", "describe httproute/guest -n narrow-guest", "", command.ExitClean, "producer-routes-replaced", all},
		{"landlord", "conflicts -A -f - --cluster -n narrow", aside, command.ExitClean, "HTTPRoute narrow/web", all},
		{"tenant", "conflicts -A -f - --cluster -n narrow-guest", aside, command.ExitClean, "HTTPRoute narrow/web", all},
		{"tenant", "graph -A -f - --cluster -n narrow-guest", aside, command.ExitClean, "HTTPRoute web", all},
		{"granter", "conflicts -f - --cluster -n narrow-missing", aside, command.ExitUsage, "", "error: namespace narrow-missing does not exist\n"},
		{"granter", "graph -f - --cluster -n narrow-missing", aside, command.ExitUsage, "", "error: namespace narrow-missing does not exist\n"},
		{"guest", "conflicts -f - --cluster -n narrow", aside, command.ExitUsage, "", "error: you cannot list routes in namespace narrow; ask for the ClusterRole gammaguard-viewer\n"},
		{"guest", "graph -f - --cluster -n narrow", aside, command.ExitUsage, "", "error: you cannot list routes in namespace narrow; ask for the ClusterRole gammaguard-viewer\n"},
		{"guest", "graph svc/cart.narrow -f - --cluster -n narrow-guest", aside, command.ExitUsage, "", "error: you cannot list routes in namespace narrow; ask for the ClusterRole gammaguard-viewer\n"},
		{"granter", "graph svc/cart.narrow-missing -f - --cluster -n narrow", aside, command.ExitUsage, "", "error: namespace narrow-missing does not exist\n"},
		{"landlord", "status clear -n narrow", "", command.ExitClean, "No route in namespace narrow has an entry", "Deployment gammaguard-system/gammaguard-webhook"},
		// The routes on the Services that the input's routes name count too.
		{"tenant", "diff -f - --cluster", consume, command.ExitFindings, "from namespace narrow-guest: any  500 (the rule has no backendRefs)  →  503 (cart:80 has no endpoints)", all},
		{"tenant", "check -f - --cluster", consume, command.ExitClean, "producer-routes-replaced", all},
		// Of the Service in the other namespace, a guest sees nothing.
		{"guest", "audit -n narrow-guest", "", command.ExitClean, "unknown", "Service narrow/cart"},
		{"guest", "conflicts -n narrow-guest", "", command.ExitClean, "", all},
		{"guest", "describe service/cart -n narrow", "", command.ExitUsage, "", "error: you cannot list routes in namespace narrow; ask for the ClusterRole gammaguard-viewer\n"},
		{"guest", "trace http://cart.narrow/ -n narrow-guest", "", command.ExitUsage, "", "error: you cannot read Service narrow/cart; for clients in your namespace, add --from narrow-guest\n"},
		{"guest", "trace http://cart.narrow/ -n narrow-guest --from narrow-guest", "", command.ExitClean, "HTTPRoute narrow-guest/guest", "Service narrow/cart"},
		{"guest", "trace http://other.narrow/ -n narrow-guest", "", command.ExitUsage, "", "error: you cannot read Service narrow/other\n"},
		{"guest", "trace http://other.narrow/ -f - --cluster -n narrow-guest", consume, command.ExitUsage, "", "error: Service narrow/other is not in the input, and you cannot read it in the cluster\n"},
		{"guest", "graph -n narrow-guest", "", command.ExitClean, "unknown", all},
		{"guest", "grants -n narrow-guest -o wide", "", command.ExitClean, "HTTPRoute guest", "Deployment gammaguard-system/gammaguard-webhook"},
		{"guest", "grants list --requested -n narrow", "", command.ExitUsage, "", "error: you cannot read namespace narrow; ask for the ClusterRole gammaguard-viewer\n"},
		// What cannot be read is not reported as if it was not there.
		{"router", "grants -n narrow", "", command.ExitUsage, "", "error: you cannot read namespace narrow; ask for the ClusterRole gammaguard-viewer\n"},
		{"router", "conflicts -n narrow", "", command.ExitClean, "", "Routes are attached to Services in namespace narrow, but none of these Services can be read.\n"},
		{"router", "describe service/cart -n narrow", "", command.ExitClean, "gammaguard.dev/consumer-routes   unknown ", "Namespace narrow, Service narrow/cart"},
		// Who may grant need not see routes.
		{"granter", "grants -A", "", command.ExitClean, "unknown", "routes across all namespaces, Deployment "},
		{"granter", "grants -n narrow -o json", "", command.ExitClean, `"uses": null`, "routes in namespace narrow, "},
		{"granter", "grants list -A --requested", "", command.ExitClean, "", ""},
		{"guest", "check -f - --cluster -n narrow-guest", consume, command.ExitClean, "unknown", "Service narrow/cart"},
		{"guest", "check -f - --cluster -n narrow-guest -o json", consume, command.ExitClean, `"effect": "unknown"`, "Namespace narrow"},
	} {
		code, stdout, stderr := run(t, test.stdin, append(strings.Fields(test.args), "--as", test.as, "--kubeconfig", plane.Kubeconfig)...)
		if code != test.code || !strings.Contains(stdout, test.sees) || !strings.Contains(stderr, test.lacks) {
			t.Errorf("%s as %s: exit code %d, want %d, %q in\n%s\nand %q in\n%s", test.args, test.as, code, test.code, test.sees, stdout, test.lacks, stderr)
		}
	}
}

// TestWithoutLogin: a user whom the cluster does not know learns that, and not what cannot be read.
func TestWithoutLogin(t *testing.T) {
	config, err := clientcmd.LoadFromFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		*user = api.AuthInfo{Token: "expired"}
	}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	const login = "error: the cluster does not accept your credentials; log in again, or specify others with --kubeconfig or --context"
	for args, more := range map[string]string{
		"trace cart.shop:80": ", or use -f, -k, or --helm to read files\n", "graph": ", or use -f, -k, or --helm to read files\n", "audit": "; to check files, use gammaguard check\n",
		"conflicts": ", or use -f, -k, or --helm to read files\n", "grants": "\n", "describe service/cart": "\n", "check --cluster -f -": ", or leave out --cluster\n", "diff --cluster -f -": ", or leave out --cluster\n",
		"grants list": "\n", "status clear": "\n", "verify --mesh linkerd": ", or use -f, -k, or --helm to read files\n", "detect-mesh": "\n",
	} {
		route := `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {parentRefs: [{group: "", kind: Service, name: a, port: 80}]}}`
		code, stdout, stderr := run(t, route, append(strings.Fields(args), "--kubeconfig", kubeconfig)...)
		if code != command.ExitUsage || stdout != "" || stderr != login+more {
			t.Errorf("%s: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
