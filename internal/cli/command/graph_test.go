package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/graph"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

const exampleShop = "../../../examples/shop"

// TestGraph: the examples as Mermaid, which docs/graph.md shows, and for Graphviz.
func TestGraph(t *testing.T) {
	page, err := os.ReadFile("../../../docs/graph.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(page), "```mermaid\n")
	shown, _, _ = strings.Cut(shown, "```\n")
	got := run(t, "", "graph", "-f", exampleShop)
	if diff := cmp.Diff(result{ExitClean, shown, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("docs/graph.md (-shown +got)\n%s", diff)
	}
	golden(t, "graph.dot", run(t, "", "graph", "-f", exampleShop, "-o", "dot").stdout)
}

// TestGraphSelects: one Service, one namespace with its routes on Services of others, and
// what to do about nothing and about too much.
func TestGraphSelects(t *testing.T) {
	routesIn := func(args ...string) []string {
		return regexp.MustCompile(`(?:HTTP|GRPC)Route [a-z-]+`).FindAllString(run(t, "", append([]string{"graph", "-f", exampleShop}, args...)...).stdout, -1)
	}
	if diff := cmp.Diff([]string{"GRPCRoute checkout"}, routesIn("service/checkout", "-n", "shop")); diff != "" {
		t.Errorf("service/checkout (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GRPCRoute checkout"}, routesIn("svc/checkout.shop")); diff != "" {
		t.Errorf("svc/checkout.shop (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"HTTPRoute cart-consumer"}, routesIn("-n", "faces")); diff != "" {
		t.Errorf("-n faces (-want +got)\n%s", diff)
	}
	for _, test := range []struct {
		args, want string
		code       int
	}{
		{"graph -f " + exampleShop + " -n nowhere", "No routes to draw for namespace nowhere.\n", ExitClean},
		{"graph -f " + exampleShop + " service/nowhere -n shop", "No routes to draw for Service shop/nowhere.\n", ExitClean},
		{"graph -f " + exampleShop + " pod/cart", `error: specify one service/NAME or serviceimport/NAME, not "pod/cart"` + "\n", ExitUsage},
		{"graph -f " + exampleShop + " service nowhere -n shop", "No routes to draw for Service shop/nowhere.\n", ExitClean},
		{"graph -f -", "No routes to draw for any namespace.\n", ExitClean},
		{"graph -f " + exampleShop + " service/cart -A", "error: --all-namespaces cannot be used with a Service\n", ExitUsage},
		{"graph -f " + exampleShop + " --context kind", "error: --context has no effect without --cluster\n", ExitUsage},
		{"graph -f " + exampleShop + " -o svg", `error: invalid argument "svg" for "-o, --output" flag: must be one of mermaid, dot, html` + "\n", ExitUsage},
	} {
		if got := run(t, "", strings.Fields(test.args)...); got.code != test.code || got.stdout != "" || !strings.HasPrefix(got.stderr, test.want) {
			t.Errorf("%s: %+v", test.args, got)
		}
	}
	none := run(t, "", "graph", "-f", exampleShop, "-n", "nowhere", "-o", "html")
	if none.code != ExitClean || !strings.Contains(none.stdout, "<h1>No routes to draw for namespace nowhere</h1>") || strings.Contains(none.stdout, "<table>") || !strings.HasPrefix(none.stderr, "No routes to draw for namespace nowhere.\n") {
		t.Errorf("a page without routes: %+v", none)
	}
	many := manyRoutes(graph.MaxRoutes)
	if got := run(t, many, "graph", "-f", "-", "-o", "html"); got.code != ExitClean || strings.Count(got.stdout, "<tr class=") != graph.MaxRoutes {
		t.Errorf("%d routes: exit code %d: %s", graph.MaxRoutes, got.code, got.stderr)
	}
	const beyond = "error: 501 routes are selected, and a graph shows at most 500: select a namespace with -n, or a Service, such as service/cart -n shop\n"
	if got := run(t, many+manyRoutes(1), "graph", "-f", "-"); got.code != ExitUsage || got.stderr != beyond {
		t.Errorf("one more: %+v", got)
	}
}

// TestGraphGateways: routes on Gateways that send to a Service with mesh routes are drawn, and no
// others.
func TestGraphGateways(t *testing.T) {
	const routes = `
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: mesh, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: edge, namespace: shop}, spec: {parentRefs: [{name: public, namespace: infra}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: elsewhere, namespace: shop}, spec: {parentRefs: [{name: public, namespace: infra}], rules: [{backendRefs: [{name: checkout, port: 80}]}]}}
`
	got := run(t, routes, "graph", "-f", "-", "-o", "html")
	for _, want := range []string{
		`<td class="name">shop/cart:80/TCP<br><i>from Gateway infra/public</i></td><td class="name">HTTPRoute shop/edge</td><td><b>bypasses</b><br>requests from a Gateway use the routes on the Gateway</td>`,
		`<title>Gateway infra/public → HTTPRoute shop/edge: requests from a Gateway use the routes on the Gateway</title>`, `<title>HTTPRoute shop/edge → shop/cart:80</title>`,
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(got.stdout, "elsewhere") {
		t.Errorf("the page has a route that sends to a Service without routes:\n%s", got.stdout)
	}
	if got := run(t, routes, "graph", "-f", "-"); !strings.Contains(got.stdout, "-.->|bypasses| ") {
		t.Errorf("Mermaid:\n%s", got.stdout)
	}
}

// manyRoutes is that many routes, on 10 Services.
func manyRoutes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r%d-%d, namespace: many}, spec: {parentRefs: [{group: \"\", kind: Service, name: s%d}], rules: [{backendRefs: [{name: b%d, port: 80}]}]}}\n---\n", n, i, i%10, i%7)
	}
	return b.String()
}

// TestGraphHostile: names that no API server would store are text in every format.
func TestGraphHostile(t *testing.T) {
	const routes = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: "</title><script>document.title='owned'</script>", namespace: "a\"];x-->\u001b[31m"}
spec:
  parentRefs: [{group: "", kind: Service, name: "x'\"\\\n<img src=x onerror=alert(1)>"}]
  rules: [{backendRefs: [{name: "]]>--></svg>", port: 80}, {name: "javascript:alert(1)#quot;", port: 80}]}]
`
	// The API server rejects the route, so that the command leaves it out of files.
	if got := run(t, routes, "graph", "-f", "-"); got.stdout != "" || !strings.Contains(got.stderr, "is left out, because the API server rejects it") {
		t.Errorf("a rejected route: %+v", got)
	}
	read, errs := manifest.Read("routes.yaml", []byte(routes), "")
	set := manifest.NewSet(manifest.Options{})
	if err := errors.Join(append(errs, set.Put(read[0]))...); err != nil {
		t.Fatal(err)
	}
	drawn, err := graph.Draw(set, []*mesh.Route{read[0].Route}, &validate.Policy{}, graph.Selection{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(write func(io.Writer) error) string {
		var b strings.Builder
		if err := write(printable.NewWriter(&b, false)); err != nil {
			t.Error(err)
		}
		return b.String()
	}
	page := text(func(w io.Writer) error { return drawn.HTML(w, "Routes") })
	if strings.Count(page, "<script>") != 1 || strings.Contains(page, "<img") || strings.Count(page, "</svg>") != 2 || !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("html:\n%s", page)
	}
	for format, line := range map[string]string{
		"mermaid": `^(flowchart LR|  subgraph ns0\["[^"<>]*"\]|    n\d+[\[(]+"[^"<>]*"[\])]+|  end|  n\d+ [-.>]+(\|[a-zA-Z0-9 .:/#;-]+\|)? n\d+|  linkStyle \d+ stroke:#\w+|)$`,
		"dot":     `^(digraph gammaguard {|  (rankdir|node|edge) ?[=\[].*;|  subgraph cluster_0 {|    label="([^"\\]|\\\\|\\")*";|    n\d+ \[label="([^"\\]|\\\\|\\")*", [a-z=, ]+\];|  n\d+ -> n\d+ \[[^"]*"#\w+", style=\w+(, label="([^"\\]|\\\\|\\")*")?\];|(  )?}|)$`,
	} {
		got := text(map[string]func(io.Writer) error{"mermaid": drawn.Mermaid, "dot": drawn.DOT}[format])
		if strings.ContainsAny(got, "\x1b") {
			t.Errorf("%s: %s", format, got)
		}
		for text := range strings.SplitSeq(got, "\n") {
			if !regexp.MustCompile(line).MatchString(text) {
				t.Errorf("%s: %s", format, text)
			}
		}
	}
}

// TestGraphPage: the page needs no other, and may use no other.
func TestGraphPage(t *testing.T) {
	page := run(t, "", "graph", "-f", exampleShop, "-o", "html").stdout
	if !strings.Contains(page, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
		t.Error("the page has no policy")
	}
	for _, external := range []string{"http:", "https:", " src=", " href=", "url(", "@import"} {
		if strings.Contains(page, external) {
			t.Errorf("the page has %q", external)
		}
	}
	for _, row := range []string{`<tr class="loses"`, `<tr class="no-grant"`, `<tr class="invalid"`, `class="edge no-grant"`, "</button> a route of a more specific kind owns the port</li>", `<td class="name">shop/cart:80/TCP<br><i>from faces</i></td><td class="name">HTTPRoute shop/cart-web<br><i>producer</i></td><td><b>replaced</b>`, "namespace lab lacks the consumer grant for HTTPRoute"} {
		if !strings.Contains(page, row) {
			t.Errorf("the page lacks %q", row)
		}
	}
}

// TestGraphExamples runs the examples of graph's help that need no cluster.
func TestGraphExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("manifests", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("manifests", "a.yaml"), []byte(manyRoutes(3)), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(graphExamples) {
		line, _, _ = strings.Cut(line, " > ")
		if args := strings.Fields(line); strings.Contains(line, " -f ") {
			ran++
			if got := run(t, "", args[1:]...); got.code != ExitClean || got.stdout == "" || got.stderr != "" {
				t.Errorf("%s: %+v", line, got)
			}
		}
	}
	if ran == 0 {
		t.Error("no example was run")
	}
}
