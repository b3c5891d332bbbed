package cluster_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/describe"
	"github.com/gammaguard/gammaguard/validate"
)

// described are Services with routes in every state.
const described = `
{apiVersion: v1, kind: Namespace, metadata: {name: desc, labels: {gammaguard.dev/grant: producer, gammaguard.dev/consumer-routes: deny}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: desc-guest, labels: {gammaguard.dev/grant: consumer}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: desc-stranger, labels: {gammaguard.dev/mode: audit}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: desc, labels: {gammaguard.dev/consumer-routes: allow}, annotations: {gammaguard.dev/consumer-route-kinds: "HTTPRoute"}}, spec: {ports: [{name: http, port: 80}, {name: raw, port: 90}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: bare, namespace: desc}, spec: {clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: desc}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: raw, namespace: desc}, spec: {parentRefs: [{group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: typo, namespace: desc}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 81}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: guest, namespace: desc-guest}, spec: {parentRefs: [{group: "", kind: Service, namespace: desc, name: cart, port: 90}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: guest, namespace: desc-guest}, spec: {parentRefs: [{group: "", kind: Service, namespace: desc, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: stranger, namespace: desc-stranger}, spec: {parentRefs: [{group: "", kind: Service, namespace: desc, name: cart}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: headless, namespace: desc}, spec: {parentRefs: [{group: "", kind: Service, name: bare}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: edge, namespace: desc}, spec: {parentRefs: [{name: public}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: lost, namespace: desc}, spec: {parentRefs: [{group: "", kind: Service, name: nowhere}], rules: [{backendRefs: [{name: gone, port: 80}, {name: gone, port: 81}]}]}}
`

