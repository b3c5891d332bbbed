//go:build e2e

package monitoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/bed/guard"
	"github.com/gammaguard/gammaguard/test/selfsigned"
)

// prometheus is a running Prometheus that scrapes every second.
type prometheus struct{ url string }

// startPrometheus starts Prometheus with the rules, whose alerts fire at once.
func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	folder := t.TempDir()
	rules := writeRules(t, folder, func(r *rule) { r.For = "" })
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs: [{job_name: gammaguard, static_configs: [{targets: [%q]}]}]
`, rules, strings.TrimSuffix(strings.TrimPrefix(target, "http://"), "/metrics"))
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	port, err := bed.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file="+filepath.Join(folder, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus:\n%s", &output)
		}
	})
	return &prometheus{"http://" + address}
}

// query returns the samples of a query, as the API has them.
func (p *prometheus) query(ctx context.Context, expr string) ([]json.RawMessage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/query?query="+url.QueryEscape(expr), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	return answer.Data.Result, nil
}

// has waits until the query has data.
func (p *prometheus) has(t *testing.T, expr string) {
	t.Helper()
	eventually(t, "data of "+expr, func(ctx context.Context) error {
		if samples, err := p.query(ctx, expr); err != nil || len(samples) == 0 {
			return fmt.Errorf("%d samples: %w", len(samples), err)
		}
		return nil
	})
}

// firing waits until exactly these alerts fire.
func (p *prometheus) firing(t *testing.T, what string, want ...string) {
	t.Helper()
	eventually(t, what, func(ctx context.Context) error {
		samples, err := p.query(ctx, `count by (alertname) (ALERTS{alertstate="firing"})`)
		if err != nil {
			return err
		}
		var got []string
		for _, text := range samples {
			var sample struct{ Metric map[string]string }
			if err := json.Unmarshal(text, &sample); err != nil {
				return err
			}
			got = append(got, sample.Metric["alertname"])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("firing: %v, want %v", got, want)
		}
		return nil
	})
}

func eventually(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = f(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

const configuration = `apiVersion: gammaguard.dev/v1alpha1
kind: GuardConfiguration
exemptions: {usernames: [break-glass]}
`

// TestLive has Prometheus scrape a gammaguard-webhook: no alert fires without its fault,
// each fault has its alert fire, and each query of the dashboard and the pages returns
// data.
func TestLive(t *testing.T) {
	if err := guard.Install(t.Context(), plane); err != nil {
		t.Fatal(err)
	}
	g, err := guard.Start(t.Context(), plane, guard.Options{Config: configuration})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := startPrometheus(t, g.MetricsURL)
	p.has(t, "gammaguard_build_info")
	const expiring, exempted, full = "GammaguardCertificateExpiring", "GammaguardExemptionUsed", "GammaguardStatusFull"
	p.firing(t, "the test bed's certificate expires in a week", expiring)

	admin, user := clients(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "monitored", Labels: map[string]string{mesh.GrantLabel: "all"}}}
	if err := admin.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), route("refused")); err == nil {
		t.Fatal("a route without a parent is admitted")
	}
	admitted := route("admitted")
	if err := user.Create(t.Context(), admitted); err != nil {
		t.Fatal(err)
	}
	p.firing(t, "an exemption was used", expiring, exempted)
	for _, exprs := range queries(t) {
		for _, expr := range exprs {
			p.has(t, strings.ReplaceAll(expr, "$__rate_interval", "1m"))
		}
	}
	pages := read(t, "../../docs/runbook.md") + read(t, "../../docs/stored-routes.md")
	documented := regexp.MustCompile(`(?m)^(topk|sum by ).*$`).FindAllString(pages, -1)
	if len(documented) != 2 {
		t.Errorf("the pages have the queries %q", documented)
	}
	for _, expr := range documented {
		p.has(t, expr)
	}

	binding := &rbacv1.ClusterRoleBinding{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: config.ServingBinding}, binding); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	p.firing(t, "the binding that has routes refused is gone", expiring, exempted, "GammaguardNotServing")
	binding.ResourceVersion, binding.UID, binding.Subjects = "", "", nil
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	p.firing(t, "the replica has added itself", expiring, exempted)

	for n := range 32 {
		admitted.Status.Parents = append(admitted.Status.Parents, gatewayv1.RouteParentStatus{
			ControllerName: "example.org/controller", ParentRef: gatewayv1.ParentReference{Name: gatewayv1.ObjectName(fmt.Sprintf("gateway-%d", n))},
			Conditions: []metav1.Condition{{Type: "Accepted", Status: "True", Reason: "Accepted", LastTransitionTime: metav1.Now()}},
		})
	}
	text, err := json.Marshal(map[string]any{"status": admitted.Status})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Status().Patch(t.Context(), admitted, client.RawPatch("application/merge-patch+json", text)); err != nil {
		t.Fatal(err)
	}
	p.firing(t, "a status is full", expiring, exempted, full)

	bundle, err := selfsigned.New("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := bundle.WriteDir(g.CertDir); err != nil {
		t.Fatal(err)
	}
	p.firing(t, "the certificate is renewed", exempted, full)
	if err := g.Kill(); err != nil {
		t.Fatal(err)
	}
	p.firing(t, "no replica is left", "GammaguardDown")
}

// clients returns an administrator's, and one of the exempt user.
func clients(t *testing.T) (admin, user client.Client) {
	t.Helper()
	admin, err := plane.Client(gatewayv1.Install)
	if err != nil {
		t.Fatal(err)
	}
	config, err := plane.User("break-glass", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if user, err = client.New(config, client.Options{Scheme: admin.Scheme()}); err != nil {
		t.Fatal(err)
	}
	return admin, user
}

// route returns a route whose parent does not exist.
func route(name string) *gatewayv1.HTTPRoute {
	core, kind := gatewayv1.Group(""), gatewayv1.Kind(mesh.ServiceKind)
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "monitored", Name: name}}
	route.Spec.ParentRefs = []gatewayv1.ParentReference{{Group: &core, Kind: &kind, Name: "cart"}}
	return route
}
