package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/cli/command"
	"github.com/gammaguard/gammaguard/test/hostile"
)

// hostileCase is a call of a command where others wrote what it prints.
type hostileCase struct {
	// command is its path, such as "grants list".
	command string
	args    []string
	stdin   string
	// quiet is set where nothing of the others' text is printed.
	quiet bool
	// fails is set where the command cannot do what it is asked.
	fails bool
	// plain is set where the command takes no format.
	plain bool
}

// stored are objects that an API server admits, with hostile texts where they may be.
func stored() string {
	text, request := hostile.JSON(hostile.Text), hostile.JSON(`{"role": "producer", "reason": "a`+"\u202e\u200b"+`b"}`)
	return fmt.Sprintf(`---
{apiVersion: v1, kind: Namespace, metadata: {name: hostile, labels: {gammaguard.dev/grant: producer}, annotations: {"gammaguard.dev/consumer-routes-from": %[1]s}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: hostile-asks, annotations: {"gammaguard.dev/grant-request": %[2]s}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: hostile, annotations: {"gammaguard.dev/consumer-route-kinds": %[1]s}}, spec: {ports: [{name: http, port: 80, appProtocol: http}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: guest, namespace: hostile-asks}, spec: {parentRefs: [{group: "", kind: Service, name: cart, namespace: hostile}]}}
`, text, request) + hostile.Stored("hostile", hostile.Text, hostile.ASCII)
}

