package expect_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/expect"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/conformance"
	"github.com/gammaguard/gammaguard/test/hostile"
)

func TestMain(m *testing.M) {
	build.Main()
	os.Exit(m.Run())
}

// over are options with the input of files, and no mesh unless a test names one.
func over(files ...string) *expect.Options {
	return &expect.Options{
		Input: check.Options{Files: files, Channel: definitions.Experimental}, Given: len(files) > 0,
		Configuration: func(name string) (*config.GuardConfiguration, error) {
			return config.Default(config.WithMesh(mesh.ProfileName(name))), nil
		},
	}
}

// written returns the text that --init writes, for a mesh.
func written(t *testing.T, options *expect.Options, name, meshName string) (text []byte, tests int) {
	t.Helper()
	input := options.Input
	input.Config, _ = options.Configuration(meshName)
	now, err := check.LoadTraffic(t.Context(), &input)
	if err != nil {
		t.Fatal(err)
	}
	text, tests, _, err = expect.Write(&input, now, name, meshName)
	if err != nil {
		t.Fatal(err)
	}
	return text, tests
}

// write writes files to a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestWrittenPasses: all tests that --init writes pass by the same routes, under every mesh, whatever is in them.
func TestWrittenPasses(t *testing.T) {
	ofGateway := conformance.Dir(t)
	inputs := map[string][]string{
		"shop": {"../../../examples/shop"}, "traffic": {"../command/testdata/traffic/change"},
		"conformance": {filepath.Join(ofGateway, "tests", "mesh"), filepath.Join(ofGateway, "mesh")},
		"hostile":     {write(t, map[string]string{"a.yaml": hostile.Manifests("shop", "cart", hostile.Text)})},
		"filters":     {write(t, map[string]string{"a.yaml": filters})},
		"prefixes":    {write(t, map[string]string{"a.yaml": prefixes})},
		"again":       {write(t, map[string]string{"a.yaml": again})},
	}
	for name, folders := range inputs {
		at := folders[0]
		if len(folders) > 1 {
			at = ofGateway
		}
		for _, meshName := range append(expect.Meshes(), "") {
			text, tests := written(t, over(folders...), filepath.Join(at, expect.FileName), meshName)
			f, err := expect.Decode(expect.FileName, text)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			r, err := expect.Run(t.Context(), over(folders...), []*expect.File{f})
			if err != nil {
				t.Fatal(err)
			}
			if want := (report.TestSummary{Files: 1, Tests: tests, Passed: tests}); r.Summary != want || tests == 0 {
				t.Errorf("%s %s: %s", name, meshName, &r.Summary)
				for _, result := range r.Results {
					if result.Result != report.Pass {
						t.Errorf("%+v", result.Failures)
					}
				}
			}
		}
	}
}

// prefixes is a route that replaces prefixes, of which Istio joins one in its own way, and Cilium the other.
const prefixes = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  rules:
  - filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]
    backendRefs: [{name: cart, port: 80}]
  - matches: [{path: {value: /old/}}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}]
    backendRefs: [{name: cart, port: 80}]
`

// again is a route that names a backend several times, and backends that fail for two reasons.
const again = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  rules:
  - matches: [{path: {value: /twice}}]
    backendRefs: [{name: cart, port: 80, weight: 95}, {name: cart, port: 80, weight: 5}]
  - backendRefs:
    - {name: cart, port: 80, weight: 6}
    - {name: cart, port: 80, weight: 2, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: x, value: "1"}]}}]}
    - {name: cart, port: 81, weight: 3}
    - {group: example.com, kind: Bucket, name: cart}
    - {name: cart, port: 80, weight: 1}
`

