package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTestExitCodes: 0 if all tests pass, 1 if one fails, 2 for wrong use or input.
func TestTestExitCodes(t *testing.T) {
	t.Chdir(trafficFolder)
	for _, test := range []struct {
		args, stderr string
		want         int
	}{
		{args: "", want: ExitClean},
		{args: "tests/*.yaml -o json", want: ExitClean},
		{args: "--mesh istio@1.31,istio", want: ExitClean},
		{args: "-f change", want: ExitFindings},
		{args: "-f change -o sarif", want: ExitFindings},
		{args: "main", want: ExitUsage, stderr: "error: no file named gammaguard-test.yaml or *.gammaguard-test.yaml (or .yml) in main; to write one from today's routes, use --init\n"},
		{args: "main/cart.yaml", want: ExitUsage, stderr: "error: main/cart.yaml:1: apiVersion and kind must be gammaguard.dev/v1alpha1 and TrafficTest\n"},
		{args: "-", want: ExitUsage, stderr: "error: tests cannot be read from standard input; specify files\nSee 'gammaguard test --help' for usage\n"},
		{args: "-f none", want: ExitUsage, stderr: "error: none: no such file or directory\n"},
		{args: "--mesh consul", want: ExitUsage, stderr: "error: invalid argument \"consul\" for \"--mesh\" flag: must be one of cilium, istio, kuma, linkerd, alone or with a version, as in kuma@2.13\nSee 'gammaguard test --help' for usage\n"},
		{args: "-f - --mesh istio,kuma", want: ExitUsage, stderr: "error: standard input can be read only once\nSee 'gammaguard test --help' for usage\n"},
		{args: "--build-timeout -1s", want: ExitUsage, stderr: "error: --build-timeout must be longer than 0s\nSee 'gammaguard test --help' for usage\n"},
		{args: "--init a b", want: ExitUsage, stderr: "error: --init writes one file\nSee 'gammaguard test --help' for usage\n"},
		{args: "--init --mesh istio,kuma", want: ExitUsage, stderr: "error: --init takes one mesh at most\nSee 'gammaguard test --help' for usage\n"},
		{args: "--init -o json", want: ExitUsage, stderr: "error: --init cannot be used with -o\nSee 'gammaguard test --help' for usage\n"},
		{args: "--init tests/cart.gammaguard-test.yaml -f main", want: ExitUsage, stderr: "error: tests/cart.gammaguard-test.yaml exists, and is not overwritten; remove it, or specify another file\n"},
		{args: "--init new/ -f main", want: ExitUsage, stderr: "error: new/gammaguard-test.yaml: the directory new does not exist\n"},
		{args: "--init a/b/c.yaml -f main", want: ExitUsage, stderr: "error: a/b/c.yaml: the directory a/b does not exist\n"},
		{args: "--init -f tests", want: ExitUsage, stderr: "error: there are no routes on Services in the input, so there is nothing to test\n"},
	} {
		if got := run(t, "", append([]string{"test"}, strings.Fields(test.args)...)...); got.code != test.want || got.stderr != test.stderr {
			t.Errorf("%s: want %d, got %+v", test.args, test.want, got)
		}
	}
	const alone = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}]}}"
	const missing = "error: there is nothing to test: these Services of routes are not in the input: Service shop/cart; add them to it\n"
	if got := run(t, alone, "test", "--init", "-", "-f", "-"); got.code != ExitUsage || !strings.HasSuffix(got.stderr, missing) {
		t.Errorf("%+v", got)
	}
}

// TestTestShortNames: the only Service of a name is meant also where -n names the namespace of objects without one, which comes first where there are two.
func TestTestShortNames(t *testing.T) {
	const service = "{apiVersion: v1, kind: Service, metadata: {name: scores, namespace: sports}, spec: {ports: [{port: 80}]}}\n"
	t.Chdir(written(t, map[string]string{
		"m.yaml": service,
		"gammaguard-test.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: {files: [m.yaml]}\n" +
			"tests:\n- {name: a, request: {service: scores, port: 80}, expect: {backend: scores:80}}\n",
	}))
	for _, args := range [][]string{{"test"}, {"test", "-n", "games"}} {
		if got := run(t, "", args...); got.code != ExitClean {
			t.Errorf("%q: %+v", args, got)
		}
	}
	put(t, "m.yaml", service+"---\n"+strings.ReplaceAll(service, "namespace: sports", "namespace: play")+"---\n"+strings.ReplaceAll(service, ", namespace: sports", ""))
	if got := run(t, "", "test", "-n", "games"); got.code != ExitClean {
		t.Errorf("one is in that namespace: %+v", got)
	}
	put(t, "m.yaml", service)
	if got := run(t, "", "trace", "scores:80", "-n", "games", "-f", "m.yaml"); got.code != ExitUsage || !strings.Contains(got.stderr, "Service games/scores is not in the input") || !strings.Contains(got.stderr, "did you mean Service sports/scores?") {
		t.Errorf("trace asks for that of the namespace: %+v", got)
	}
}

