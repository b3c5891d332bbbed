package apiserver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestKubectlShowsDenials applies routes with the real kubectl and compares what it
// prints.
func TestKubectlShowsDenials(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	ns := newNamespace(t, c, g.labels)
	headless, external := service(ns, "headless"), service(ns, "external")
	headless.Spec.ClusterIP = corev1.ClusterIPNone
	external.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
	create(t, c, headless, external)
	const answered = `rules: [{filters: [{type: RequestRedirect, requestRedirect: {port: 81}}]}]` // no warning of the rules
	for _, test := range []struct {
		name   string
		spec   string
		starts string
		has    []string
	}{
		{
			name:   "one cause",
			spec:   `{parentRefs: [{group: "", kind: Service, name: headless}], ` + answered + `}`,
			starts: `The HTTPRoute "cart" is invalid: spec.parentRefs[0].name: Invalid value: "headless": `,
			has:    []string{"(parent-headless)"},
		},
		{
			name: "three causes",
			spec: `{parentRefs: [{group: "", kind: Service, name: headless}, {group: "", kind: Service, name: external},
				{group: "", kind: Service, name: missing}], ` + answered + `}`,
			starts: "The HTTPRoute \"cart\" is invalid: \n* spec.parentRefs[0].name: Invalid value: \"headless\": ",
			has: []string{
				"\n* spec.parentRefs[1].name: Invalid value: \"external\": ", "\n* spec.parentRefs[2].name: Not found: \"missing\": ",
				"(parent-headless)", "(parent-external-name)", "(parent-not-found)",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			manifest := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: cart, namespace: %s}\nspec: %s\n", ns, test.spec)
			_, stderr, err := plane.Kubectl(t.Context(), manifest, "apply", "-f", "-")
			if err == nil {
				t.Fatal("applied")
			}
			if !strings.HasPrefix(stderr, test.starts) {
				t.Errorf("kubectl prints\n%s\nwant it to start with\n%s", stderr, test.starts)
			}
			for _, want := range test.has {
				if !strings.Contains(stderr, want) {
					t.Errorf("kubectl prints\n%s\nwant in it\n%s", stderr, want)
				}
			}
		})
	}
}

