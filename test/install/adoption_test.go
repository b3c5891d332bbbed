package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/report"
)

// commandsOf returns the commands of a section of a page, in order.
func commandsOf(t *testing.T, root, page, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/%s has no heading %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n##")
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)\n *```").FindAllStringSubmatch(section, -1) {
		for line := range strings.Lines(block[1]) {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	return commands
}

// TestAdoption follows the guide's commands word for word on a cluster with 40 routes
// of every fault that can be stored. What was announced as fine is never refused, what was announced to
// be denied is, and in the end the audit is empty.
func TestAdoption(t *testing.T) {
	a := newAdoption(t)
	steps := map[string]func(t *testing.T, command string){
		"kubectl apply -k config/overlays/audit-only": func(t *testing.T, command string) {
			a.must(t, command)
			a.serve(t, "config/components/audit-only/guard.yaml")
		},
		"gammaguard audit -A --as-mode enforce": a.auditAll,
		"kubectl label namespace shop gammaguard.dev/grant=producer": func(t *testing.T, command string) {
			printed := a.grantCommands(t)
			if !slices.Contains(printed, command) {
				t.Errorf("the audit prints %q", printed)
			}
			for _, command := range printed {
				a.must(t, command)
			}
		},
		"kubectl label namespace shop gammaguard.dev/mode=warn":                                 a.warn,
		"gammaguard audit -n shop --as-mode enforce":                                            a.announce,
		"kubectl label namespace shop gammaguard.dev/mode=enforce --overwrite --dry-run=server": a.preview,
		"kubectl label namespace shop gammaguard.dev/mode=enforce --overwrite":                  a.enforce,
		"kubectl apply -k config/default": func(t *testing.T, command string) {
			// The guard that is registered is this test's, not the Service's.
			kubectl(t, "delete", "validatingwebhookconfiguration,mutatingwebhookconfiguration", "gammaguard")
			a.must(t, command)
			a.serve(t, "config/base/guard.yaml")
		},
		"kubectl label namespaces --all gammaguard.dev/mode-": func(t *testing.T, command string) { a.must(t, command) },
		"gammaguard audit -A": func(t *testing.T, command string) {
			code, stdout, stderr := a.sh(t, command)
			if code != 0 || strings.Contains(stdout, "MESSAGE") || stderr != "" {
				t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
			}
			for _, n := range a.audit(t, command).Namespaces {
				if want := map[string]int{"shop": 20, "faces": 19}[n.Name]; n.Mode != "enforce" || n.Routes != want || n.Denied+n.Warned+n.Unknown > 0 {
					t.Errorf("%+v", n)
				}
			}
		},
	}
	t.Cleanup(func() {
		for _, overlay := range []string{"overlays/audit-only", "default"} { // each has a ConfigMap of its own
			uninstall(t, folder(t, overlay))
		}
		for _, namespace := range append(adopters, "closed") {
			if _, stderr, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "label", "namespace", namespace, "gammaguard.dev/grant-", "gammaguard.dev/consumer-routes-"); err != nil {
				t.Errorf("%v: %s", err, stderr)
			}
		}
	})
	t.Cleanup(func() { a.stop(t) })
	for _, command := range commandsOf(t, a.root, "adoption.md", "## The steps") {
		step := steps[command]
		if step == nil {
			t.Fatalf("the guide has a command that this test does not know: %s", command)
		}
		delete(steps, command)
		if !t.Run(command, func(t *testing.T) { step(t, command) }) {
			return
		}
	}
	for command := range steps {
		t.Errorf("the guide lacks: %s", command)
	}
	t.Run("docs/audit-log.md", a.queries)
}

// grantCommands returns the commands that the audit prints below its summary.
func (a *adoption) grantCommands(t *testing.T) []string {
	t.Helper()
	_, stdout, _ := a.sh(t, "gammaguard audit -A --as-mode enforce")
	return regexp.MustCompile(`(?m)^kubectl label .*$`).FindAllString(stdout, -1)
}

// auditAll: the audit finds every fault, by the ConfigMap that was installed.
func (a *adoption) auditAll(t *testing.T, command string) {
	code, stdout, stderr := a.sh(t, command)
	if code != 1 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, namespace := range adopters {
		for _, route := range legacyRoutes(namespace) {
			for _, rule := range append(route.warned, route.denied) {
				action := "warn"
				if rule == route.denied {
					action = "deny"
				}
				if found := regexp.MustCompile(`(?m)^` + namespace + ` .* ` + rule + ` +` + action + ` `).MatchString(stdout); rule != "" && !found {
					t.Errorf("%s: no %s in\n%s", namespace, rule, stdout)
				}
			}
		}
	}
	if r := a.audit(t, command); !strings.HasPrefix(r.Configuration, "ConfigMap gammaguard-system/gammaguard-config-") {
		t.Errorf("judged by %s", r.Configuration)
	}
}

// inBoth runs a command of the guide, which speaks of one namespace, for each.
func (a *adoption) inBoth(t *testing.T, command string, then func(namespace, command string)) {
	t.Helper()
	for _, namespace := range adopters {
		then(namespace, strings.Replace(command, "shop", namespace, 1))
	}
}

// warn: routes are still admitted, with a warning where they would be denied.
func (a *adoption) warn(t *testing.T, command string) {
	a.inBoth(t, command, func(namespace, command string) {
		a.must(t, command)
		headless := legacyRoutes(namespace)["HTTPRoute/headless"]
		kubectl(t, "delete", "httproute", "-n", namespace, "headless")
		if stderr := a.apply(t, headless.manifest(namespace)); !strings.Contains(stderr, "Warning: spec.parentRefs[0].name: would be denied: ") {
			t.Errorf("%s: %q", namespace, stderr)
		}
		a.wantTrail(t, "Downgraded a denial", namespace)
		group := legacyRoutes(namespace)["HTTPRoute/group"]
		kubectl(t, "delete", "httproute", "-n", namespace, "group")
		if stderr := a.apply(t, group.manifest(namespace)); !strings.Contains(stderr, "(parent-group)") {
			t.Errorf("%s: %q", namespace, stderr)
		}
	})
}

// announce notes the verdicts.
func (a *adoption) announce(t *testing.T, command string) {
	a.inBoth(t, command, func(namespace, command string) {
		verdicts := map[string]report.Verdict{}
		r := a.audit(t, command)
		for i := range r.Routes {
			verdicts[string(r.Routes[i].Kind)+"/"+r.Routes[i].Name] = r.Routes[i].Verdict
		}
		if n := r.Namespaces[0]; n.Routes != 20 || n.Needs != "" {
			t.Errorf("%+v", n)
		}
		a.announced[namespace] = verdicts
	})
}

// preview: the dry run names as many routes as were announced to be denied, the dormant one among the 20 included.
func (a *adoption) preview(t *testing.T, command string) {
	a.inBoth(t, command, func(namespace, command string) {
		denied := 0
		for _, verdict := range a.announced[namespace] {
			if verdict == report.Deny {
				denied++
			}
		}
		code, _, stderr := a.sh(t, command)
		if want := fmt.Sprintf("Warning: if created now, %d of 20 routes would be denied: ", denied); code != 0 || denied == 0 || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: exit code %d: want %s, got %s", namespace, code, want, stderr)
		}
	})
}

// enforce: each route is created anew, and gets the verdict that was announced. Then all
// are fixed, and what the Service's side refuses remains deleted.
func (a *adoption) enforce(t *testing.T, command string) {
	a.inBoth(t, command, func(namespace, command string) {
		a.must(t, command)
		kubectl(t, "delete", "httproutes,grpcroutes,tcproutes", "--all", "-n", namespace)
		want, got := map[string]bool{}, map[string]bool{}
		var fixed []string
		for name, route := range legacyRoutes(namespace) {
			_, stderr, err := plane.Kubectl(t.Context(), route.manifest(namespace), "create", "-f", "-")
			if got[name] = err != nil; got[name] && (route.denied == "" || !strings.Contains(stderr, "("+route.denied+")")) {
				t.Errorf("%s: want %q: %s", name, route.denied, stderr)
			}
			want[name] = a.announced[namespace][name] == report.Deny
			if route.denied != "consumer-refused" {
				fixed = append(fixed, route.fixed(namespace))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: denied (-announced +done)\n%s", namespace, diff)
		}
		a.apply(t, fixed...)
		a.wantTrail(t, "Denied a route", namespace)
	})
}

// wantTrail fails where neither the log of gammaguard nor the API server's audit log has
// the denials of headless parents in the namespace.
func (a *adoption) wantTrail(t *testing.T, message, namespace string) {
	t.Helper()
	line := `"msg":"` + message + `","user":"[^"]+","operation":"CREATE","kind":"HTTPRoute","namespace":"` + namespace + `","name":"headless","rules":\["parent-headless"\]`
	if !regexp.MustCompile(line).MatchString(a.guard.Log()) {
		t.Errorf("no line %s in\n%s", line, a.guard.Log())
	}
	audited, err := os.ReadFile(plane.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"validate.gammaguard.dev/messages":"spec.parentRefs[0].name: ` + prefixOf[message] + "Service " + namespace + "/bare is headless"; !strings.Contains(string(audited), want) {
		t.Errorf("the audit log lacks %s", want)
	}
}

// prefixOf is how the message of a finding begins, by the message in the log.
var prefixOf = map[string]string{"Denied a route": "", "Downgraded a denial": "would be denied: "}
