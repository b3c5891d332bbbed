package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/selfsigned"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// TestClientAuthentication starts an API server with the files of docs/callers.md: it
// calls webhooks that demand its certificate, and no others that demand another one.
func TestClientAuthentication(t *testing.T) {
	const name = "kube-apiserver-webhooks" // as in config/components/client-authentication
	bundle, err := selfsigned.New(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(file string, text []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.crt", bundle.CA)
	write("webhooks.crt", bundle.Cert)
	write("webhooks.key", bundle.Key)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "callers.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"kubeconfig.yaml", "config.yaml"} {
		const folder = "/etc/kubernetes/admission/"
		_, text, found := strings.Cut(string(page), "# "+folder+file+"\n")
		text, _, closed := strings.Cut(text, "   ```")
		if !found || !closed {
			t.Fatalf("docs/callers.md has no %s", file)
		}
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\n   ", "\n"), folder, dir+"/")
		// A test's webhooks have no Service, so the user is that of all webhooks.
		text = strings.ReplaceAll(strings.TrimPrefix(text, "   "), "name: gammaguard-webhook.gammaguard-system.svc", `name: "*"`)
		write(file, []byte(text))
	}
	authenticated, err := bed.Start(t.Context(), bed.Options{APIServerFlags: map[string][]string{
		"admission-control-config-file": {filepath.Join(dir, "config.yaml")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := authenticated.Stop(); err != nil {
			t.Error(err)
		}
	})
	c, err := authenticated.Client(gatewayv1.Install)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, allowed, says string
	}{
		{"the name", name, ""},
		{"another name", "front-proxy-client", "failed calling webhook"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := startGuard(t, c, func(o *server.Options) {
				o.Config, o.ClientCAFile, o.ClientAllowedNames = authenticated.Config, ca, []string{test.allowed}
			})
			namespace := newNamespace(t, c, g.labels)
			create(t, c, service(namespace, "cart"))
			err := c.Create(t.Context(), httpRoute(namespace, "web", "cart"))
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("a route is created: %v, want %q", err, test.says)
			}
			err = c.Create(t.Context(), httpRoute(namespace, "lost", "not-there"))
			if err == nil || strings.Contains(err.Error(), "(parent-not-found)") != (test.says == "") {
				t.Errorf("a route without its Service is created: %v", err)
			}
		})
	}
	t.Run("no certificate", func(t *testing.T) {
		c := admin(t)
		g := startGuard(t, c, func(o *server.Options) { o.ClientCAFile = ca })
		namespace := newNamespace(t, c, g.labels)
		create(t, c, service(namespace, "cart"))
		err := c.Create(t.Context(), httpRoute(namespace, "web", "cart"))
		if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("a route is created: %v", err)
		}
	})
}
