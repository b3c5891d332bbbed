package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/selfsigned"
	"github.com/gammaguard/gammaguard/webhook/server"
)

// guardedBy labels the namespaces that a test's guard is asked about.
const guardedBy = "test/guarded-by"

// guard is a server that runs in this process, with its registrations.
type guard struct {
	// labels are those of the namespaces that it guards, which are granted all.
	labels map[string]string
	// url is where the webhooks are served, and ca who signed their certificate.
	url    string
	ca     []byte
	server *server.Server
	// cancel asks the server to stop; stop waits until it has.
	cancel func()
	stop   func() error
}

// startGuard runs a server and registers it as the project's manifests do, for the
// test's own namespaces alone. It is ready.
func startGuard(t *testing.T, c client.Client, change ...func(*server.Options)) *guard {
	t.Helper()
	port := freePort(t)
	bundle, err := selfsigned.New("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := bundle.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	options := server.Options{
		Config: plane.Config, CertDir: dir, WebhookHost: "127.0.0.1", WebhookPort: port,
		Registerer: prometheus.NewRegistry(), Log: testr.New(t),
	}
	for _, f := range change {
		f(&options)
	}
	s, err := server.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	g := &guard{
		labels: map[string]string{guardedBy: fmt.Sprint(port), mesh.GrantLabel: "all"},
		url:    fmt.Sprintf("https://127.0.0.1:%d", port), ca: bundle.CA, server: s, cancel: cancel,
	}
	g.stop = func() error {
		cancel()
		err, running := <-done
		if running {
			close(done)
		}
		return err
	}
	t.Cleanup(func() {
		if err := g.stop(); err != nil {
			t.Error(err)
		}
	})
	background.Eventually(t, func() string {
		if err := s.Ready(); err != nil {
			return err.Error()
		}
		return ""
	})
	g.register(t, c, port, bundle.CA)
	return g
}

// register creates the webhook configurations and waits until they take effect.
func (g *guard) register(t *testing.T, c client.Client, port int, ca []byte) {
	t.Helper()
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{}
	for file, into := range map[string]client.Object{"webhook/validating.yaml": validating, "webhook/mutating.yaml": mutating} {
		data, err := config.Manifests.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(data, into); err != nil {
			t.Fatal(err)
		}
		into.SetName(fmt.Sprintf("%s-%d", into.GetName(), port))
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{guardedBy: fmt.Sprint(port)}}
	direct := func(w admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
		url := fmt.Sprintf("https://127.0.0.1:%d%s", port, *w.Service.Path)
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
	}
	validating.Webhooks = validating.Webhooks[:1] // the others are previews
	v, m := &validating.Webhooks[0], &mutating.Webhooks[0]
	// Nobody notes here that it has served: test/install has that.
	v.MatchConditions = slices.DeleteFunc(v.MatchConditions, func(c admissionregistrationv1.MatchCondition) bool { return c.Name == "has-served" })
	v.ClientConfig, v.NamespaceSelector = direct(v.ClientConfig), selector
	m.ClientConfig, m.NamespaceSelector = direct(m.ClientConfig), selector
	create(t, c, mutating, validating)
	t.Cleanup(func() {
		err := errors.Join(c.Delete(context.Background(), validating), c.Delete(context.Background(), mutating))
		if err != nil {
			t.Error(err)
		}
	})
	probe := newNamespace(t, c, g.labels)
	background.Eventually(t, func() string {
		route := httpRoute(probe, "probe", "not-there")
		if err := c.Create(t.Context(), route); err == nil {
			if err := c.Delete(t.Context(), route); err != nil {
				return err.Error()
			}
			return "the webhook is not asked yet"
		}
		return ""
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := bed.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