// TestDescribe: who may route a Service, who does, and why not.
func TestDescribe(t *testing.T) {
	kubectl(t, described, "apply", "-f", "-")
	const want = `Name:        cart
Namespace:   desc
Type:        ClusterIP
Producer routes replaced in: desc-guest, desc-stranger

CONSUMER ROUTES                       VALUE       SET BY
gammaguard.dev/consumer-routes        allow       Service
gammaguard.dev/consumer-route-kinds   HTTPRoute   Service

Routes on this Service:
PORT     SCOPE                       ROUTE                              STATE      ACKNOWLEDGED   REASON
-        producer                    HTTPRoute desc/typo                invalid    unanswered     Service desc/cart has no port 81
80/TCP   producer                    HTTPRoute desc/web                 applies    unanswered     -
80/TCP   producer                    TCPRoute desc/raw                  loses      unanswered     the port belongs to HTTPRoute desc/web
80/TCP   consumer of desc-guest      GRPCRoute desc-guest/guest         refused    unanswered     Service desc/cart accepts consumer routes only of kind HTTPRoute
80/TCP   consumer of desc-stranger   HTTPRoute desc-stranger/stranger   applies    unanswered     namespace desc-stranger lacks the consumer grant for HTTPRoute, which is not enforced
80/TCP   consumer of desc-stranger   HTTPRoute desc/web                 replaced   unanswered     clients in namespace desc-stranger meet HTTPRoute desc-stranger/stranger instead
90/TCP   producer                    TCPRoute desc/raw                  applies    unanswered     sends requests to port 80 of this Service
90/TCP   consumer of desc-guest      HTTPRoute desc-guest/guest         applies    unanswered     -
90/TCP   consumer of desc-guest      TCPRoute desc/raw                  replaced   unanswered     clients in namespace desc-guest meet HTTPRoute desc-guest/guest instead
90/TCP   consumer of desc-guest      GRPCRoute desc-guest/guest         refused    unanswered     Service desc/cart accepts consumer routes only of kind HTTPRoute
90/TCP   consumer of desc-stranger   HTTPRoute desc-stranger/stranger   applies    unanswered     namespace desc-stranger lacks the consumer grant for HTTPRoute, which is not enforced
90/TCP   consumer of desc-stranger   TCPRoute desc/raw                  replaced   unanswered     clients in namespace desc-stranger meet HTTPRoute desc-stranger/stranger instead

Routes on Gateways that send requests to this Service, and bypass the routes on it:
ROUTE                 GATEWAYS              PORT   PROBLEM
HTTPRoute desc/edge   Gateway desc/public   80     the Gateway does not exist

Grants of its namespace, and of those of the routes on it:
NAMESPACE       GRANT      GRANTED BY   MODE      SET BY
desc            producer   label        enforce   default
desc-guest      consumer   label        enforce   default
desc-stranger   none       -            audit     label
note: GRPCRoute desc-guest/guest is refused on Service desc/cart now: what is stored stays, and the mesh decides whether it applies
`
	code, stdout, stderr := run(t, "", "describe", "service/cart", "-n", "desc", "--kubeconfig", plane.Kubeconfig)
	if _, qualified, _ := run(t, "", "describe", "svc/cart.desc", "--kubeconfig", plane.Kubeconfig); qualified != stdout {
		t.Errorf("svc/cart.desc: %s", cmp.Diff(stdout, qualified))
	}
	_, drawn, _ := run(t, "", "graph", "svc/cart", "-n", "desc", "--kubeconfig", plane.Kubeconfig)
	if _, qualified, _ := run(t, "", "graph", "svc/cart.desc", "--kubeconfig", plane.Kubeconfig); qualified != drawn || drawn == "" {
		t.Errorf("graph svc/cart.desc: %s", cmp.Diff(drawn, qualified))
	}
	if _, again, _ := run(t, "", "describe", "svc", "cart", "-n", "desc", "--kubeconfig", plane.Kubeconfig); again != stdout {
		t.Errorf("in two words:\n%s", again)
	}
	words := strings.Fields
	if diff := cmp.Diff(words(want), words(stdout)); diff != "" || code != command.ExitClean {
		t.Errorf("exit code %d, %s (-want +got)\n%s\n%s", code, stderr, diff, stdout)
	}
	for name, state := range map[string]struct{ kind, reason string }{
		"bare":    {"headless", "Service desc/bare is headless (clusterIP: None): it has no cluster IP to match"},
		"nowhere": {"not found", "Service desc/nowhere does not exist"},
	} {
		_, stdout, stderr := run(t, "", "describe", "svc/"+name, "-n", "desc", "-o", "json", "--kubeconfig", plane.Kubeconfig)
		var d describe.Service
		if err := json.Unmarshal([]byte(stdout), &d); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		if d.Type != state.kind || len(d.Routes) != 1 || d.Routes[0].State != validate.Invalid || d.Routes[0].Reason != state.reason {
			t.Errorf("%s: %+v", name, d)
		}
	}
	_, stdout, _ = run(t, "", "describe", "svc/gone", "-n", "desc", "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(stdout, "No routes on this Service.\n\nRoutes that have this Service, which does not exist, as a backend:\nHTTPRoute desc/lost\n") {
		t.Errorf("a backend that does not exist: %s", stdout)
	}
	if code, stdout, stderr := run(t, "", "describe", "service/nosuch", "-n", "desc", "--kubeconfig", plane.Kubeconfig); code != command.ExitUsage || stdout != "" ||
		stderr != "error: Service desc/nosuch does not exist, and no route names it; the Services there: bare, cart\n" {
		t.Errorf("nosuch: exit code %d: %s%s", code, stdout, stderr)
	}
	// Under a mesh, a route that applies may have no effect all the same, and audit says so too.
	const gap = "by its labels and annotations, namespace desc-guest has no Pods in Istio: if so, the route has no effect"
	_, stdout, stderr = run(t, "", "describe", "service/cart", "-n", "desc", "--mesh", "istio@1.31", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	var d describe.Service
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	for _, r := range d.Routes {
		of := r.Route == "HTTPRoute desc-guest/guest" && r.State.InEffect()
		if of != (r.Reason == gap && r.Rule == validate.RuleServiceNotEnrolled) {
			t.Errorf("with a mesh: %+v", r)
		}
	}
	if _, stdout, stderr = run(t, "", "audit", "-n", "desc-guest", "--mesh", "istio@1.31", "--kubeconfig", plane.Kubeconfig); !strings.Contains(stdout, gap) {
		t.Errorf("the audit does not say that %s:\n%s%s", gap, stdout, stderr)
	}
	if code, _, stderr := run(t, "", "describe", "pod/cart"); code != command.ExitUsage || !strings.HasPrefix(stderr, `error: specify one service/NAME, serviceimport/NAME, or route, such as httproute/NAME, not "pod/cart"`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "describe", "service/cart", "-n", "desc", "--as", "nobody", "--kubeconfig", plane.Kubeconfig); code != command.ExitUsage || !strings.Contains(stderr, "error: you cannot list routes in namespace desc; ask for the ClusterRole gammaguard-viewer\n") {
		t.Errorf("as nobody: exit code %d: %s", code, stderr)
	}
}

// TestDescribeRefused: who reads that a parent refuses the route also reads that there is none, as its owner cannot label it.
func TestDescribeRefused(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: desc-closed, labels: {gammaguard.dev/consumer-routes: deny}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: desc-caller, labels: {gammaguard.dev/grant: consumer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: here, namespace: desc-closed}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: desc-caller}, spec: {parentRefs: [{group: "", kind: Service, namespace: desc-closed, name: here}, {group: "", kind: Service, namespace: desc-closed, name: gone}]}}
`, "apply", "-f", "-")
	_, stdout, stderr := run(t, "", "describe", "httproute/a", "-n", "desc-caller", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	var d describe.OneRoute
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	const refuses = "namespace desc-closed refuses consumer routes"
	for i, want := range []string{refuses, refuses + ", and Service desc-closed/gone does not exist"} {
		if ports := d.Parents[i].Ports; len(ports) != 1 || ports[0].State != validate.Refused || ports[0].Reason != want {
			t.Errorf("%+v, want %q", ports, want)
		}
	}
	const stays = "HTTPRoute desc-caller/a is refused on Service desc-closed/here now: what is stored stays, and the mesh decides whether it applies"
	if !slices.Equal(d.Notes, []string{stays}) {
		t.Errorf("notes %q", d.Notes)
	}
	if _, stdout, _ := run(t, "", "trace", "http://here.desc-closed", "--from", "desc-caller", "--kubeconfig", plane.Kubeconfig); !strings.Contains(stdout, "\nnote: "+stays+"\n") {
		t.Errorf("trace: %s", stdout)
	}
}

// TestDescribeImport: a ServiceImport is described as one, with the keys that have no effect on it.
func TestDescribeImport(t *testing.T) {
	kubectl(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: desc-import}}
---
{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {name: cart, namespace: desc-import, labels: {gammaguard.dev/consumer-routes: deny},
  annotations: {gammaguard.dev/consumer-route-kind: HTTPRoute}}, spec: {type: ClusterSetIP, ports: [{port: 80, protocol: TCP}]}}`, "apply", "-f", "-")
	code, stdout, stderr := run(t, "", "describe", "serviceimport/cart", "-n", "desc-import", "--kubeconfig", plane.Kubeconfig)
	for _, want := range []string{
		"gammaguard.dev/consumer-routes deny ServiceImport", "No routes on this ServiceImport.",
		"ServiceImport desc-import/cart: the annotation gammaguard.dev/consumer-route-kind has no effect here; did you mean the annotation gammaguard.dev/consumer-route-kinds?",
	} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), want) || code != command.ExitClean {
			t.Errorf("exit code %d, want %q: %s%s", code, want, stdout, stderr)
		}
	}
}

