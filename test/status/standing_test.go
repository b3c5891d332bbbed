package status

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/gammaguard/gammaguard/internal/creation"
	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/audit"
	"github.com/gammaguard/gammaguard/test/background"
	"github.com/gammaguard/gammaguard/validate"
)

// auditReplica is a replica that audits, and writes no status.
type auditReplica struct {
	registry *prometheus.Registry
	stop     func()
}

// startAudit starts the standing audit, on a leader.
func startAudit(t *testing.T, policy *validate.Policy) *auditReplica {
	t.Helper()
	return startAuditAs(t, plane.Config, policy, audit.Options{Log: logr.Discard()})
}

// startAuditAs starts it with the rights of somebody.
func startAuditAs(t *testing.T, config *rest.Config, policy *validate.Policy, options audit.Options) *auditReplica {
	t.Helper()
	mgr, err := newManager(config, false)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := kube.New(mgr.GetConfig(), kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &auditReplica{registry: prometheus.NewRegistry()}
	options.Judge, options.Registerer = creation.Judge{Engine: engineOf(policy)}, a.registry
	if err := audit.Add(mgr, cache, options); err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(cache); err != nil {
		t.Fatal(err)
	}
	a.stop = background.Start(t, mgr.Start)
	return a
}

// stored returns the series of the namespace: "HTTPRoute parent-not-found deny".
func (a *auditReplica) stored(t *testing.T, namespace string) map[string]float64 {
	t.Helper()
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if family.GetName() == "gammaguard_stored_findings" && labels["namespace"] == namespace {
				found[labels["kind"]+" "+labels["rule"]+" "+labels["action"]] = m.GetGauge().GetValue()
			}
		}
	}
	return found
}

// finds waits until the metric has exactly these findings in the namespace.
func (a *auditReplica) finds(t *testing.T, what, namespace string, findings ...string) {
	t.Helper()
	want := map[string]float64{}
	for _, finding := range findings {
		want[finding]++
	}
	began := time.Now()
	wait(t, settleTime, what, func() error {
		if diff := cmp.Diff(want, a.stored(t, namespace)); diff != "" {
			return fmt.Errorf("findings in %s (-want +got):\n%s", namespace, diff)
		}
		return nil
	})
	t.Logf("%s: right after %s", what, time.Since(began).Round(time.Millisecond))
}

// endpoints returns an EndpointSlice of the Service.
func (c *cluster) endpoints(service string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
	}
}

// withBackends gives the route one rule with these backends.
func withBackends(route *unstructured.Unstructured, backends ...map[string]any) *unstructured.Unstructured {
	refs := make([]any, len(backends))
	for i, backend := range backends {
		backend["port"] = int64(80)
		refs[i] = backend
	}
	route.Object["spec"].(map[string]any)["rules"] = []any{map[string]any{"backendRefs": refs}}
	return route
}

