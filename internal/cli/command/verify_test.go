package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verifiedRoutes route /v2 of customers with the header tenant to another Service.
const verifiedRoutes = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: cart-v2, namespace: shop}, spec: {clusterIP: 10.0.0.2, ports: [{name: http, port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIP: 10.0.0.3, ports: [{name: tcp, port: 5432}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: cart, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: cart, port: 80}], rules: [
 {matches: [{path: {type: PathPrefix, value: /v2}, headers: [{name: tenant, value: gold}]}], backendRefs: [{name: cart-v2, port: 80}]},
 {backendRefs: [{name: cart, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: db, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: db, port: 5432}], rules: [{backendRefs: [{name: db, port: 5432}]}]}}
`

// verifiedProxy is what a sidecar of Istio has for these routes: a class goes elsewhere where its cluster is another one.
func verifiedProxy(cluster string) string {
	return `[{"name": "80", "virtualHosts": [{"name": "cart", "domains": ["cart.shop.svc.cluster.local"], "routes": [
{"match": {"pathSeparatedPrefix": "/v2", "headers": [{"name": "tenant", "stringMatch": {"exact": "gold"}}]}, "route": {"cluster": "` + cluster + `", "timeout": "0s"}},
{"match": {"prefix": "/"}, "route": {"cluster": "outbound|80||cart.shop.svc.cluster.local", "timeout": "0s"}}]}]}]`
}

func TestVerify(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	routes, same := write("routes.yaml", verifiedRoutes), verifiedProxy("outbound|80||cart-v2.shop.svc.cluster.local")
	other := write("other.json", verifiedProxy("outbound|80||cart.shop.svc.cluster.local"))

	got := run(t, same, "verify", "-", "--from", "faces", "-f", routes)
	if got.code != ExitClean || !strings.Contains(got.stdout, "2 classes of requests compared, from 1 namespace to 1 Service port: no difference") ||
		!strings.Contains(got.stdout, "note: Service shop/db port 5432: not compared, since a TCPRoute owns it") {
		t.Errorf("%+v", got)
	}
	got = run(t, "", "verify", other, "--from", "faces", "-f", routes)
	if got.code != ExitFindings {
		t.Errorf("%+v", got)
	}
	golden(t, "verify.txt", strings.ReplaceAll(got.stdout, folder, "/manifests"))
	_, example, _ := strings.Cut(got.stdout, "example:    gammaguard ")
	example, _, _ = strings.Cut(example, "\n")
	if got := run(t, "", strings.Fields(strings.NewReplacer("'tenant: gold'", "tenant:gold", "'", "").Replace(example))...); got.code != ExitClean || !strings.Contains(got.stdout, "Service cart-v2:80 100 %") {
		t.Errorf("%q: %+v", example, got)
	}

	got = run(t, "", "verify", other, "--from", "faces", "-f", routes, "-o", "json")
	var report struct {
		Kind, Format, Mesh string
		Summary            struct{ Differ int }
		Ports              []struct {
			Differences []struct{ Class, Ours, Theirs string }
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != ExitFindings || report.Kind != "TrafficVerification" || report.Mesh != "istio" ||
		report.Summary.Differ != 1 || report.Ports[0].Differences[0].Theirs != "Service shop/cart:80" {
		t.Errorf("%v: %+v", err, got)
	}

	if err := os.MkdirAll(filepath.Join(folder, "repository", ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "repository", "link.json")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no routes":         {[]string{other}, "no kubeconfig names a cluster"},
		"no file":           {[]string{"-f", routes}, "specify a file with what the proxies were given, or use --cluster"},
		"two files":         {[]string{other, other, "-f", routes}, "specify one file"},
		"not there":         {[]string{filepath.Join(folder, "none"), "-f", routes}, "no such file"},
		"a folder":          {[]string{folder, "-f", routes}, "is a directory"},
		"a link out":        {[]string{link, "--from", "faces", "-f", routes}, "link"},
		"routes":            {[]string{routes, "-f", routes}, "no CiliumEnvoyConfig and no MeshHTTPRoute"},
		"no namespace":      {[]string{other, "-f", routes}, "the proxy's namespace is not known; specify it with --from"},
		"another mesh":      {[]string{other, "-f", routes, "--mesh", "linkerd"}, "is from istio, and the mesh of the configuration is linkerd; specify --mesh istio"},
		"other Services":    {[]string{write("none.json", `[{"name": "80", "virtualHosts": []}]`), "--from", "faces", "-f", routes}, "there is nothing to compare: Service shop/cart port 80: not compared, since the proxies were given nothing for it"},
		"stdin twice":       {[]string{"-", "-f", "-"}, "standard input can be read only once"},
		"a flag of cluster": {[]string{other, "-f", routes, "--context", "x"}, "--context has no effect without --cluster"},
	} {
		if got := run(t, "", append([]string{"verify"}, test.args...)...); got.code != ExitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
}

// TestVerifyPage plays docs/verify.md over files in the place of a cluster.
func TestVerifyPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	tenant := `{"match": {"pathSeparatedPrefix": "/v2", "headers": [{"name": "tenant", "stringMatch": {"exact": "gold"}}]}, "route": {"cluster": "shop:cart-v2:80"}}`
	istio := verifiedProxy("outbound|80||cart-v2.shop.svc.cluster.local")
	linkerd := func(match, name string) string {
		return `{"matches": [{"path": {"Kind": {"Prefix": ` + match + `], "backends": {"Kind": {"FirstAvailable": {"backends": [{"backend": {"metadata": {"Kind": {"Resource": {"kind": "Service", "namespace": "shop", "name": "` + name + `", "port": 80}}}}}]}}}}`
	}
	given := map[string]string{
		"istioctl": istio,
		"kubectl": `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "cilium.io/v2", "kind": "CiliumEnvoyConfig", "metadata": {"name": "cart", "namespace": "shop"}, "spec": {
"services": [{"name": "cart", "namespace": "shop", "ports": [80]}], "resources": [{"@type": "t/envoy.config.route.v3.RouteConfiguration", "name": "listener-insecure", "virtualHosts": [{"domains": ["*"], "routes": [` +
			tenant + `, {"match": {"prefix": "/"}, "route": {"cluster": "shop:cart:80"}}]}]}]}}]}`,
		"linkerd": `{"metadata": {"Kind": {"Resource": {"kind": "Service", "namespace": "shop", "name": "cart", "port": 80}}}, "protocol": {"Kind": {"Detect": {"http1": {"routes": [{"rules": [` +
			linkerd(`"/v2"}}, "headers": [{"name": "tenant", "Value": {"Exact": "Z29sZA=="}}]}`, "cart-v2") + `, ` + linkerd(`"/"}}}`, "cart") + `]}]}}}}}`,
	}
	for name, text := range map[string]string{
		"routes.yaml": verifiedRoutes,
		"config_dump.json": `{"configs": [{"@type": "t/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {"node": {"metadata": {"NAMESPACE": "faces"}}}},
{"@type": "t/envoy.admin.v3.RoutesConfigDump", "static_route_configs": [{"route_config": ` + istio[1:len(istio)-1] + `}]}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := 0
	for line := range strings.Lines(string(page)) {
		before, call, found := strings.Cut(strings.TrimSpace(line), "gammaguard verify ")
		if !found || call == "--cluster" || strings.ContainsAny(before, "`") { // internal/cli/cluster.TestVerify reads a cluster
			continue
		}
		lines++
		maker, _, _ := strings.Cut(before, " ")
		args := words(t, "verify "+strings.ReplaceAll(call, "--cluster", "-f routes.yaml"))
		if got := run(t, given[maker], args...); got.code != ExitClean {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if lines < 4 {
		t.Errorf("the page has %d command lines", lines)
	}
}