// hostileFolder is a repository of an attacker: in the names of its files, and in them.
func hostileFolder(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "repo")
	name := strings.ReplaceAll(hostile.Text, "/", "%")
	for file, text := range map[string]string{
		name + "/route.yaml":            hostile.Manifests(hostile.Text, hostile.Text, hostile.Text),
		"::add-mask::folder/route.yaml": hostile.Manifests("shop", "cart2", hostile.Text),
		"##[group]x.yaml":               hostile.Manifests("shop", "cart2", hostile.Text),
		name + "b.yaml":                 "kind: [broken",
		"built/kustomization.yaml":      "resources: [\"" + strings.NewReplacer("\x1b", `\e`, "\n", `\n`).Replace("no\x1b[2J\n::add-mask::x") + "\"]\n",
		"chart/Chart.yaml":              "apiVersion: v2\nname: evil\nversion: 1.0.0\n",
		"chart/templates/" + name:       "{{ fail \"no\\x1b[2J\\n::add-mask::x\" }}",
		"canary.yaml": "{apiVersion: flagger.app/v1beta1, kind: Canary, metadata: {name: " + hostile.JSON(hostile.Text) + ", namespace: " + hostile.JSON(hostile.Text) +
			"}, spec: {service: {name: " + hostile.JSON(hostile.Text) + ", gatewayRefs: [{kind: " + hostile.JSON(hostile.Text) + "}], match: [{method: {}}]}}}\n",
		"given.json":             hostileGiven("/" + hostile.Text),
		"foreign.json":           hostileGiven("(" + hostile.Text),
		"base/a.yaml":            hostile.Manifests("shop", "cart2", "v"),
		"a.gammaguard-test.yaml": hostileTests(`, expect: {backend: ` + hostile.JSON(hostile.Text) + `, route: ` + hostile.JSON("HTTPRoute shop/"+hostile.Text) + `}`),
		"broken-test.yaml":       hostileTests(`, expect: {` + hostile.JSON(hostile.Text) + `: 1}`),
		"../guard.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nexemptions: {usernames: [" + hostile.JSON(hostile.Text) +
			"], groups: [" + hostile.JSON(hostile.Text) + "]}\n",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// hostileTests is a file of tests with hostile texts, of which the last one expects what is given.
func hostileTests(expectation string) string {
	text := hostile.JSON(hostile.Text)
	return "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ntests:\n- {name: " + text + ", request: {service: " + hostile.JSON("shop/"+strings.ReplaceAll(hostile.Text, "/", "%")) +
		", port: 80}, expect: {status: " + text + "}}\n- {name: b, request: {service: shop/cart2, port: 80, from: " + text + ", path: " + hostile.JSON("/"+hostile.Text) +
		", headers: {x: " + text + "}, serverName: " + text + "}" + expectation + "}\n"
}

// hostileGiven is what a proxy was given, with hostile texts, and a regular expression on the path.
func hostileGiven(expression string) string {
	text := hostile.JSON(hostile.Text)
	return `[{"name": "80", "virtualHosts": [{"name": ` + text + `, "domains": ["cart2.shop.svc.cluster.local", ` + text + `], "routes": [
{"match": {"path": ` + hostile.JSON("/"+hostile.Text) + `, "headers": [{"name": ` + text + `, "stringMatch": {"exact": ` + text + `}}], "queryParameters": [{"name": ` + text + `, "stringMatch": {"exact": ` + text + `}}]},
 "route": {"cluster": ` + text + `, "hostRewriteLiteral": ` + text + `}, "requestHeadersToAdd": [{"header": {"key": ` + text + `, "value": ` + text + `}}]},
{"match": {"safeRegex": {"regex": ` + hostile.JSON(expression) + `}}, "redirect": {"hostRedirect": ` + text + `, "pathRedirect": ` + text + `}},
{"match": {"prefix": "/"}, "directResponse": {"status": 418}}]}]}]`
}

// hostileCases are calls of every command that a user may run.
func hostileCases(root, evil string) []hostileCase {
	documents := hostile.Manifests(hostile.Text, hostile.Text, hostile.Text)
	live := []string{"--kubeconfig", plane.Kubeconfig}
	at := append(slices.Clone(live), "-n", "hostile")
	after := filepath.Join(root, "::add-mask::folder")
	all := slices.Concat[[]string]
	return []hostileCase{
		{command: "audit", args: all(at, []string{"--as-mode", "enforce"})},
		{command: "check", args: []string{root}},
		{command: "check", args: []string{"-f", root, "--complete"}},
		{command: "check", args: all(live, []string{"-f", root, "--cluster"})},
		{command: "check", args: []string{"-f", "-"}, stdin: documents},
		{command: "check", args: []string{"-k", filepath.Join(root, "built")}, fails: true},
		{command: "check", args: []string{"--helm", filepath.Join(root, "chart")}, fails: true},
		{command: "check", args: []string{"-f", evil}, fails: true},
		{command: "check", args: []string{"--" + evil}, fails: true},
		{command: "check", args: []string{"-f", root, "--config", evil}, fails: true},
		{command: "completion bash", quiet: true},
		{command: "completion fish", quiet: true},
		{command: "completion powershell", quiet: true},
		{command: "completion zsh", quiet: true},
		{command: "conflicts", args: []string{"-f", "-"}, stdin: documents, plain: true}, // it lists no route of such a name, and says so
		{command: "conflicts", args: at, quiet: true},
		{command: "describe", args: all(at, []string{"service/cart"})},
		{command: "describe", args: all(at, []string{"service/" + evil}), fails: true},
		{command: "describe", args: all(at, []string{"httproute/" + evil}), fails: true},
		{command: "detect-mesh", args: live, quiet: true},
		{command: "diff", args: []string{"--base", filepath.Join(root, "base"), "-f", after}},
		{command: "diff", args: []string{"--base", evil, "-f", after}, fails: true},
		{command: "diff", args: []string{"--base-ref", evil, "-f", after}, fails: true},
		{command: "explain", quiet: true},
		{command: "explain", args: []string{"no-catch-all"}, quiet: true},
		{command: "explain", args: []string{evil}, fails: true},
		{command: "graph", args: []string{"-f", "-"}, stdin: documents},
		{command: "graph", args: at, quiet: true},
		{command: "grants", args: at, quiet: true},
		{command: "grants list", args: all(live, []string{"-n", evil}), fails: true},
		{command: "grants list", args: at, quiet: true},
		{command: "grants request", args: all(live, []string{"-n", evil, "--role", "all", "--reason", "x"}), fails: true},
		{command: "lsp", args: []string{"--channel", evil}, fails: true},
		{command: "policy", args: []string{"--config", filepath.Join(filepath.Dir(root), "guard.yaml")}},
		{command: "policy", args: []string{"--config", evil}, fails: true},
		{command: "preflight", args: live, quiet: true},
		{command: "status clear", args: at, quiet: true},
		{command: "test", args: []string{filepath.Join(root, "a.gammaguard-test.yaml"), "-f", after}},
		{command: "test", args: []string{"--init", "-", "-f", after}, plain: true},
		{command: "test", args: []string{filepath.Join(root, "broken-test.yaml"), "-f", after}, fails: true},
		{command: "test", args: []string{"--mesh", evil}, fails: true},
		{command: "test", args: []string{evil}, fails: true},
		{command: "trace", args: []string{"service/cart.shop:80", "-f", after, "--complete", "--path", "/?q=x", "-H", "tenant: x"}},
		{command: "trace", args: all(at, []string{"service/cart:80", "--cluster", "--path", "/?q=x", "-H", "tenant: x"})},
		{command: "trace", args: []string{"service/" + evil + ":80", "-f", after}, fails: true},
		{command: "verify", args: []string{filepath.Join(root, "given.json"), "--from", "shop", "-f", after}},
		{command: "verify", args: []string{filepath.Join(root, "foreign.json"), "--from", "shop", "-f", after}, fails: true},
		{command: "verify", args: []string{evil, "-f", after}, fails: true},
		{command: "verify", args: []string{"-", "--from", evil, "-f", after}, stdin: hostileGiven("/x")},
		{command: "version", quiet: true},
	}
}

// TestHostileText prints what others wrote by every command in every format. A command or
// a format without a case fails it.
func TestHostileText(t *testing.T) {
	kubectl(t, stored(), "apply", "-f", "-")
	t.Cleanup(func() {
		if _, complaint, err := plane.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "namespace", "hostile", "hostile-asks", "--wait=false"); err != nil {
			t.Error(err, complaint)
		}
	})
	root := hostileFolder(t)
	cases := hostileCases(root, strings.NewReplacer("/", "%", "\x00", "").Replace(hostile.Text))
	tree := command.New("gammaguard", genericiooptions.NewTestIOStreamsDiscard())
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "gammaguard ")
		formats := formatsOf(cmd)
		tried := false
		for _, c := range cases {
			if c.command != path {
				continue
			}
			tried = true
			for _, format := range formats {
				if format == "" || !c.plain {
					printHostile(t, &c, format)
				}
			}
		}
		if parent := cmd.HasSubCommands() && path != "grants"; !tried && !parent && path != "help" {
			t.Errorf("%s has no case", path)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(tree)
	requested := hostileCase{command: "grants list", args: []string{"--kubeconfig", plane.Kubeconfig, "-A", "--requested"}}
	printHostile(t, &requested, "")
}