// TestStandingAudit: the metric is right after each kind of change, in every mode, and
// gone where the process no longer leads.
func TestStandingAudit(t *testing.T) {
	c, other := newCluster(t, "audited", mesh.GrantAll), newCluster(t, "audited-other", mesh.GrantAll)
	cart, route := c.service("cart", 80), withBackends(c.route(mesh.HTTPRoute, "web", "cart:80"), map[string]any{"name": "api"})
	c.create(route)
	policy := &validate.Policy{
		Grants:  mesh.GrantPolicy{ParentKinds: []string{"ServiceEntry.networking.istio.io"}},
		Actions: map[string]validate.Action{"backend-not-permitted": validate.Warn},
	}
	a := startAudit(t, policy)
	const noParent, noBackend, noEndpoints = "HTTPRoute parent-not-found deny", "HTTPRoute backend-not-found warn", "HTTPRoute backend-no-endpoints warn"
	a.finds(t, "at the start", "audited", noParent, noBackend)
	c.create(cart)
	a.finds(t, "a parent is created", "audited", noBackend)
	api := c.service("api", 80)
	c.create(api)
	a.finds(t, "a backend is created", "audited", noEndpoints)
	slice := c.endpoints("api")
	c.create(slice)
	a.finds(t, "a backend gets endpoints", "audited")
	c.delete(slice)
	a.finds(t, "a backend loses its endpoints", "audited", noEndpoints)
	c.merge(route, `{"metadata":{"annotations":{%q:"backend-no-endpoints"}}}`, mesh.IgnoreAnnotation)
	a.finds(t, "a rule is silenced", "audited")
	c.merge(route, `{"metadata":{"annotations":null}}`)
	a.finds(t, "it is not silenced", "audited", noEndpoints)
	c.create(c.endpoints("api"))
	a.finds(t, "there are endpoints again", "audited")

	c.merge(cart, `{"spec":{"ports":[{"name":"p81","port":81}]}}`)
	a.finds(t, "a port goes", "audited", "HTTPRoute parent-port-not-found deny")
	c.merge(cart, `{"spec":{"ports":[{"name":"p80","port":80}]}}`)
	a.finds(t, "it comes back", "audited")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "audited"}}
	c.merge(namespace, `{"metadata":{"labels":{%q:"none",%q:"audit"}}}`, mesh.GrantLabel, mesh.ModeLabel)
	a.finds(t, "the grant goes, in mode audit", "audited", "HTTPRoute grant-missing deny")
	c.merge(namespace, `{"metadata":{"labels":{%q:"all",%q:null}}}`, mesh.GrantLabel, mesh.ModeLabel)
	a.finds(t, "the grant comes back", "audited")

	grpc := withBackends(c.route(mesh.GRPCRoute, "rpc", "cart:80"), map[string]any{"name": "api"})
	c.create(grpc)
	a.finds(t, "another route takes the port", "audited", "HTTPRoute route-conflict warn", "GRPCRoute route-conflict warn")
	c.delete(grpc)
	a.finds(t, "and gives it back", "audited")
	behind := withBackends(c.route(mesh.HTTPRoute, "behind", "api:80"), map[string]any{"name": "api"})
	c.create(behind)
	a.finds(t, "a backend has routes", "audited", "HTTPRoute backend-has-routes warn")
	c.delete(behind)
	a.finds(t, "a backend has none", "audited")

	consumer := withBackends(other.route(mesh.HTTPRoute, "consumer"), map[string]any{"name": "api", "namespace": "audited"})
	consumer.Object["spec"].(map[string]any)["parentRefs"] = []any{map[string]any{"group": "", "kind": "Service", "name": "cart", "namespace": "audited"}}
	other.create(consumer)
	const notPermitted, replaced = "HTTPRoute backend-not-permitted warn", "HTTPRoute producer-routes-replaced warn"
	a.finds(t, "a consumer route", "audited-other", notPermitted, replaced)
	grant := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": mesh.GatewayGroup + "/v1beta1", "kind": "ReferenceGrant", "metadata": map[string]any{"namespace": "audited", "name": "routes"},
		"spec": map[string]any{
			"from": []any{map[string]any{"group": mesh.GatewayGroup, "kind": "HTTPRoute", "namespace": "audited-other"}},
			"to":   []any{map[string]any{"group": "", "kind": "Service"}},
		},
	}}
	c.create(grant)
	a.finds(t, "a ReferenceGrant comes", "audited-other", replaced)
	c.delete(grant)
	a.finds(t, "it goes", "audited-other", notPermitted, replaced)
	c.merge(namespace, `{"metadata":{"labels":{%q:"deny"}}}`, mesh.ConsumerRoutesLabel)
	a.finds(t, "consumers are refused by the namespace", "audited-other", "HTTPRoute consumer-refused deny")
	c.merge(cart, `{"metadata":{"labels":{%q:"allow"}}}`, mesh.ConsumerRoutesLabel)
	a.finds(t, "and allowed by the Service", "audited-other", notPermitted, replaced)
	a.finds(t, "where the Service is", "audited")
	other.delete(consumer)
	a.finds(t, "a route goes", "audited-other")

	entry := withBackends(c.route(mesh.HTTPRoute, "entry"), map[string]any{"name": "api"})
	entry.Object["spec"].(map[string]any)["parentRefs"] = []any{map[string]any{"group": "networking.istio.io", "kind": "ServiceEntry", "name": "db"}}
	c.merge(namespace, `{"metadata":{"labels":{%q:"none"}}}`, mesh.GrantLabel)
	c.create(entry)
	a.finds(t, "a parent of another kind", "audited", "HTTPRoute grant-missing deny", "HTTPRoute grant-missing deny")

	next := startAudit(t, policy)
	next.finds(t, "another leader", "audited", "HTTPRoute grant-missing deny", "HTTPRoute grant-missing deny")
	a.stop()
	a.finds(t, "the old one", "audited")
}
