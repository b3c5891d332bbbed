package cluster_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/internal/cli/conflicts"
	"github.com/gammaguard/gammaguard/internal/cli/describe"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/validate"
)

// asleep are routes from before gammaguard: bill has no effect, half has one on cart alone,
// nobody knows what vague means, and a controller writes owned, so that no mutation corrects these two.
const asleep = `
{apiVersion: v1, kind: Namespace, metadata: {name: asleep}}
---
{apiVersion: v1, kind: Service, metadata: {name: bill, namespace: asleep}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: asleep}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart, namespace: asleep, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: bill, namespace: asleep}, spec: {parentRefs: [{kind: Service, name: bill, port: 80}], rules: [{matches: [{path: {value: /v2}}], backendRefs: [{name: bill, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: half, namespace: asleep}, spec: {parentRefs: [{group: core, kind: service, name: bill}, {group: "", kind: Service, name: cart}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: vague, namespace: asleep}, spec: {parentRefs: [{group: core, kind: ServiceImport, name: bill}], rules: [{backendRefs: [{name: bill, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: owned, namespace: asleep, ownerReferences: [{apiVersion: flagger.app/v1beta1, kind: Canary, name: bill, uid: 8f1c7f5e-0000-4000-8000-000000000000, controller: true}]}, spec: {parentRefs: [{kind: Service, name: shipped}], rules: [{backendRefs: [{name: bill, port: 80}]}]}}
`

// TestDormant: every view says of a dormant route that it has no effect, and none takes it
// for live. The commands of the audit make it live.
func TestDormant(t *testing.T) {
	kubectl(t, asleep, "apply", "-f", "-")
	t.Run("audit", auditsDormant)
	t.Run("describe", describesDormant)
	t.Run("conflicts", conflictsOfDormant)
	t.Run("graph", graphsDormant)
	t.Run("check", checksDormant)
	t.Run("linkerd", readByLinkerd)
	t.Run("wake", wakesDormant)
}

const wakeGrant = "kubectl label namespace asleep gammaguard.dev/grant=producer"

