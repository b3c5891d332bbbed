package install

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/certs"
	"github.com/gammaguard/gammaguard/certs/certmanager"
	"github.com/gammaguard/gammaguard/certs/selfmanaged"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/selfsigned"
	"github.com/gammaguard/gammaguard/webhook/server"
)

var servingCertificate = types.NamespacedName{Namespace: system, Name: "gammaguard-serving-cert"}

// guard is a webhook server in this process, with the rights that an overlay gives.
type guard struct {
	dir      string
	ready    string // URL
	registry *prometheus.Registry

	mu     sync.Mutex
	logged []string // reasons of "Not ready"
	errors []string
}

// startGuard starts a server whose certificate directory, made by the caller, is
// filled by the source.
func startGuard(t *testing.T, dir string, source certs.Source) *guard {
	t.Helper()
	config, err := plane.User(account, "system:serviceaccounts", "system:serviceaccounts:"+system)
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{dir: dir, registry: prometheus.NewRegistry()}
	log := funcr.NewJSON(func(line string) {
		var entry struct{ Msg, Reason, Error string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if entry.Error != "" {
			g.errors = append(g.errors, entry.Msg+": "+entry.Error)
		}
		if entry.Msg == "Not ready" {
			g.logged = append(g.logged, g.general(entry.Reason))
		}
	}, funcr.Options{})
	probes := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	g.ready = "http://" + probes + "/readyz"
	s, err := server.New(server.Options{
		Config: config, CertDir: dir, CertSource: source, CertHost: host,
		WebhookHost: "127.0.0.1", WebhookPort: freePort(t), ProbeAddress: probes, Registerer: g.registry, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server failed: %v", err)
		}
	})
	return g
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := bed.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// general puts DIR in place of the folder's path.
func (g *guard) general(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, g.dir, "DIR"))
}

// says returns what a probe is answered.
func (g *guard) says(ctx context.Context) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.ready, nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		return fmt.Sprint(err, closed)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, g.general(string(body)))
}

// await waits until probes are answered so.
func (g *guard) await(t *testing.T, want string) {
	t.Helper()
	background.Eventually(t, func() string { return cmp.Diff(want, g.says(t.Context())) })
}

// TestReadinessNamesTheReason: without a certificate that can be served the server
// is not ready, and tells why in one line, once.
func TestReadinessNamesTheReason(t *testing.T) {
	install(t, folder(t, "default"))
	dir := t.TempDir()
	g := startGuard(t, dir, certmanager.New(servingCertificate))
	const certificate = "Certificate gammaguard-system/gammaguard-serving-cert "
	waiting := "certificate directory DIR has no tls.crt; " + certificate + "has no conditions yet: check that cert-manager is running"
	g.await(t, "503 "+waiting)

	failed := certificate + `is not ready: Issuing certificate as Secret does not exist (DoesNotExist); the issuer says no (Failed)`
	setConditions(t)
	g.await(t, "503 certificate directory DIR has no tls.crt; "+failed)

	write := func(at time.Time, hosts ...string) {
		t.Helper()
		bundle, err := selfsigned.NewAt(at, hosts...)
		if err != nil {
			t.Fatal(err)
		}
		if err := bundle.WriteDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	write(time.Date(2020, 3, 4, 5, 6, 7, 0, time.UTC), host)
	expired := "certificate DIR/tls.crt expired at 2021-03-04T05:06:07Z; " + failed
	g.await(t, "503 "+expired)
	write(time.Now(), "other.test")
	foreign := "certificate DIR/tls.crt is not valid for " + host + ", but for other.test; " + failed
	g.await(t, "503 "+foreign)
	wantExpiry(t, g, dir)
	write(time.Now(), host)
	g.await(t, "200 ok")

	for range 20 { // told once, however often it is asked
		g.says(t.Context())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var told []string // while the server starts it has other reasons
	for _, reason := range g.logged {
		if strings.Contains(reason, "DIR") && !strings.HasSuffix(strings.Split(reason, ";")[0], "not read yet") {
			told = append(told, reason)
		}
	}
	want := []string{waiting, "certificate directory DIR has no tls.crt; " + failed, expired, foreign}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
	wantNothingForbidden(t)
}

// setConditions has the Certificate say, in cert-manager's place, that it failed.
func setConditions(t *testing.T) {
	t.Helper()
	c := admin(t)
	var certificate certmanagerv1.Certificate
	if err := c.Get(t.Context(), servingCertificate, &certificate); err != nil {
		t.Fatal(err)
	}
	certificate.Status.Conditions = []certmanagerv1.CertificateCondition{
		{Type: certmanagerv1.CertificateConditionReady, Status: cmmeta.ConditionFalse, Reason: "DoesNotExist", Message: "Issuing certificate as Secret does not exist"},
		{Type: certmanagerv1.CertificateConditionIssuing, Status: cmmeta.ConditionFalse, Reason: "Failed", Message: "the issuer says\nno"},
	}
	if err := c.Status().Update(t.Context(), &certificate); err != nil {
		t.Fatal(err)
	}
}

// wantExpiry compares the metric with the certificate in the folder.
func wantExpiry(t *testing.T, g *guard, dir string) {
	t.Helper()
	leaf := leafOf(t, filepath.Join(dir, certs.CertFile))
	families, err := g.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "gammaguard_certificate_expiry_timestamp_seconds" {
			if got := family.GetMetric()[0].GetGauge().GetValue(); got != float64(leaf.NotAfter.Unix()) {
				t.Errorf("the metric says %f, the certificate ends %s", got, leaf.NotAfter)
			}
			return
		}
	}
	t.Error("no metric of the certificate's end")
}

// TestNoSecret: without its Secret, a self-managed server says so; with an empty
// one it becomes ready, and without it again it goes on serving.
func TestNoSecret(t *testing.T) {
	overlay := folder(t, "overlays/self-managed")
	install(t, overlay)
	remove := func() { kubectl(t, "delete", "secret", "-n", system, secretKey.Name) }
	remove()
	dir := t.TempDir()
	source := selfmanaged.New(selfmanaged.Options{Dir: dir, Secret: secretKey, Host: host, Webhooks: "gammaguard"})
	g := startGuard(t, dir, source)
	g.await(t, "503 certificate directory DIR has no tls.crt; Secret gammaguard-system/gammaguard-webhook-cert not found; apply the overlay, or run helm upgrade, again")
	kubectl(t, "apply", "-k", overlay)
	g.await(t, "200 ok")
	remove()
	background.Eventually(t, func() string {
		const want = "Keeping the certificate that is served; a replica that starts has none: Secret gammaguard-system/gammaguard-webhook-cert not found; apply the overlay, or run helm upgrade, again"
		g.mu.Lock()
		defer g.mu.Unlock()
		if !slices.Contains(g.errors, want) {
			return fmt.Sprintf("no error %q in %q", want, g.errors)
		}
		return ""
	})
	if said := g.says(t.Context()); said != "200 ok" {
		t.Errorf("with a valid certificate: %s", said)
	}
	wantNothingForbidden(t)
}

func leafOf(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}
