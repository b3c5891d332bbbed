package install

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/test/background"
)

// TestRunbook runs each command of docs/runbook.md, word for word, or names the test that
// does.
func TestRunbook(t *testing.T) {
	o := newOperator(t)
	page, err := os.ReadFile(filepath.Join(o.root, "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
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
		"### GammaguardCertificateExpiring": o.describeCertificates,
		"### GammaguardStatusFull":          o.findFull,
		"### GammaguardStoredFindingsGrow":  o.auditShop,
		"## Emergency":                      o.emergency,
		"## Restore of a cluster":           o.restore,
	}
	for _, heading := range regexp.MustCompile(`(?m)^##+ .*$`).FindAllString(string(page), -1) {
		commands := commandsOf(t, o.root, "runbook.md", heading)
		switch play := plays[heading]; {
		case len(commands) == 0:
		case others[heading] != "":
			folder, test, _ := strings.Cut(others[heading], ".")
			if texts := stringsOf(t, filepath.Join(o.root, folder), test); !strings.Contains(texts, heading) && !strings.Contains(texts, "runbook.md") {
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
	for heading := range others {
		t.Errorf("the runbook has no commands below %q", heading)
	}
	for heading := range plays {
		t.Errorf("the runbook has no commands below %q", heading)
	}
	t.Run("README.md", o.showDenial) // gammaguard runs now
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

// emergency: nothing runs. The patch and the deletion have mesh routes admitted, each sync
// of a GitOps controller takes them back, and what it should be given instead holds.
func (o *operator) emergency(t *testing.T, commands []string) {
	if len(commands) != 4 {
		t.Fatalf("the page has the commands %q", commands)
	}
	apply, audit := commands[2], commands[3]
	flux := strings.Replace(apply, "apply", "apply --server-side --force-conflicts --field-manager=kustomize-controller", 1)
	wantRoutes(t, true)
	for _, command := range commands[:2] {
		for _, sync := range []string{apply, flux} {
			o.must(t, command)
			wantRoutes(t, false)
			o.must(t, sync)
			wantRoutes(t, true)
		}
	}
	o.must(t, strings.Replace(apply, "config/default", "config/overlays/audit-only", 1))
	wantRoutes(t, false)
	o.must(t, apply)
	wantRoutes(t, true)
	o.wants(t, audit, 1, "(?m)^shop +HTTPRoute +runbook +parent-headless +deny ")
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