// TestTestInitEscaped: on standard output too, the tests have values of which a part is escaped there.
func TestTestInitEscaped(t *testing.T) {
	t.Chdir(written(t, map[string]string{"web.yaml": `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{matches: [{headers: [{name: deck, value: "a##[b]"}]}], backendRefs: [{name: web, port: 80}]}]}}
`}))
	wrote := run(t, "", "test", "--init", "-", "-f", "web.yaml")
	if wrote.code != ExitClean || strings.Contains(wrote.stdout, "##") {
		t.Fatalf("%+v", wrote)
	}
	put(t, "gammaguard-test.yaml", wrote.stdout)
	if got := run(t, "", "test", "-f", "web.yaml"); got.code != ExitClean || !strings.Contains(got.stdout, "2 passed") {
		t.Errorf("%+v\n%s", got, wrote.stdout)
	}
}

// TestTestInitUnmet: a route that no test meets is named, with the reason.
func TestTestInitUnmet(t *testing.T) {
	t.Chdir(written(t, map[string]string{"web.yaml": `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}}
`}))
	const want = "note: no test meets HTTPRoute shop/web: namespace shop lacks the producer grant for HTTPRoute\n"
	if got := run(t, "", "test", "--init"); got.code != ExitClean || !strings.HasSuffix(got.stderr, want) {
		t.Errorf("%+v", got)
	}
}