// TestGraph: the picture of a cluster shows what describe says in words.
func TestGraph(t *testing.T) {
	kubectl(t, strings.ReplaceAll(described, "desc", "drawn"), "apply", "-f", "-")
	code, stdout, stderr := run(t, "", "graph", "service/cart", "-n", "drawn", "-o", "html", "--kubeconfig", plane.Kubeconfig)
	if code != command.ExitClean {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, row := range []string{
		`drawn/cart:80/TCP</td><td class="name">HTTPRoute drawn/web<br><i>producer</i></td><td><b>applies</b>`,
		`drawn/cart:80/TCP</td><td class="name">TCPRoute drawn/raw<br><i>producer</i></td><td><b>loses</b><br>the port belongs to HTTPRoute drawn/web (route-conflict)`,
		`drawn/cart:90/TCP<br><i>from drawn-guest</i></td><td class="name">HTTPRoute drawn-guest/guest<br><i>consumer</i></td><td><b>applies</b>`,
		`drawn/cart:80/TCP<br><i>from drawn-guest</i></td><td class="name">GRPCRoute drawn-guest/guest<br><i>consumer</i></td><td><b>refused</b><br>Service drawn/cart accepts consumer routes only of kind HTTPRoute (consumer-refused)`,
		`drawn/cart:90/TCP<br><i>from drawn-stranger</i></td><td class="name">HTTPRoute drawn-stranger/stranger<br><i>consumer</i></td><td><b>applies</b>`,
		`drawn/cart:80/TCP<br><i>from drawn-stranger</i></td><td class="name">HTTPRoute drawn/web<br><i>producer</i></td><td><b>replaced</b>`,
		`drawn/cart:80/TCP<br><i>from Gateway drawn/public</i></td><td class="name">HTTPRoute drawn/edge</td><td><b>bypasses</b>`,
		`drawn/cart</td><td class="name">HTTPRoute drawn/typo<br><i>producer</i></td><td><b>invalid</b>`,
	} {
		if !strings.Contains(stdout, row) {
			t.Errorf("the page lacks %s", row)
		}
	}
	if rows := strings.Count(stdout, "<tr class="); rows != 13 {
		t.Errorf("%d rows, want 13, those of the Service", rows)
	}
	// In its namespace, there are the routes on Services that are headless or missing, too.
	_, stdout, _ = run(t, "", "graph", "-n", "drawn", "--kubeconfig", plane.Kubeconfig)
	for _, text := range []string{`["bare"]`, `["nowhere"]`, "-.->|invalid|"} {
		if !strings.Contains(stdout, text) {
			t.Errorf("the flowchart lacks %s:\n%s", text, stdout)
		}
	}
	_, stdout, _ = run(t, "", "graph", "-n", "drawn-stranger", "--kubeconfig", plane.Kubeconfig)
	if strings.Count(stdout, " n0 --> ") != 1 {
		t.Errorf("the namespace of a route alone:\n%s", stdout)
	}
}
