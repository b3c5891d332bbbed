package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/traffic"
)

const trafficFolder = "testdata/traffic"

// console is a block of a page that shows a command and what it prints.
var console = regexp.MustCompile("(?s)```console\n\\$ (.*?[^\\\\])\n(.*?)```\n")

// TestTrafficPage runs the commands that docs/traffic.md shows.
func TestTrafficPage(t *testing.T) { playPage(t, "traffic.md", 4) }

// TestTestingPage runs the commands that docs/testing.md shows, on the file of tests that it shows.
func TestTestingPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join(trafficFolder, "tests", "cart.gammaguard-test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```yaml\n"+string(tests)+"```\n") {
		t.Error("docs/testing.md does not show the file of tests as it is")
	}
	playPage(t, "testing.md", 4)
}

// playPage runs the commands that a page shows, in the folder of its examples; -update writes what they print.
func playPage(t *testing.T, name string, least int) {
	t.Helper()
	page, err := filepath.Abs("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(trafficFolder)
	commands := 0
	after := console.ReplaceAllStringFunc(string(before), func(block string) string {
		commands++
		command := console.FindStringSubmatch(block)[1]
		got := run(t, "", words(t, command)[1:]...)
		if got.stderr != "" {
			t.Errorf("%s: %s", command, got.stderr)
		}
		return "```console\n$ " + command + "\n" + got.stdout + "```\n"
	})
	if commands < least {
		t.Errorf("only %d commands are shown", commands)
	}
	if *update {
		if err := os.WriteFile(page, []byte(after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(before), after); diff != "" {
		t.Errorf("(-page +commands), -update writes it anew\n%s", diff)
	}
}

// TestReadmeDiff: the README shows the traffic of the comment that docs/traffic.md shows, of which it leaves out rows
// and says so; -update writes it.
func TestReadmeDiff(t *testing.T) {
	page, err := filepath.Abs("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(trafficFolder)
	comment, _, cut := strings.Cut(run(t, "", "diff", "--base", "main", "-f", "change", "-o", "markdown").stdout, "\n### new findings")
	if !cut {
		t.Fatal("the comment has no new findings")
	}
	comment = strings.ReplaceAll(comment, "\n### ", "\n") // headings would be the README's
	rows := strings.SplitAfter(comment, "\n")
	first := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| `") })
	if len(rows) != first+7 {
		t.Fatalf("the comment has other rows:\n%s", comment)
	}
	comment = strings.Join(slices.Replace(rows, first+2, first+5, "| ... | ... | ... | ... |\n"), "")
	comment += "\nThe rows at `...`, and the list of new findings, which follows in the comment, are left out here.\n"
	const begin, end = "<!-- diff: written by internal/cli/command.TestReadmeDiff -update -->\n", "<!-- end of diff -->\n"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("README.md has no part for the comment")
	}
	want := before + begin + "\n" + comment + "\n" + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("-update writes it anew (-want +got)\n%s", diff)
	}
}

// words splits a command as a shell does.
func words(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+command).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// TestDiffExitCodes: 0 for no change, 1 for changes, 2 for wrong use.
func TestDiffExitCodes(t *testing.T) {
	t.Chdir(trafficFolder)
	for _, test := range []struct {
		args string
		want int
	}{
		{"--base main -f main", ExitClean},
		{"--base main -f change", ExitFindings},
		{"--base main -f change -o json", ExitFindings},
		{"--base main -f change -o markdown", ExitFindings},
		{"--base main ./main", ExitClean},
		{"--base main change", ExitFindings},
		{"change", ExitUsage},
		{"--base main --base change ./change", ExitUsage},
		{"--base main -f change ./change", ExitUsage},
		{"--base main -f none", ExitUsage},
	} {
		if got := run(t, "", append([]string{"diff"}, strings.Fields(test.args)...)...); got.code != test.want {
			t.Errorf("%s: want %d, got %+v", test.args, test.want, got)
		}
	}
}

// TestDiffJSON: each change has a witness, of which trace says the same.
func TestDiffJSON(t *testing.T) {
	t.Chdir(trafficFolder)
	var diff struct {
		APIVersion, Kind string
		Ports            []struct {
			Changes []struct {
				Before, After traffic.Outcome
				Witness       struct{ Arguments string }
			}
		}
		NewFindings report.CheckReport
	}
	decodeJSON(t, run(t, "", "diff", "--base", "main", "-f", "change", "-o", "json"), &diff)
	if diff.APIVersion != report.APIVersion || diff.Kind != report.DiffKind || len(diff.Ports) != 1 || len(diff.Ports[0].Changes) != 6 {
		t.Fatalf("%+v", diff)
	}
	for _, change := range diff.Ports[0].Changes {
		witness := change.Witness.Arguments
		for folder, want := range map[string]traffic.Outcome{"main": change.Before, "change": change.After} {
			var trace struct {
				APIVersion, Kind string
				Outcome          traffic.Outcome
			}
			decodeJSON(t, run(t, "", append([]string{"trace", "-f", folder, "-o", "json"}, words(t, witness)...)...), &trace)
			if got, want := trace.Outcome.Text(""), want.Text(""); got != want || trace.Kind != report.TraceKind || trace.APIVersion != report.APIVersion {
				t.Errorf("%s in %s: trace says %s, diff %s", witness, folder, got, want)
			}
		}
	}
	if routes := diff.NewFindings.Routes; len(routes) != 1 || len(routes[0].Findings) != 2 || routes[0].Findings[0].Rule != "producer-routes-replaced" || routes[0].Findings[1].Rule != "no-catch-all" {
		t.Errorf("new findings: %+v", routes)
	}
}

func decodeJSON(t *testing.T, r result, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), into); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
}

// commit makes a repository of the working directory, and commits all in it.
func commit(t *testing.T) {
	t.Helper()
	for _, args := range []string{"init --quiet", "add .", "-c user.name=a -c user.email=a@example.com commit --quiet -m first"} {
		if out, err := exec.CommandContext(t.Context(), "git", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

// TestTraceOfWhatIsNotThere: clear errors, and the exit code 2.
func TestTraceOfWhatIsNotThere(t *testing.T) {
	t.Chdir(trafficFolder)
	const (
		other  = "{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: faces}, spec: {ports: [{port: 80}]}}"
		itself = "; no route of the input has it as a parent, so requests reach the Service itself, if it exists"
	)
	for args, want := range map[string]string{
		"service/cart.bank:80 --from faces -f main": "Service bank/cart is not in the input; add it, or use --cluster; did you mean Service shop/cart?" + itself,
		"service/none:80 -f main":                   "Service none is not in the input; add it, or use --cluster",
		"service/cart:80 -n other -f main":          "Service other/cart is not in the input; add it, or use --cluster; did you mean Service shop/cart?" + itself,
		"service/cart:80 -f main -f -":              "Service cart is in namespaces faces, shop: specify one with --namespace",
		"service/cart:81 -f main":                   "Service shop/cart has no port 81: its ports are 80 (http)",
		"service/none.shop:80 -f main --complete":   "Service shop/none does not exist",
	} {
		got := run(t, other, append([]string{"trace"}, strings.Fields(args)...)...)
		if got.code != ExitUsage || got.stdout != "" || got.stderr != "error: "+want+"\n" {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// TestTraceAssumes: trace takes the example of diff, whose Service is not in the input; a test does not pass by an assumption.
func TestTraceAssumes(t *testing.T) {
	t.Chdir(t.TempDir())
	const manifests = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, " +
		"spec: {parentRefs: [{group: \"\", kind: Service, name: cart}], rules: [{backendRefs: [{name: BACKEND, port: 80}]}]}}\n"
	put(t, "before/a.yaml", strings.Replace(manifests, "BACKEND", "v1", 1))
	put(t, "after/a.yaml", strings.Replace(manifests, "BACKEND", "v2", 1))
	got := run(t, "", "diff", "--base", "before", "-f", "after", "-o", "markdown")
	_, example, found := strings.Cut(got.stdout, "| `service/")
	example, _, _ = strings.Cut(example, "`")
	if !found {
		t.Fatalf("%+v", got)
	}
	const note = "note: Service shop/cart is not in the input: it is assumed to have the ports that routes name\n"
	for _, args := range []string{"service/" + example, "cart:80", "cart.shop:8080"} {
		got := run(t, "", append([]string{"trace", "-f", "after"}, strings.Fields(args)...)...)
		if got.code != ExitClean || !strings.Contains(got.stdout, "Service v2:80 100 %") || strings.Count(got.stdout, note) != 1 {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := run(t, "", "trace", "cart:80", "-f", "after", "--complete"); got.code != ExitUsage || !strings.Contains(got.stderr, "Service shop/cart does not exist") {
		t.Errorf("complete: %+v", got)
	}
	put(t, "after/gammaguard-test.yaml", "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\n"+
		"tests: [{name: a, request: {service: shop/cart, port: 80}, expect: {backend: v2:80}}]\n")
	if got := run(t, "", "test"); got.code != ExitFindings || !strings.Contains(got.stdout, "Service shop/cart is not in the input") {
		t.Errorf("test: %+v", got)
	}
}

// TestTraceByConfiguration: routes of kinds that the mesh does not implement and of
// namespaces without a grant have no effect, and mutations are applied first.
func TestTraceByConfiguration(t *testing.T) {
	configuration := filepath.Join(t.TempDir(), "guard.yaml")
	if err := os.WriteFile(configuration, []byte("apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nrouteKinds: [HTTPRoute]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const manifests = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: faces}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}], rules: [{backendRefs: [{name: cart}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: b, namespace: shop}, spec: {parentRefs: [{kind: Service, name: cart}], rules: [{backendRefs: [{name: cart}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: c, namespace: faces}, spec: {parentRefs: [{kind: Service, namespace: shop, name: cart}]}}
`
	const want = `HTTPRoute shop/a rule[0] match[0]  (consumer of faces: none; producer)
  → Service cart:80 100 %
not taken: HTTPRoute faces/c: namespace faces lacks the consumer grant for HTTPRoute
not taken: GRPCRoute shop/b: the mesh does not implement GRPCRoute, according to routeKinds in the configuration
`
	if got := run(t, manifests, "trace", "service", "cart", "--from", "faces", "-f", "-", "--config", configuration); got.stdout != want {
		t.Errorf("in two words: %+v", got)
	}
	got := run(t, manifests, "trace", "service/cart:80", "--from", "faces", "-f", "-", "--config", configuration)
	if diff := cmp.Diff(result{ExitClean, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	_, manifests2, _ := strings.Cut(manifests, "---\n")
	_, manifests2, _ = strings.Cut(manifests2, "---\n")
	if got := run(t, manifests2, "trace", "service/cart:80", "-f", "-"); !strings.Contains(got.stdout, "note: namespace shop is not in the input: it is assumed to have the grant\n") {
		t.Errorf("%+v", got)
	}
}

// TestDiffFindsWhatWasUnknown: a denial is new if the base could not be judged.
func TestDiffFindsWhatWasUnknown(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
`
	folder := written(t, map[string]string{"before/web.yaml": route, "after/web.yaml": route, "after/namespace.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n"})
	got := run(t, "", "diff", "--base", filepath.Join(folder, "before"), "-f", filepath.Join(folder, "after"))
	if !strings.Contains(got.stdout, "\n\nnew findings:\n") || !strings.Contains(got.stdout, "namespace shop lacks the producer grant for HTTPRoute; ask") {
		t.Errorf("%+v", got)
	}
}
