package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// TestPreview has the real kubectl make server-side dry runs: each says what the route
// changes in the traffic, as docs/previews.md shows, and nothing is stored; a request that is
// not a dry run says nothing.
func TestPreview(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c, func(o *server.Options) {
		o.Guard = config.Default()
		o.Guard.Preview = true
	})
	ns := newNamespace(t, c, g.labels)
	clients := newNamespace(t, c, g.labels)
	for _, name := range []string{"cart", "cart-v2"} {
		create(t, c, service(ns, name), endpoints(ns, name))
	}
	route := func(namespace, name, parent, backends string) string {
		return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: %s, name: %s},
			spec: {parentRefs: [{group: "", kind: Service, namespace: %s, name: %s, port: 80}], rules: [%s]}}`, namespace, name, ns, parent, backends)
	}
	apply := func(manifest string, args ...string) []string {
		t.Helper()
		_, stderr, err := plane.Kubectl(t.Context(), manifest, append([]string{"apply", "-f", "-"}, args...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		var lines []string
		for line := range strings.Lines(stderr) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "Warning: traffic preview: "); ok {
				lines = append(lines, text)
			}
		}
		return lines
	}
	const dryRun = "--dry-run=server"
	title := "service " + ns + "/cart port 80, "
	all := `{backendRefs: [{name: cart, port: 80}]}`
	canary := `{backendRefs: [{name: cart, port: 80, weight: 9}, {name: cart-v2, port: 80}]}`
	stub := fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: /v2}}], backendRefs: [{namespace: %s, name: cart-v2, port: 80}]}`, ns)

	if lines := apply(route(ns, "web", "cart", all)); lines != nil {
		t.Errorf("what is stored has a preview: %q", lines)
	}
	canaryChange := title + "producer, any: cart:80 100 % → cart:80 90 %, cart-v2:80 10 %"
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "previews.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := "$ kubectl apply --dry-run=server -f cart.yaml\nWarning: traffic preview: " + strings.Replace(canaryChange, ns, "shop", 1) + "\n"
	if !strings.Contains(string(page), shown) {
		t.Errorf("docs/previews.md does not show\n%s", shown)
	}
	for _, step := range []struct {
		manifest string
		want     []string
	}{
		{route(ns, "web", "cart", canary), []string{canaryChange}},
		{route(ns, "web", "cart", all), nil},
		{route(clients, "mock", "cart", stub), []string{
			title + "consumer, from namespace " + clients + ": any /* (except /v2*): cart:80 100 % → 404 (no rule matches) (consumer routes replace producer routes)",
			title + "consumer, from namespace " + clients + ": any /v2*: cart:80 100 % → cart-v2:80 100 % (new consumer HTTPRoute " + clients + "/mock)",
		}},
	} {
		background.Eventually(t, func() string { // the caches may be behind what was stored just now
			return cmp.Diff(step.want, apply(step.manifest, dryRun))
		})
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: clients, Name: "mock"}, httpRoute(clients, "mock")); err == nil {
		t.Error("a dry run is stored")
	}
}

// endpoints returns an EndpointSlice of the Service with an endpoint.
func endpoints(namespace, service string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
	}
}
