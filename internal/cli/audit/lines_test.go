package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/audit"
	"github.com/gammaguard/gammaguard/internal/manifest"
)

// tabled are routes with each class of lines: equal findings in one namespace, others in another.
const tabled = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: producer}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}, {name: admin, port: 81}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: lab}, spec: {clusterIP: 10.0.0.2, ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart, namespace: shop, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}]}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: cart, namespace: lab, labels: {kubernetes.io/service-name: cart}}, addressType: IPv4, endpoints: [{addresses: [10.1.2.4]}]}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}, {group: "", kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], hostnames: [x.example.com], rules: [{matches: [{path: {value: /b}}], backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: c, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], hostnames: [x.example.com], rules: [{matches: [{path: {value: /c}}], backendRefs: [{name: gone, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: d, namespace: lab}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: e, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: nowhere}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`

// audited returns the audit of manifests, in which the configuration exempts namespaces.
func audited(t *testing.T, text string, exempt ...string) *audit.Report {
	t.Helper()
	c := cluster{manifest.NewSet(manifest.Options{Complete: true, Serves: func(string, string) bool { return false }})}
	objects, errs := manifest.Read("cluster.yaml", []byte(text), "default")
	for _, object := range objects {
		errs = append(errs, c.Put(object))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	configuration := config.Default()
	configuration.Exemptions.Namespaces = exempt
	r, err := audit.Run(c, c.Set.Routes(), &audit.Options{Config: configuration})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTableOfConflicts: all routes that take a port from another kind share a line, which names three.
func TestTableOfConflicts(t *testing.T) {
	const one = `---
{apiVersion: gateway.networking.k8s.io/v1, kind: KIND, metadata: {name: NAME, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 81}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}
`
	text := tabled + strings.NewReplacer("KIND", "TCPRoute", "NAME", "raw").Replace(one)
	for _, name := range []string{"g1", "g2", "g3", "g4", "g5"} {
		text += strings.NewReplacer("KIND", "GRPCRoute", "NAME", name).Replace(one)
	}
	var out strings.Builder
	if err := audited(t, text).Table(&out, false); err != nil {
		t.Fatal(err)
	}
	const message = "this GRPCRoute takes port 81 of Service shop/cart from HTTPRoute shop/a"
	lines := slices.DeleteFunc(strings.Split(out.String(), "\n"), func(line string) bool { return !strings.Contains(line, message) })
	if len(lines) != 1 || !strings.Contains(lines[0], " g1, g2, g3, and 2 more ") {
		t.Errorf("%q in\n%s", lines, out.String())
	}
}

// TestTableInModeAudit: what mode enforce would deny is above what is only shown.
func TestTableInModeAudit(t *testing.T) {
	r := audited(t, strings.NewReplacer("gammaguard.dev/grant: producer}", "gammaguard.dev/grant: producer, gammaguard.dev/mode: audit}", "{name: lab}", "{name: lab, labels: {gammaguard.dev/mode: audit}}").Replace(tabled))
	var out strings.Builder
	if err := r.Table(&out, false); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		for _, id := range []string{"grant-missing", "parent-not-found", "hostnames-ignored", "parent-section"} {
			if strings.Contains(line, id) && !slices.Contains(got, id) {
				got = append(got, id)
			}
		}
	}
	if diff := cmp.Diff([]string{"grant-missing", "parent-not-found", "hostnames-ignored", "parent-section"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, out.String())
	}
}

// TestTableOfExempt: the mode of an exempt namespace says so, as in grants.
func TestTableOfExempt(t *testing.T) {
	var out strings.Builder
	if err := audited(t, tabled, "lab").Table(&out, false); err != nil {
		t.Fatal(err)
	}
	if count := strings.Count(out.String(), "enforce (exemption)"); count != 1 || !strings.Contains(out.String(), "\nlab         enforce (exemption)") {
		t.Errorf("the exemption is in %d modes, want lab's:\n%s", count, &out)
	}
}

// TestTable: what to do first is above the rest, equal findings share a line, and the summary counts
// what the lines show.
func TestTable(t *testing.T) {
	r := audited(t, tabled)
	//nolint:dupword // two columns
	const summary = `
NAMESPACE   MODE      ROUTES   ROUTES DENIED   DENIALS   WARNINGS   CHANGES   APPLIED   GRANT      NEEDS
shop        enforce   4        1               1         3          2         0/4       producer   -
lab         enforce   1        1               1         0          0         0/1       none       producer

To grant what these routes need, a mesh admin can run:
kubectl label namespace lab gammaguard.dev/grant=producer
`
	const hostnames = "a mesh matches traffic by the parent Service, not by hostnames"
	for wide, want := range map[bool][]string{
		false: {"lab HTTPRoute d grant-missing deny", "shop HTTPRoute e parent-not-found deny", "shop HTTPRoute b, c hostnames-ignored warn", "shop HTTPRoute c backend-not-found warn", "shop HTTPRoute a parent-section change", "shop HTTPRoute a parent-section change"},
		true:  {"lab HTTPRoute d grant-missing deny", "shop HTTPRoute e parent-not-found deny", "shop HTTPRoute b hostnames-ignored warn", "shop HTTPRoute c hostnames-ignored warn", "shop HTTPRoute c backend-not-found warn", "shop HTTPRoute a parent-section change", "shop HTTPRoute a parent-section change"},
	} {
		var out strings.Builder
		if err := r.Table(&out, wide); err != nil {
			t.Fatal(err)
		}
		lines, rest, _ := strings.Cut(out.String(), "\n\n")
		var got []string
		for line := range strings.Lines(lines) {
			cells := strings.Fields(line)
			end := 5
			if len(cells) > 2 && strings.HasSuffix(cells[2], ",") {
				end++
			}
			got = append(got, strings.Join(cells[:end], " "))
		}
		if diff := cmp.Diff(want, got[1:]); diff != "" {
			t.Errorf("wide %v (-want +got)\n%s\n%s", wide, diff, out.String())
		}
		if !wide && "\n"+rest != summary {
			t.Errorf("%s", cmp.Diff(summary, "\n"+rest))
		}
		if !strings.Contains(lines, hostnames) {
			t.Errorf("the lines lack %q:\n%s", hostnames, lines)
		}
	}
}