// runBare is run, without a flag that only commands for a cluster have.
func runBare(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if slices.Contains(args, "--kubeconfig") {
		return run(t, stdin, args...)
	}
	var out, complaint bytes.Buffer
	code = command.Main(append([]string{"gammaguard"}, args...), strings.NewReader(stdin), &out, &complaint)
	return code, out.String(), complaint.String()
}

// formatsOf returns the formats of a command, and "" for none.
func formatsOf(cmd *cobra.Command) []string {
	formats := []string{""}
	if complete, found := cmd.GetFlagCompletionFunc("output"); found {
		words, _ := complete(cmd, nil, "")
		formats = append(formats, words...)
	}
	return formats
}

// quotedForms are forms in which an escape of the texts is printed.
var quotedForms = []string{`\x1b`, `\u001b`, `\e`, `\u202e`, "#92;u202e", "%1B", `\\x1b`, `#\x23`, `#\\x23`}

// printHostile runs the command, and looks at what it prints.
func printHostile(t *testing.T, c *hostileCase, format string) {
	t.Helper()
	args := append(strings.Fields(c.command), c.args...)
	if format != "" {
		args = append(args, "-o", format)
	}
	code, stdout, stderr := runBare(t, c.stdin, args...)
	failed := func(problem string, args ...any) {
		t.Helper()
		t.Errorf("%s -o %s %.60q: %s\nstdout %.2000q\nstderr %.2000q", c.command, format, c.args, fmt.Sprintf(problem, args...), stdout, stderr)
	}
	if err := hostile.Check(format, stdout); err != nil && (!c.fails || stdout != "") {
		failed("stdout: %v", err)
	}
	if err := hostile.Check("", stderr); err != nil {
		failed("stderr: %v", err)
	}
	if (code == command.ExitUsage) != c.fails {
		failed("exit code %d", code)
	}
	if shows := slices.ContainsFunc(quotedForms, func(form string) bool { return strings.Contains(stdout+stderr, form) }); !shows && !c.quiet {
		failed("nothing of the others' text")
	}
	switch {
	case c.fails || c.quiet:
	case c.command == "policy": // whose texts are strings of CEL
	case (format == "json" || format == "yaml") && c.command != "trace" && c.command != "audit": // which have messages alone
		keeps(t, failed, stdout, format)
	case format == "markdown":
		paste(t, stdout)
	}
}

// keeps looks for a text as it was written in the data of an output.
func keeps(t *testing.T, failed func(string, ...any), out, format string) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(out), &value); err != nil { // JSON is YAML, but for its surrogates
		failed("%s: %v", format, err)
	}
	if !strings.Contains(fmt.Sprint(value), "\x1b]0;pwned\a\x1b[2J\n::add-mask::forged\r\n##vso[") {
		failed("the data do not hold the text as it was written")
	}
}

// paste runs the examples of a comment as who pastes them does, but for the program.
func paste(t *testing.T, markdown string) {
	t.Helper()
	examples := hostile.Examples(markdown)
	if len(examples) == 0 {
		t.Errorf("no examples in %s", markdown)
	}
	folder := t.TempDir()
	for _, example := range examples {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "true "+example)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", example, err, out)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("an example ran: %v %v", left, err)
	}
}