func auditsDormant(t *testing.T) {
	//nolint:dupword // two columns
	const want = `NAMESPACE   KIND        NAME                 RULE                   ACTION    FIELD                      MESSAGE
asleep      GRPCRoute   half (2 times)       grant-missing          deny      several                    namespace asleep lacks the producer grant for GRPCRoute
asleep      HTTPRoute   bill, owned, vague   grant-missing          deny      spec.parentRefs[0]         namespace asleep lacks the producer grant for HTTPRoute
asleep      HTTPRoute   owned                parent-group-invalid   deny      spec.parentRefs[0].group   no mesh acts on this parentRef: kind Service is in the core group ("")
asleep      HTTPRoute   vague                parent-group-invalid   deny      spec.parentRefs[0].group   no mesh acts on this parentRef: kind ServiceImport is in multicluster.x-k8s.io
asleep      HTTPRoute   bill                 parent-group-invalid   dormant   spec.parentRefs[0].group   no mesh acts on this parentRef: kind Service is in the core group ("")
asleep      GRPCRoute   half                 parent-group-invalid   dormant   spec.parentRefs[0].kind    no mesh but Linkerd acts on this parentRef: a kind is case-sensitive, and this one is Service

NAMESPACE   MODE      ROUTES   ROUTES DENIED   DENIALS   WARNINGS   CHANGES   DORMANT   APPLIED   GRANT   NEEDS
asleep      enforce   4        4               7         0          0         4         0/1       none    producer

To grant what these routes need, a mesh admin can run:
` + wakeGrant + `

Dormant routes have no effect. To make one live, run its commands in this order, or correct the owner that a comment names; --dry-run=server shows what gammaguard says to the patch:
` + wakeGrant + `
kubectl patch grpcroutes.gateway.networking.k8s.io half -n asleep --type=json -p '[{"op":"replace","path":"/spec/parentRefs/0/kind","value":"Service"},{"op":"replace","path":"/spec/parentRefs/0/group","value":""}]'
kubectl patch httproutes.gateway.networking.k8s.io bill -n asleep --type=json -p '[{"op":"replace","path":"/spec/parentRefs/0/group","value":""}]'
# HTTPRoute asleep/owned: set spec.parentRefs[0].group to "" in Canary asleep/bill, which writes this route: Service is in the core group (parent-group)
`
	code, stdout, stderr := run(t, "", "audit", "-n", "asleep", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(sorted(want), sorted(stdout)); diff != "" || code != command.ExitFindings {
		t.Errorf("exit code %d, %s (-want +got)\n%s", code, stderr, diff)
	}
	_, r, _ := auditOf(t, "-n", "asleep")
	for _, route := range r.Routes {
		if len(route.Dormant) != 1 || route.Dormant[0].State != "dormant" || !strings.HasPrefix(route.Dormant[0].Service, "Service") {
			t.Errorf("%s: %+v", route.Name, route.Dormant)
		}
		for _, f := range route.Findings {
			if f.Rule == "no-catch-all" || strings.HasPrefix(f.Message, "would be denied") {
				t.Errorf("%s is judged as live: %+v", route.Name, f)
			}
		}
	}
	if n := r.Namespaces[0]; n.Dormant != 4 || n.Denied != 4 || len(n.Wake) != 4 || n.Wake[0] != wakeGrant {
		t.Errorf("%+v", n)
	}
	// In a mode that does not enforce, a dormant route is no less dormant.
	code, lenient, _ := auditOf(t, "-n", "asleep", "--as-mode", "audit")
	if n := lenient.Namespaces[0]; code != command.ExitClean || n.Dormant != 4 || len(n.Wake) != 4 {
		t.Errorf("exit code %d, %+v", code, n)
	}
	_, sarif, _ := run(t, "", "audit", "-n", "asleep", "-o", "sarif", "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(sarif, "dormant: no mesh acts on this parentRef") {
		t.Errorf("SARIF: %s", sarif)
	}
}

// sorted returns the lines, since routes are patched in the order in which they are listed.
func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return lines
}

func describesDormant(t *testing.T) {
	_, stdout, stderr := run(t, "", "describe", "service/bill", "-n", "asleep", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	var d describe.Service
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if len(d.Routes) != 2 {
		t.Fatalf("%+v", d.Routes)
	}
	for _, r := range d.Routes {
		if r.State != validate.Dormant || r.Port != 80 || r.Scope != "producer" || !strings.Contains(r.Reason, " on this parentRef: ") {
			t.Errorf("%+v", r)
		}
	}
	if g := d.Grants[0]; len(g.Uses)+len(g.Lacks) != 0 {
		t.Errorf("a dormant route needs no grant: %+v", g)
	}
	_, text, _ := run(t, "", "describe", "service/bill", "-n", "asleep", "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(text, "dormant   unanswered     no mesh acts on this parentRef: kind Service is in the core group") {
		t.Errorf("%s", text)
	}
	_, text, _ = run(t, "", "describe", "httproute/bill", "-n", "asleep", "--kubeconfig", plane.Kubeconfig)
	if _, commands, _ := strings.Cut(text, "a mesh admin:\n"); strings.Count(commands, wakeGrant) != 1 || !strings.HasPrefix(commands, wakeGrant+"\nkubectl patch ") {
		t.Errorf("the grant is not there once, before the patch: %s", commands)
	}
}

func conflictsOfDormant(t *testing.T) {
	const want = `SERVICE   PORT     SCOPE      WINNER   LOSERS   WHY                   OTHERS
bill      80/TCP   producer   -        -        dormant routes only   HTTPRoute asleep/bill (dormant) and 1 more
cart      80/TCP   producer   -        -        no route applies      GRPCRoute asleep/half (no-grant)
`
	code, stdout, stderr := run(t, "", "conflicts", "-n", "asleep", "--kubeconfig", plane.Kubeconfig)
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(stdout)); diff != "" || code != command.ExitClean {
		t.Errorf("exit code %d, %s (-want +got)\n%s", code, stderr, diff)
	}
	_, stdout, _ = run(t, "", "conflicts", "-n", "asleep", "-o", "json", "--kubeconfig", plane.Kubeconfig)
	var list conflicts.List
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if b := list.Items[0]; b.Winner != "" || b.Conflict || len(b.Routes) != 2 || b.Routes[0].State != validate.Dormant || !strings.Contains(stdout, `"state": "dormant"`) {
		t.Errorf("%s", stdout)
	}
}

