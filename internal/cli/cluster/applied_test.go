package cluster_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/cli/command"
)

// TestDiffAsApplied: what is stored keeps its labels when it is applied, and findings on the stored routes are not new.
func TestDiffAsApplied(t *testing.T) {
	const (
		namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: applied}}\n---\n"
		service   = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: applied}, spec: {ports: [{port: 80}]}}\n---\n"
		route     = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: applied}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}],
 rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], backendRefs: [{name: cart, port: 80}]}]}}
`
	)
	kubectl(t, namespace+service+route, "apply", "-f", "-")
	kubectl(t, "", "label", "namespace", "applied", "gammaguard.dev/grant=producer")
	kubectl(t, "", "label", "service", "cart", "-n", "applied", "gammaguard.dev/consumer-routes=deny")
	diff := func(input string) (int, string, string) {
		return run(t, input, "diff", "--cluster", "-f", "-", "--kubeconfig", plane.Kubeconfig)
	}
	if code, out, complaint := diff(namespace + service + route); code != command.ExitClean || !strings.HasPrefix(out, "no change; ") || strings.Contains(out, "new findings") {
		t.Errorf("exit code %d: %s%s", code, out, complaint)
	}
	consumer := "{apiVersion: v1, kind: Namespace, metadata: {name: clients, labels: {gammaguard.dev/grant: consumer}}}\n---\n" + strings.NewReplacer(
		"name: cart, namespace: applied}, spec", "name: mine, namespace: clients}, spec", "name: cart, port: 80}", "name: cart, namespace: applied, port: 80}").Replace(route)
	labeled := func(label string) string {
		return strings.Replace(service, "namespace: applied", "namespace: applied, labels: {"+label+"}", 1)
	}
	const deny, allow, refused, applies = "gammaguard.dev/consumer-routes: deny", "gammaguard.dev/consumer-routes: allow", "(consumer-refused)", "(producer-routes-replaced)"
	for _, step := range []struct{ label, want string }{{"", refused}, {allow, applies}} {
		if _, out, complaint := diff(labeled(step.label) + consumer); !strings.Contains(out, step.want) {
			t.Errorf("%q: want %s in %s%s", step.label, step.want, out, complaint)
		}
	}
	kubectl(t, "", "annotate", "service", "cart", "-n", "applied", "gammaguard.dev/mode=warn")
	if code, out, complaint := run(t, service, "check", "--cluster", "-f", "-", "--kubeconfig", plane.Kubeconfig); code != command.ExitClean || strings.Contains(out, "has no effect here") {
		t.Errorf("the annotation is not in the input: exit code %d: %s%s", code, out, complaint)
	}
	kubectl(t, labeled(deny), "apply", "-f", "-") // what was applied is removed with what is applied next
	if _, out, complaint := diff(service + consumer); !strings.Contains(out, applies) {
		t.Errorf("%s%s", out, complaint)
	}
}

// TestDiffOfDenied: a stored route that would be denied if it were created now is compared as it is stored, with the file that
// repairs it too.
func TestDiffOfDenied(t *testing.T) {
	const (
		service  = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: denied}, spec: {ports: [{port: 80}]}}\n---\n"
		consumer = "{apiVersion: v1, kind: Namespace, metadata: {name: denied-clients, labels: {gammaguard.dev/grant: consumer}}}\n---\n"
	)
	namespace := func(grant string) string {
		return "{apiVersion: v1, kind: Namespace, metadata: {name: denied, labels: {gammaguard.dev/grant: " + grant + "}}}\n---\n"
	}
	route := func(namespace, path string) string {
		return `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: ` + namespace + `}, spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: denied, port: 80}],
 rules: [{matches: [{path: {type: PathPrefix, value: ` + path + `}}], backendRefs: [{name: cart, namespace: denied, port: 80}]}]}}
`
	}
	refusing := strings.Replace(service, "namespace: denied", "namespace: denied, labels: {gammaguard.dev/consumer-routes: deny}", 1)
	kubectl(t, namespace("producer")+consumer+service+route("denied", "/v1")+"---\n"+route("denied-clients", "/v1"), "apply", "-f", "-")
	for _, step := range []struct {
		name, change, input, want string
		code                      int
	}{
		{"no grant", namespace("none"), route("denied", "/v2"), "no change; ", command.ExitClean},
		{"the grant comes with the file", "", namespace("producer") + route("denied", "/v1"), "→  404 (no rule matches)", command.ExitFindings},
		{"consumer routes are refused", namespace("producer") + refusing, route("denied-clients", "/v2"), "no change; ", command.ExitClean},
		{"the file accepts them", "", strings.Replace(refusing, "deny", "allow", 1) + route("denied-clients", "/v2"), "from namespace denied-clients: any", command.ExitFindings},
		{"the parent is deleted", "-", route("denied", "/v2"), "no change; ", command.ExitClean},
		{"the parent comes with the file", "", service + route("denied", "/v1"), "no such Service  →", command.ExitFindings},
	} {
		switch step.change {
		case "":
		case "-":
			kubectl(t, "", "delete", "service", "cart", "-n", "denied")
		default:
			kubectl(t, step.change, "apply", "-f", "-")
		}
		code, out, complaint := run(t, step.input, "diff", "--cluster", "-f", "-", "--kubeconfig", plane.Kubeconfig)
		if code != step.code || !strings.Contains(out, step.want) || strings.Contains(complaint, "error:") {
			t.Errorf("%s: exit code %d, want %d with %q in\n%s%s", step.name, code, step.code, step.want, out, complaint)
		}
	}
}

// TestContextAndCluster: what the context and the cluster have counts as it is in the cluster, as for the webhook, on both sides
// of a comparison.
func TestContextAndCluster(t *testing.T) {
	const (
		granted = "{apiVersion: v1, kind: Namespace, metadata: {name: beside, labels: {gammaguard.dev/grant: producer}}}\n"
		service = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: beside}, spec: {ports: [{port: 80}]}}\n"
		route   = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: beside}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`
	)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		".gammaguard.yaml": "{apiVersion: gammaguard.dev/v1alpha1, kind: CheckConfiguration, context: [context.yaml], ignore: [context.yaml]}",
		"context.yaml":     granted + "---\n" + service, "route.yaml": strings.Replace(route, "{backendRefs", "{matches: [{path: {value: /v2}}], backendRefs", 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const lacks = "namespace beside lacks the producer grant"
	asked := func(wants bool) {
		t.Helper()
		for _, args := range []string{"check --cluster -f route.yaml", "diff --cluster -f route.yaml", "trace http://cart.beside/v2 --cluster -f route.yaml"} {
			code, out, complaint := run(t, "", append(strings.Fields(args), "--kubeconfig", plane.Kubeconfig)...)
			if code > command.ExitFindings || strings.Contains(out, lacks) != wants || wants && strings.Contains(out, "→  404") {
				t.Errorf("%s: want %q: %t, got exit code %d: %s%s", args, lacks, wants, code, out, complaint)
			}
		}
	}
	asked(false) // the cluster has neither
	kubectl(t, strings.Replace(granted, "producer", "none", 1)+"---\n"+service+"---\n"+route, "apply", "-f", "-")
	asked(true)
	kubectl(t, "", "label", "namespace", "beside", "--overwrite", "gammaguard.dev/grant=producer")
	asked(false)
}
