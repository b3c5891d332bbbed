package policies_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
)

var update = flag.Bool("update", false, "write the table of docs/availability.md")

// way is one of the ways to install gammaguard.
type way struct {
	name              string
	policies, webhook bool
	// open: failurePolicy is Ignore.
	open bool
}

var ways = []way{
	{name: "policies alone", policies: true},
	{name: "fail-open", policies: true, webhook: true, open: true},
	{name: "fail-closed", webhook: true},
}

// situations are what may be down, in the order in which they are played. Each leaves the one
// before behind.
var situations = []struct {
	name string
	// begin and end do nothing where there is no webhook.
	begin, end func(*guard.Guard) error
	restart    bool
}{
	{name: "gammaguard answers"},
	{name: "the API server has just been restarted", restart: true},
	{
		name:  "gammaguard is frozen",
		begin: func(g *guard.Guard) error { return syscall.Kill(g.PID(), syscall.SIGSTOP) },
		end:   func(g *guard.Guard) error { return syscall.Kill(g.PID(), syscall.SIGCONT) },
	},
	{name: "gammaguard is down", begin: (*guard.Guard).Kill},
}

// tried are routes, with the parent of each.
var tried = []struct{ name, namespace, parent string }{
	{"without a grant", "ways-none", `{group: "", kind: Service, name: cart}`},
	{"refused by the Service's side", "ways-consumer", `{group: "", kind: Service, name: closed, namespace: ways}`},
	{"without effect", "ways", `{group: "", kind: Service, name: cart, port: 99}`},
	{"all others", "ways", `{group: "", kind: Service, name: cart}`},
}

const objects = `
{apiVersion: v1, kind: Namespace, metadata: {name: ways-none}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ways, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ways-consumer, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: ways-none}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: ways}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: closed, namespace: ways, labels: {gammaguard.dev/consumer-routes: deny}}, spec: {ports: [{port: 80}]}}`

// TestWays: the table of docs/availability.md says which mesh routes are refused when what is down, in
// each way to install gammaguard. -update writes it.
func TestWays(t *testing.T) {
	kubectl(t, objects, "apply", "-f", "-")
	cells := make([][]string, len(situations))
	for _, w := range ways {
		for i, cell := range play(t, w) {
			cells[i] = append(cells[i], cell)
		}
	}
	var b strings.Builder
	b.WriteString("\n| |")
	for _, w := range ways {
		b.WriteString(" " + w.name + " |")
	}
	b.WriteString("\n|---|---|---|---|\n")
	for i, situation := range situations {
		fmt.Fprintf(&b, "| %s | %s |\n", situation.name, strings.Join(cells[i], " | "))
	}
	b.WriteString("\n")
	root, err := bed.Root()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "availability.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- ways: written by test/policies.TestWays -update -->\n", "<!-- end of ways -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no table of ways", file)
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// play returns what is refused in each situation.
func play(t *testing.T, w way) (cells []string) {
	t.Helper()
	if w.policies {
		if err := guard.InstallPolicies(t.Context(), plane, config.Default().Policy()); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := guard.RemovePolicies(t.Context(), plane); err != nil {
				t.Error(err)
			}
		}()
	}
	var g *guard.Guard
	if w.webhook {
		g = serve(t, "")
		defer func() {
			if err := errors.Join(g.Stop(), unregister(t)); err != nil {
				t.Error(err)
			}
		}()
	}
	if w.open {
		kubectl(t, "", "patch", "validatingwebhookconfiguration", "gammaguard", "--type=json", "-p", `[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]`)
	}
	for _, situation := range situations {
		if situation.restart {
			if err := plane.RestartAPIServer(); err != nil {
				t.Fatal(err)
			}
		}
		if g != nil && situation.begin != nil {
			if err := situation.begin(g); err != nil {
				t.Fatal(err)
			}
		}
		cell := ""
		background.Eventually(t, func() string { // a changed registration is taken up, and a replica becomes ready
			before := cell
			if cell = refusals(t); cell != before {
				return "it changes: " + cell
			}
			return ""
		})
		cells = append(cells, cell)
		if g != nil && situation.end != nil {
			if err := situation.end(g); err != nil {
				t.Fatal(err)
			}
			background.Eventually(t, func() string {
				if err := g.Ready(t.Context()); err != nil {
					return err.Error()
				}
				return ""
			})
		}
	}
	return cells
}

// refusals returns which of the routes are refused.
func refusals(t *testing.T) string {
	t.Helper()
	var refused []string
	for _, r := range tried {
		if _, err := create(t, r.namespace, r.parent); err != nil {
			refused = append(refused, r.name)
		}
	}
	switch len(refused) {
	case 0:
		return "none"
	case len(tried):
		return "all"
	}
	return strings.Join(refused, ", ")
}

// serve starts gammaguard and registers its webhooks.
func serve(t *testing.T, configuration string) *guard.Guard {
	t.Helper()
	if err := guard.Install(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	// By routes in this namespace, the bed waits until the API server calls the webhooks. The
	// policies would refuse them first.
	kubectl(t, "", "label", "namespace", "default", "gammaguard.dev/grant=all")
	g, err := guard.Start(t.Context(), plane, guard.Options{Config: configuration, Args: []string{"--shutdown-delay=0s"}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// unregister removes what serve installed.
func unregister(t *testing.T) error {
	t.Helper()
	kubectl(t, "", "label", "namespace", "default", "gammaguard.dev/grant-")
	root, err := bed.Root()
	if err != nil {
		return err
	}
	for _, folder := range []string{"webhook", "policy/labels", "policy/account", "rbac"} {
		kubectl(t, "", "delete", "--ignore-not-found", "-k", filepath.Join(root, "config", filepath.FromSlash(folder)))
	}
	return nil
}

// TestReported: a replica reports policies of another configuration as a metric and as an Event,
// which the policy on its ServiceAccount admits, and those of its own as in sync.
func TestReported(t *testing.T) {
	other := config.Default()
	other.Grants.Contact = "#mesh"
	for _, test := range []struct {
		policies *config.GuardConfiguration
		metric   string
		event    bool
	}{
		{config.Default(), "gammaguard_policy_in_sync 1", false},
		{other, "gammaguard_policy_in_sync 0", true},
		{nil, "", false},
	} {
		if test.policies != nil {
			if err := guard.InstallPolicies(t.Context(), plane, test.policies.Policy()); err != nil {
				t.Fatal(err)
			}
		}
		g := serve(t, "")
		background.Eventually(t, func() string {
			metrics, err := g.Metrics(t.Context())
			if err != nil || !strings.Contains(metrics, test.metric) || test.metric == "" && strings.Contains(metrics, "gammaguard_policy_in_sync ") {
				return fmt.Sprintf("no %s: %v\n%s", test.metric, err, g.Log())
			}
			events := kubectl(t, "", "get", "events.events.k8s.io", "-n", "default", "-o", "jsonpath={range .items[*]}{.reason} {.regarding.kind} {.regarding.name} {.note}{end}")
			if event := strings.Contains(events, "PolicyDiffers ValidatingAdmissionPolicy gammaguard-route-grants not what the configuration of gammaguard asks for"); event != test.event {
				return fmt.Sprintf("an Event: %v: %s\n%s", event, events, g.Log())
			}
			return ""
		})
		kubectl(t, "", "delete", "events.events.k8s.io", "-n", "default", "--all")
		if err := errors.Join(g.Stop(), unregister(t), guard.RemovePolicies(t.Context(), plane)); err != nil {
			t.Fatal(err)
		}
	}
}