// TestTestInit: in a folder of manifests, two commands without flags write tests and run them.
func TestTestInit(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(trafficFolder, "change"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	const beside = "note: no cluster has the kind TrafficTest: to run kubectl apply -f on the directory of these manifests, move the tests to another one, " +
		"and name the manifests there, in the field input or with -f\n"
	want := result{stdout: "Wrote 6 tests to gammaguard-test.yaml. To run: gammaguard test gammaguard-test.yaml\n", stderr: beside}
	if diff := cmp.Diff(want, run(t, "", "test", "--init"), cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
	if got := run(t, "", "test", "--init", "-f", ".", t.TempDir()); got.code != ExitUsage || !strings.Contains(got.stderr, "cannot name the manifests") {
		t.Errorf("a directory: %+v", got)
	}
	if got := run(t, "", "test", "--init", "."); got.stderr != "error: gammaguard-test.yaml exists, and is not overwritten; remove it, or specify another file\n" {
		t.Errorf("a directory with tests: %+v", got)
	}
	if got := run(t, "", "test"); got.code != ExitClean || !strings.HasSuffix(got.stdout, "6 tests in 1 file: 6 passed\n") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "", "check", "--strict"); got.code != ExitClean {
		t.Errorf("check does not leave the tests alone: %+v", got)
	}
	if got := run(t, "", "test", "--init", "istio.gammaguard-test.yaml", "--mesh", "istio"); got.code != ExitClean {
		t.Errorf("%+v", got)
	}
	if err := os.Mkdir("tests", 0o700); err != nil {
		t.Fatal(err)
	}
	for args, noted := range map[string]bool{"one.gammaguard-test.yaml -f cart.yaml -f services.yaml": true, "tests -f .": false, "tests/one.gammaguard-test.yaml -f cart.yaml -f services.yaml": false} {
		if got := run(t, "", append([]string{"test", "--init"}, strings.Fields(args)...)...); strings.Contains(got.stderr, beside) != noted {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if err := errors.Join(os.RemoveAll("tests"), os.Remove("one.gammaguard-test.yaml")); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "test", "--mesh", "istio,kuma"); !strings.Contains(got.stdout, "istio  kuma  test\npass   skip  ") {
		t.Errorf("%+v", got)
	}
	if err := os.Remove("mock.yaml"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "", "test", "gammaguard-test.yaml"); got.code != ExitFindings || !strings.HasSuffix(got.stdout, "6 tests in 1 file: 5 passed, 1 failed\n") {
		t.Errorf("%+v", got)
	}
}

// TestTestNamespace: the commands that are printed carry -n, without which they fail.
func TestTestNamespace(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	const route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart}, spec: {parentRefs: [{group: \"\", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: BACKEND, port: 80}]}]}}\n---\n" +
		"{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}\n"
	write := func(backend string) {
		t.Helper()
		if err := os.WriteFile("cart.yaml", []byte(strings.Replace(route, "BACKEND", backend, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	printed := func(got result, start string) []string {
		t.Helper()
		_, after, found := strings.Cut(got.stdout, start+"gammaguard ")
		if !found {
			t.Fatalf("%+v", got)
		}
		command, _, _ := strings.Cut(after, "\n")
		if !strings.HasSuffix(command, " -n shop") {
			t.Errorf("%q has no -n", command)
		}
		return strings.Fields(strings.ReplaceAll(command, "'", ""))
	}
	write("cart")
	again := printed(run(t, "", "test", "--init", "-n", "shop"), "To run: ")
	if got := run(t, "", again...); got.code != ExitClean {
		t.Errorf("%+v", got)
	}
	write("other")
	trace := printed(run(t, "", again...), "to see why, run ")
	if got := run(t, "", trace...); got.code != ExitClean || !strings.Contains(got.stdout, "shop/other") {
		t.Errorf("%q: %+v", trace, got)
	}
}

// TestTestAgain: the command that is printed for a failed test judges as the test does, under the mesh and by the configuration of it.
func TestTestAgain(t *testing.T) {
	t.Chdir(written(t, map[string]string{
		"guard.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: GuardConfiguration\nmesh: linkerd\n",
		"web.yaml": `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web, port: 80}], rules: [
  {filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, port: 80}}}], backendRefs: [{name: web, port: 80}]}]}}
`,
		"gammaguard-test.yaml": `apiVersion: gammaguard.dev/v1alpha1
kind: TrafficTest
tests:
- {name: web, request: {service: shop/web, port: 80}, expect: {status: 404}}
`,
	}))
	const why = "Linkerd drops the whole route because of a RequestMirror filter"
	for _, flags := range [][]string{{"--mesh", "linkerd"}, {"--config", "guard.yaml"}, {"--mesh", "linkerd", "--channel", "experimental", "--complete"}} {
		got := run(t, "", append([]string{"test"}, flags...)...)
		_, command, found := strings.Cut(got.stdout, "to see why, run gammaguard ")
		command, _, _ = strings.Cut(command, "\n")
		if got := run(t, "", strings.Fields(strings.ReplaceAll(command, "'", ""))...); !found || !strings.HasSuffix(command, strings.Join(flags, " ")) || got.code != ExitClean || !strings.Contains(got.stdout, why) {
			t.Errorf("%v: %q: %+v", flags, command, got)
		}
	}
}

// TestTestOfBrokenInput: tests of an input that cannot be built fail with the reason, and the others run.
func TestTestOfBrokenInput(t *testing.T) {
	deployed(t)
	const tests = "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: {kustomization: .}\ntests:\n- {name: cart, request: {service: shop/cart, port: 80}, expect: {backend: cart-v1:80}}\n"
	put(t, "prod/gammaguard-test.yaml", tests)
	put(t, "test/gammaguard-test.yaml", tests)
	put(t, "prod/kustomization.yaml", "resources: [nope.yaml]\n")
	got := run(t, "", "test")
	if got.code != ExitFindings || !strings.Contains(got.stdout, "resources: nope.yaml does not exist") || !strings.Contains(got.stdout, "1 passed, 1 failed") || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

// TestTestOfWrongInput: an input that cannot be read is an error at the line of its field.
func TestTestOfWrongInput(t *testing.T) {
	for input, want := range map[string]string{
		"{files: [a.yaml], kustomization: x}": ":3: input: exactly one of files, kustomization, and chart is required",
		"\n  files:\n  - a.yaml\n  - /b.yaml": ":6: input.files[1]: /b.yaml must be relative to the directory of this file",
	} {
		folder := written(t, map[string]string{"a.gammaguard-test.yaml": "apiVersion: gammaguard.dev/v1alpha1\nkind: TrafficTest\ninput: " + input +
			"\ntests:\n- {name: cart, request: {service: shop/cart, port: 80}, expect: {backend: cart-v1:80}}\n"})
		if got := runIn(t, folder, "test", "a.gammaguard-test.yaml"); got.code != ExitUsage || got.stderr != "error: a.gammaguard-test.yaml"+want+"\n" {
			t.Errorf("%s: %+v", input, got)
		}
	}
}