func graphsDormant(t *testing.T) {
	for format, want := range map[string]string{
		"mermaid": "-.->|dormant|", "dot": `label="dormant"`,
		"html": `asleep/bill:80/TCP</td><td class="name">HTTPRoute asleep/bill<br><i>producer</i></td><td><b>dormant</b><br>no mesh acts on this parentRef: `,
	} {
		code, stdout, stderr := run(t, "", "graph", "-n", "asleep", "-o", format, "--kubeconfig", plane.Kubeconfig)
		if code != command.ExitClean || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit code %d, %s\n%s", format, code, stderr, stdout)
		}
	}
}

// checksDormant: a file that is applied again as it is stored changes nothing, and what it lacks only warns; one with
// another path is changed, and makes the route live.
func checksDormant(t *testing.T) {
	documents := strings.Split(asleep, "---\n")
	file := documents[slices.IndexFunc(documents, func(text string) bool { return strings.Contains(text, "name: bill, port: 80}]") })]
	for name, test := range map[string]struct {
		file    string
		changes int
		effect  validate.Action
	}{
		"unchanged": {file, 0, validate.Warn},
		"changed":   {strings.Replace(file, "/v2", "/v3", 1), 1, validate.Deny},
	} {
		_, stdout, stderr := run(t, test.file, "check", "-f", "-", "--cluster", "-o", "json", "--kubeconfig", plane.Kubeconfig)
		var r report.CheckReport
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatalf("%s: %v: %s", name, err, stderr)
		}
		if route := &r.Routes[0]; len(route.Changes) != test.changes || len(route.Findings) == 0 ||
			route.Findings[0].Rule != validate.RuleGrantMissing || route.Findings[0].Effect != test.effect {
			t.Errorf("%s: %s", name, stdout)
		}
	}
}

// readByLinkerd: what the mesh at hand reads is not dormant. Group and kind stay as written.
func readByLinkerd(t *testing.T) {
	_, r, _ := auditOf(t, "-n", "asleep", "--mesh", "linkerd")
	for _, route := range r.Routes {
		if half := route.Name == "half"; half == (len(route.Dormant) > 0) || half && len(route.Changes) > 0 {
			t.Errorf("%+v", route)
		}
	}
	_, stdout, _ := run(t, "", "describe", "service/bill", "-n", "asleep", "--mesh", "linkerd", "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(stdout, "no-grant   unanswered     namespace asleep lacks the producer grant for GRPCRoute") {
		t.Errorf("%s", stdout)
	}
}

// wakesDormant runs what the audit prints, in its order.
func wakesDormant(t *testing.T) {
	_, r, _ := auditOf(t, "-n", "asleep")
	for _, line := range r.Namespaces[0].Wake {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Env = append(plane.Environ(), "PATH="+plane.BinDir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	_, r, _ = auditOf(t, "-n", "asleep")
	if n := r.Namespaces[0]; n.Dormant != 2 || len(n.Wake) != 1 { // vague and owned stay
		t.Errorf("%+v", n)
	}
	_, stdout, _ := run(t, "", "describe", "service/bill", "-n", "asleep", "--kubeconfig", plane.Kubeconfig)
	if !strings.Contains(stdout, "GRPCRoute asleep/half   applies") || !strings.Contains(stdout, "HTTPRoute asleep/bill   loses") {
		t.Errorf("%s", stdout)
	}
}
