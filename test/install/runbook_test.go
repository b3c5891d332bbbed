package install

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/background"
)

// runbooks are the pages for the person on call.
var runbooks = []string{"runbook.md", "emergency.md"}

// TestRunbook runs each command of these pages, word for word, or names the test that does.
func TestRunbook(t *testing.T) {
	o := newOperator(t)
	o.apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`, headlessIn("shop"))
	kubectl(t, "label", "namespace", "shop", "gammaguard.dev/grant=producer", "--overwrite")
	install(t, folder(t, "overlays/audit-only")) // its ConfigMap is another one's
	install(t, folder(t, "default"))
	t.Cleanup(func() { o.stop(t) })
	others := map[string]string{
		"## First steps":            "test/e2e.TestUpgrade", // there are Pods, and two versions
		"### GammaguardDenialsHigh": "test/monitoring.TestLive",
		"### With cert-manager":     "test/e2e.TestOverlays",
		"### Self-managed":          "test/install.TestSelfManaged",
		"## Upgrade":                "test/e2e.TestUpgrade",
		"## Rollback":               "test/e2e.TestUpgrade",
	}
	plays := map[string]func(t *testing.T, commands []string){
		"### GammaguardNotServing":           o.notServing,
		"### GammaguardPolicyDiffers":        o.policyDiffers,
		"### GammaguardCertificateExpiring":  o.describeCertificates,
		"### GammaguardStatusFull":           o.findFull,
		"### GammaguardStoredFindingsGrow":   o.auditShop,
		"### GammaguardRoutesUnacknowledged": o.auditShop,
		"## Emergency":                       o.emergency,
		"## Restore of a cluster":            o.restore,
	}
	for _, page := range runbooks {
		for _, heading := range headingsOf(t, filepath.Join(o.root, "docs", page)) {
			commands := commandsOf(t, o.root, page, heading)
			switch play := plays[heading]; {
			case len(commands) == 0:
			case others[heading] != "":
				folder, test, _ := strings.Cut(others[heading], ".")
				if texts := stringsOf(t, filepath.Join(o.root, folder), test); !strings.Contains(texts, heading) && !strings.Contains(texts, page) {
					t.Errorf("%s does not play %q", others[heading], heading)
				}
				delete(others, heading)
			case play == nil:
				t.Errorf("%s has commands that this test does not know: %q", heading, commands)
			default:
				t.Run(strings.TrimLeft(heading, "# "), func(t *testing.T) { play(t, commands) })
				delete(plays, heading)
			}
		}
	}
	for heading := range others {
		t.Errorf("the runbook has no commands below %q", heading)
	}
	for heading := range plays {
		t.Errorf("the runbook has no commands below %q", heading)
	}
	t.Run("README.md", o.showDenial) // gammaguard runs now
}

// headingsOf returns the headings of a page, but its title.
func headingsOf(t *testing.T, path string) []string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^##+ .*$`).FindAllString(string(page), -1)
}

// showDenial: kubectl prints the denial that the README begins with.
func (o *operator) showDenial(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(o.root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(readme), "$ kubectl apply -f cart.yaml\n")
	shown, _, _ = strings.Cut(shown, "```")
	o.apply(t, `{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: None, ports: [{port: 80}]}}`)
	_, stderr, _ := plane.Kubectl(t.Context(), (&legacyRoute{kind: "HTTPRoute", name: "cart", parents: `{kind: Service, name: cart}`}).manifest("shop"), "apply", "-f", "-")
	if want, got := strings.Join(strings.Fields(shown), " "), strings.Join(strings.Fields(stderr), " "); want == "" || !strings.HasSuffix(got, want) {
		t.Errorf("README.md shows\n%s\nand kubectl prints\n%s", want, got)
	}
}