// TestForbidden: without a grant the answer is a 403 that kubectl prints as such.
func TestForbidden(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	ns := newNamespace(t, c, map[string]string{guardedBy: g.labels[guardedBy]})
	create(t, c, service(ns, "cart"))
	err := c.Create(t.Context(), httpRoute(ns, "cart", "cart"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `httproutes.gateway.networking.k8s.io "cart" is forbidden: spec.parentRefs[0]: Forbidden: `) {
		t.Errorf("got %v, want a 403", err)
	}
}

// TestMutated stores the GEP's own example, kind Service without a group, as its
// author means it.
func TestMutated(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	ns := newNamespace(t, c, g.labels)
	create(t, c, service(ns, "cart"))
	route := httpRoute(ns, "cart", "cart")
	route.Spec.ParentRefs[0].Group = nil
	route.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
		BackendObjectReference: gatewayv1.BackendObjectReference{Name: "cart"},
	}}}}}
	create(t, c, route)
	core, port := gatewayv1.Group(""), int32(80)
	type result struct {
		Group *gatewayv1.Group
		Port  *int32
	}
	got := result{route.Spec.ParentRefs[0].Group, route.Spec.Rules[0].BackendRefs[0].Port}
	if diff := cmp.Diff(result{&core, &port}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// TestServiceThenRoute creates a Service and at once a route on it: the cache does
// not know the Service yet, and the route is never refused.
func TestServiceThenRoute(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	ns := newNamespace(t, c, g.labels)
	for i := range 1000 {
		name := fmt.Sprintf("cart-%d", i)
		create(t, c, service(ns, name))
		if err := c.Create(t.Context(), httpRoute(ns, name, name)); err != nil {
			t.Fatalf("pair %d: %v", i, err)
		}
	}
}

// TestGrantThenRoute does the same with a namespace that was granted a moment ago.
func TestGrantThenRoute(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	for i := range 30 {
		ns := newNamespace(t, c, g.labels)
		create(t, c, service(ns, "cart"))
		if err := c.Create(t.Context(), httpRoute(ns, "cart", "cart")); err != nil {
			t.Fatalf("namespace %d: %v", i, err)
		}
	}
}

// TestDown kills the server: mesh routes are refused, and routes on Gateways are
// not affected.
func TestDown(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	ns := newNamespace(t, c, g.labels)
	create(t, c, service(ns, "cart"), httpRoute(ns, "before", "cart"))
	if err := g.stop(); err != nil {
		t.Fatal(err)
	}
	err := c.Create(t.Context(), httpRoute(ns, "after", "cart"))
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "validate.gammaguard.dev") {
		t.Errorf("mesh route: got %v, want that the webhook failed", err)
	}
	// What changes nothing that counts passes at once, without a call: re-syncs, and others' labels.
	for change, passes := range map[string]bool{
		`{"metadata": {"labels": {"team": "cart"}, "annotations": {"example.com/synced": "now"}, "finalizers": ["example.com/wait"]}}`: true,
		`{"metadata": {"annotations": {"gammaguard.dev/ignore": "no-catch-all"}}}`:                                                     false,
		`{"metadata": {"annotations": {"timeout.linkerd.io/request": "1ms"}}}`:                                                         false,
		`{"metadata": {"labels": {"istio.io/rev": "canary"}}}`:                                                                         false,
	} {
		err := c.Patch(t.Context(), httpRoute(ns, "before", "cart"), client.RawPatch(types.MergePatchType, []byte(change)))
		if passes != (err == nil) || err != nil && !strings.Contains(err.Error(), "validate.gammaguard.dev") {
			t.Errorf("%s: got %v, want it to pass: %v", change, err, passes)
		}
	}
	gateway := httpRoute(ns, "gateway")
	gateway.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "gateway"}}
	if err := c.Create(t.Context(), gateway); err != nil {
		t.Errorf("route on a Gateway: %v", err)
	}
	gateway.Spec.Hostnames = []gatewayv1.Hostname{"example.com"}
	if err := c.Update(t.Context(), gateway); err != nil {
		t.Errorf("update of a route on a Gateway: %v", err)
	}
}

// TestDownWhileDeleted kills the server while a route waits for its finalizer: what
// would change its spec, or what meshes read of its metadata, is refused, and the finalizer can be removed.
func TestDownWhileDeleted(t *testing.T) {
	c := admin(t)
	g := startGuard(t, c)
	ns := newNamespace(t, c, g.labels)
	route := httpRoute(ns, "going", "cart")
	route.Finalizers = []string{"example.com/wait"}
	create(t, c, service(ns, "cart"), route)
	if err := errors.Join(c.Delete(t.Context(), route), g.stop()); err != nil {
		t.Fatal(err)
	}
	patch := func(patch string) error {
		return c.Patch(t.Context(), route, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	for _, change := range []string{
		`{"metadata": {"finalizers": [], "annotations": {"retry.linkerd.io/limit": "9"}}}`,
		`{"spec": {"parentRefs": [{"group": "", "kind": "Service", "name": "other"}]}}`,
		`{"metadata": {"finalizers": []}, "spec": {"hostnames": ["example.com"]}}`,
	} {
		err := patch(change)
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "validate.gammaguard.dev") {
			t.Errorf("%s: got %v, want that the webhook failed", change, err)
		}
	}
	for _, change := range []string{`{"metadata": {"labels": {"team": "cart"}}}`, `{"metadata": {"finalizers": []}}`} {
		if err := patch(change); err != nil {
			t.Errorf("%s: %v", change, err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), route); !apierrors.IsNotFound(err) {
		t.Errorf("the route is still there: %v", err)
	}
}