// filters are routes with all that a filter can do, of which each test below changes one part.
const filters = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {ports: [{port: 80}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{group: "", kind: Service, name: cart}]
  rules:
  - matches: [{path: {value: /split}}]
    backendRefs:
    - {name: cart, port: 80, weight: 2}
    - {name: other, port: 81, weight: 1, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: X-Other, value: "1"}]}}]}
  - matches: [{path: {value: /all}, queryParams: [{name: q, value: "a b"}], headers: [{name: Host, value: example.org}]}]
    filters:
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Version, value: "2"}], remove: [x-debug]}}
    - {type: RequestMirror, requestMirror: {backendRef: {name: cart, port: 80}, percent: 50}}
    - {type: URLRewrite, urlRewrite: {hostname: inside.example, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}
    timeouts: {request: 10s, backendRequest: 2s}
    backendRefs: [{name: cart, port: 80}]
  - matches: [{path: {value: /moved}}]
    filters: [{type: RequestRedirect, requestRedirect: {scheme: https, statusCode: 301}}]
`

// TestWrittenFails: whatever part of a route changes, a test that --init wrote fails and says so.
func TestWrittenFails(t *testing.T) {
	folder := write(t, map[string]string{"a.yaml": filters})
	text, _ := written(t, over(folder), filepath.Join(folder, expect.FileName), "")
	f, err := expect.Decode(expect.FileName, text)
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]string{
		"weight: 2 → weight: 3":                   "want cart:80 66.67 %, other:81 33.33 % [response header x-other added \"1\"], got cart:80 75 %, other:81 25 % [response header x-other added \"1\"]",
		"X-Other → x-another":                     "want cart:80 66.67 %, other:81 33.33 % [response header x-other added \"1\"], got cart:80 66.67 %, other:81 33.33 % [response header x-another added \"1\"]",
		`X-Version, value: "2" → X-V, value: "2"`: `request header x-v set to "2"; request header x-debug removed; host rewritten to inside.example`,
		"percent: 50 → percent: 51":               "mirrored to cart:80 51 %",
		"inside.example → outside.example":        "host rewritten to outside.example",
		"request: 10s → request: 11s":             "timeout 11s",
		"statusCode: 301 → statusCode: 302":       "want redirect 301 to https://cart.shop/moved, got redirect 302 to https://cart.shop/moved",
		"scheme: https, → ":                       "want redirect 301 to https://cart.shop/moved, got redirect 301 to http://cart.shop/moved",
		"value: /moved → value: /elsewhere":       "want redirect 301 to https://cart.shop/moved, got 404 (no rule matches)",
		"name: cart, namespace: shop}\nspec:\n → name: cart2, namespace: shop}\nspec:\n":                                         "want HTTPRoute shop/cart to decide, got HTTPRoute shop/cart2",
		"kind: Service, metadata: {name: cart, → kind: Service, metadata: {name: gone,":                                          "Service shop/cart is not in the input; add it, or use --cluster",
		"- matches: [{path: {value: /moved}}] → - backendRefs: [{name: cart, port: 80}]\n  - matches: [{path: {value: /moved}}]": "want 404, got cart:80 100 %",
	} {
		before, after, _ := strings.Cut(change, " → ")
		if !strings.Contains(filters, before) {
			t.Fatalf("%q is not there", before)
		}
		changed := write(t, map[string]string{"a.yaml": strings.Replace(filters, before, after, 1)})
		r, err := expect.Run(t.Context(), over(changed), []*expect.File{f})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, result := range r.Results {
			got = append(got, result.Failures...)
		}
		if r.Summary.Failed == 0 || !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%s: %s\ngot  %s\nwant %s", change, &r.Summary, strings.Join(got, "\n     "), want)
		}
	}
}

// TestRedirects: of a redirect, what is set is compared.
func TestRedirects(t *testing.T) {
	folder := write(t, map[string]string{"a.yaml": filters})
	const is = ", got redirect 301 to https://cart.shop/moved"
	for wants, want := range map[string]string{
		"redirect: {status: 301}": "", "redirect: {location: 'https://cart.shop/moved'}": "",
		"redirect: {status: 302}":                         "want redirect 302" + is,
		"redirect: {location: 'https://x/'}":              "want redirect to https://x/" + is,
		"redirect: {status: 301, location: 'https://x/'}": "want redirect 301 to https://x/" + is,
		"status: 301": "want 301, got redirect 301 to https; to expect it, write redirect: {status: 301}",
		"status: 302": "want 302, got redirect 301 to https",
	} {
		f, err := expect.Decode(expect.FileName, []byte(header+"tests:\n- {name: a, request: {service: shop/cart, port: 80, path: /moved}, expect: {"+wants+"}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := expect.Run(t.Context(), over(folder), []*expect.File{f})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.Results[0].Failures, "\n"); got != want {
			t.Errorf("%s: got %q, want %q", wants, got, want)
		}
	}
}

// TestMeshes: each test runs under each mesh that it is meant for. Linkerd drops a route with such filters.
func TestMeshes(t *testing.T) {
	const tests = header + `tests:
- {name: any, request: {service: shop/cart, port: 80}, expect: {status: 404}}
- {name: istio, meshes: [istio], request: {service: shop/cart, port: 80}, expect: {status: 404}}
`
	folder := write(t, map[string]string{"a.yaml": filters, "gammaguard-test.yaml": tests})
	for meshes, want := range map[string][]string{
		"":              {"any  pass", "istio istio pass"}, //nolint:dupword // a test and its mesh
		"istio@1.28":    {"any istio@1.28 pass", "istio istio@1.28 pass"},
		"istio linkerd": {"any istio pass", "any linkerd fail", "istio istio pass", "istio linkerd skip"}, //nolint:dupword // a test and its mesh
	} {
		files, _, err := expect.Find([]string{folder})
		if err != nil {
			t.Fatal(err)
		}
		options := over()
		options.Meshes = strings.Fields(meshes)
		r, err := expect.Run(t.Context(), options, files)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, result := range r.Results {
			got = append(got, fmt.Sprintf("%s %s %s", result.Name, result.Mesh, result.Result))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", meshes, diff)
		}
	}
}

// TestFind: names are files, patterns, or folders, of which hidden ones are passed over.
func TestFind(t *testing.T) {
	const tests = header + "tests:\n- {name: a, request: {service: c, port: 80}, expect: {status: 404}}\n"
	folder := write(t, map[string]string{
		"a/gammaguard-test.yaml": tests, "a/cart.gammaguard-test.yaml": tests, "a/b/gammaguard-test.yaml": tests, "a/other.yaml": tests,
		"a/c/gammaguard-test.yml": tests, "a/c/cart.gammaguard-test.yml": tests, "d/gamaguard-test.yml": tests, "d/pod.yaml": "kind: Pod\n",
		"a/.git/gammaguard-test.yaml": tests, "vendor/gammaguard-test.yaml": tests, "a/notgammaguard-test.yaml": tests,
	})
	other := func(path string) string {
		return path + " is of kind TrafficTest, and is not run: its name must be gammaguard-test.yaml, or end in .gammaguard-test.yaml (or .yml)"
	}
	t.Chdir(folder)
	for names, want := range map[string]string{
		".":                           "5; " + other("a/notgammaguard-test.yaml") + "; " + other("a/other.yaml") + "; " + other("d/gamaguard-test.yml"),
		"a/b a/c":                     "3",
		"a a/other.yaml":              "6; " + other("a/notgammaguard-test.yaml"),
		"d":                           other("d/gamaguard-test.yml"),
		"a/*.yaml":                    "4",
		"a/other.yaml":                "1",
		"*/b":                         "0",
		"vendor/gammaguard-test.yaml": "1",
		"none":                        "stat none: no such file or directory",
	} {
		files, notes, err := expect.Find(strings.Fields(names))
		got := strings.Join(append([]string{strconv.Itoa(len(files))}, notes...), "; ")
		if err != nil {
			got = err.Error()
		}
		if got != want && (want != "0" || !strings.HasPrefix(got, "no file named gammaguard-test.yaml")) {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

// TestRevision: a request must meet what it met in a revision, which is read without a hook or a filter.
func TestRevision(t *testing.T) {
	const tests = header + `tests:
- {name: split, request: {service: shop/cart, port: 80, path: /split}, expect: {asInRevision: main}}
- {name: rest, request: {service: shop/cart, port: 80}, expect: {asInRevision: main}}
`
	folder := write(t, map[string]string{"m/a.yaml": filters, "m/gammaguard-test.yaml": tests})
	t.Chdir(folder)
	for _, args := range []string{"init --quiet --initial-branch=main", "add .", "-c user.name=a -c user.email=a@example.com commit --quiet -m first"} {
		if out, err := exec.CommandContext(t.Context(), "git", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var compared []string // with what a diff is advised
	findIn := func(folder string) []string {
		files, _, err := expect.Find([]string{folder})
		if err != nil {
			t.Fatal(err)
		}
		r, err := expect.Run(t.Context(), over(), files)
		if err != nil {
			return []string{err.Error()}
		}
		var got []string
		compared = nil
		for _, result := range r.Results {
			got, compared = append(got, string(result.Result)+" "+strings.Join(result.Failures, "; ")), append(compared, result.Revision)
		}
		return got
	}
	find := func() []string { return findIn("m") }
	if got := find(); !slices.Equal(got, []string{"pass ", "pass "}) {
		t.Errorf("before: %q", got)
	}
	if err := os.WriteFile("m/a.yaml", []byte(strings.ReplaceAll(filters, "weight: 2", "weight: 3")), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{`fail want cart:80 66.67 %, other:81 33.33 % [response header x-other added "1"], as in revision main, got cart:80 75 %, other:81 25 % [response header x-other added "1"]`, "pass "}
	if diff := cmp.Diff(want, find()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := os.WriteFile("m/gammaguard-test.yaml", []byte(strings.ReplaceAll(tests, "main", "gone")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(); len(got) != 2 || !strings.HasPrefix(got[0], `fail "gone" is not a revision of the repository in `) {
		t.Errorf("%q", got)
	}
	if slices.Contains(compared, "gone") {
		t.Errorf("a diff with %q is advised", compared)
	}
	if err := errors.Join(os.WriteFile("m/gammaguard-test.yaml", []byte(tests), 0o600), os.Rename("m", "moved")); err != nil {
		t.Fatal(err)
	}
	const gone = "fail in revision main: Service shop/cart is not in the input, which may have been elsewhere there; expect a backend or a status until the revision has it"
	if got := findIn("moved"); !slices.Equal(got, []string{gone, gone}) {
		t.Errorf("moved: %q", got)
	}
	if err := os.Rename("moved", "m"); err != nil {
		t.Fatal(err)
	}
	var many strings.Builder
	for i := range 5 {
		fmt.Fprintf(&many, "- {name: r%d, request: {service: shop/cart, port: 80}, expect: {asInRevision: HEAD%s}}\n", i, strings.Repeat("^0", i))
	}
	if err := os.WriteFile("m/gammaguard-test.yaml", []byte(header+"tests:\n"+many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(); len(got) != 5 || got[3] != "pass " || !strings.HasSuffix(got[4], "the tests name more than 4 revisions") {
		t.Errorf("%q", got)
	}
}