// headlessIn is a namespace's Service without a cluster IP, and a route on it.
func headlessIn(namespace string) string {
	return strings.ReplaceAll(`{apiVersion: v1, kind: Service, metadata: {name: runbook, namespace: IN}, spec: {clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: runbook, namespace: IN}, spec: {parentRefs: [{group: "", kind: Service, name: runbook}]}}`, "IN", namespace)
}

// wants runs a command, which exits with the code, and prints the text.
func (o *operator) wants(t *testing.T, command string, code int, text string) {
	t.Helper()
	got, stdout, stderr := o.sh(t, command)
	if got != code || !regexp.MustCompile(text).MatchString(stdout) {
		t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", command, got, code, text, stdout, stderr)
	}
}

// notServing: gammaguard does not run yet, and the binding is gone. Applying the overlay
// brings it back.
func (o *operator) notServing(t *testing.T, commands []string) {
	if len(commands) != 4 {
		t.Fatalf("the page has the commands %q", commands)
	}
	o.wants(t, commands[0], 0, `(?m)^gammaguard-serving +ClusterRole/gammaguard-serving `)
	o.wants(t, commands[1], 4, ``)
	kubectl(t, "delete", "clusterrolebinding", "gammaguard-serving")
	o.wants(t, commands[2], 0, `(?m)clusterrolebinding.rbac.authorization.k8s.io/gammaguard-serving created$`)
	o.wants(t, commands[3], 1, `(?m)^shop +HTTPRoute +runbook +parent-headless +deny `)
}

// policyDiffers: the policies are those of another configuration than gammaguard's.
func (o *operator) policyDiffers(t *testing.T, commands []string) {
	if len(commands) != 3 {
		t.Fatalf("the page has the commands %q", commands)
	}
	t.Cleanup(func() { removeGrantPolicies(t) })
	in := *o
	in.root = checkout(t, o.root)
	const other = "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\ngrants: {default: all}\n"
	if err := os.WriteFile(filepath.Join(in.root, "other.yaml"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	in.must(t, "gammaguard policy --config other.yaml | kubectl apply -f -")
	in.wants(t, commands[0], 4, `(?m)^policies on routes without a grant +fail `)
	in.must(t, commands[1])
	in.must(t, commands[2])
	in.wants(t, commands[0], 4, `(?m)^policies on routes without a grant +ok `) // other checks fail: gammaguard does not run
}

func (o *operator) describeCertificates(t *testing.T, commands []string) {
	for _, command := range commands {
		o.wants(t, command, 0, `(?s)Name: +gammaguard-ca\n.*Name: +gammaguard-serving-cert\n`)
	}
}

func (o *operator) findFull(t *testing.T, commands []string) {
	o.apply(t, `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: full, namespace: shop}, eventTime: "2026-01-02T03:04:05.000000Z", type: Warning,
		reason: StatusFull, action: WriteStatus, reportingController: gammaguard.dev/guard, reportingInstance: runbook,
		regarding: {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, namespace: shop, name: runbook}}`)
	for _, command := range commands {
		o.wants(t, command, 0, `(?m)^shop .* StatusFull +httproute/runbook`)
	}
}

func (o *operator) auditShop(t *testing.T, commands []string) {
	for _, command := range commands {
		o.wants(t, command, 1, `(?m)^shop +HTTPRoute +runbook +parent-headless +deny `)
	}
}

// emergency: the process hangs. The first command has mesh routes admitted at once, each
// sync of a GitOps controller takes it back, what it should be given instead holds, and in
// the end gammaguard refuses again.
func (o *operator) emergency(t *testing.T, commands []string) {
	if len(commands) != 8 {
		t.Fatalf("the page has the commands %q", commands)
	}
	remove, removePolicy, patch, generations, removeMutating, apply, check, audit :=
		commands[0], commands[1], commands[2], commands[3], commands[4], commands[5], commands[6], commands[7]
	flux := strings.Replace(apply, "apply", "apply --server-side --force-conflicts --field-manager=kustomize-controller", 1)
	o.serve(t, "config/base/guard.yaml")
	wantRoutes(t, true)
	signal := func(signal syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(o.guard.PID(), signal); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	thaw := sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	defer thaw()
	wantRoutes(t, true)
	o.must(t, remove)
	wantAdmittedAtOnce(t)
	for _, again := range []string{apply, flux} {
		for _, command := range []string{remove, patch} {
			o.must(t, again)
			wantRoutes(t, true)
			o.must(t, command)
			wantRoutes(t, false)
		}
	}
	o.must(t, strings.Replace(apply, "config/default", "config/overlays/audit-only", 1))
	wantRoutes(t, false)
	o.must(t, apply)
	o.wants(t, generations, 0, `(?m)^shop +runbook +1$`)
	o.must(t, removeMutating)
	wantRoutes(t, true)

	thaw()
	o.must(t, apply)
	if err := o.guard.Register(t.Context(), plane); err != nil { // in the place of the Service
		t.Fatal(err)
	}
	haveReplicas(t)
	o.wants(t, check, 0, "is refused by gammaguard")
	o.wants(t, audit, 1, "(?m)^shop +HTTPRoute +runbook +parent-headless +deny ")
	o.stop(t)
	o.must(t, remove)
	t.Cleanup(func() { removeGrantPolicies(t) })
	kubectl(t, "apply", "-f", filepath.Join(o.root, "config", "policy", "route_grants.yaml"))
	background.Eventually(t, func() string { // a policy is taken up a moment after it is stored
		const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: default, name: probe}, spec: {parentRefs: [{group: "", kind: Service, name: probe}]}}`
		if _, stderr, _ := plane.Kubectl(t.Context(), route, "create", "--dry-run=server", "-f", "-"); !strings.Contains(stderr, "ValidatingAdmissionPolicy 'gammaguard-route-grants'") {
			return "the policy does not refuse a route without a grant: " + stderr
		}
		return ""
	})
	o.must(t, removePolicy)
	wantRoutes(t, false)
	o.must(t, apply)
}

// wantAdmittedAtOnce wants a mesh route to be admitted without a call of a webhook, which
// would last longer.
func wantAdmittedAtOnce(t *testing.T) {
	t.Helper()
	c := admin(t)
	background.Eventually(t, func() string {
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		if err := c.Create(ctx, meshRoute(), client.DryRunAll); err != nil {
			return err.Error()
		}
		return ""
	})
}

// haveReplicas has the Deployment say that its Pods are ready, which do not run here.
func haveReplicas(t *testing.T) {
	t.Helper()
	kubectl(t, "patch", "deployment", "-n", system, "gammaguard-webhook", "--subresource=status", "--type=merge", "-p",
		`{"status": {"observedGeneration": 99, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}}`)
}

// restore: gammaguard is there before its Pods can run. Then it runs, and writes status.
func (o *operator) restore(t *testing.T, commands []string) {
	i := slices.IndexFunc(commands, func(command string) bool { return strings.HasPrefix(command, "kubectl apply ") })
	if i != 1 || len(commands) != 3 {
		t.Fatalf("the page has the commands %q", commands)
	}
	wantRoutes(t, true)
	o.must(t, commands[0])
	wantRoutes(t, false)
	kubectl(t, "create", "namespace", "restored")
	kubectl(t, "label", "namespace", "restored", "gammaguard.dev/grant=all")
	o.apply(t, headlessIn("restored"))
	o.must(t, commands[1])
	wantRoutes(t, true)
	o.serve(t, "config/base/guard.yaml")
	background.Eventually(t, func() string {
		reasons := kubectl(t, "get", "httproute", "-n", "restored", "runbook", "-o", `jsonpath={.status.parents[?(@.controllerName=="gammaguard.dev/guard")].conditions[*].reason}`)
		if reasons != "NoMatchingParent" {
			return "the status of the restored route has the reasons " + reasons
		}
		return ""
	})
	o.wants(t, commands[2], 1, "(?m)^restored +HTTPRoute +runbook +parent-headless +deny ")
}
