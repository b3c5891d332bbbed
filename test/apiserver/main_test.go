// Package apiserver tests gammaguard's shell against a real API server: the
// caches, the webhooks as kubectl meets them, and the server process.
package apiserver

import (
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/gammaguard/gammaguard/test/bed"
)

var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // each server has a log of its own
	os.Exit(bed.Run(m, bed.Options{}, &plane))
}

// admin returns a client that may do all, without a rate limit.
func admin(t *testing.T) client.Client {
	t.Helper()
	c, err := plane.Client(gatewayv1.Install, gatewayv1beta1.Install)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newNamespace makes a namespace that is granted all, and is the test's alone.
func newNamespace(t *testing.T, c client.Client, labels map[string]string) string {
	t.Helper()
	prefix := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, t.Name()))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-", Labels: labels}}
	create(t, c, ns)
	return ns.Name
}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// service returns a Service with one TCP port 80 named http.
func service(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

// httpRoute returns an HTTPRoute with Service parents of these names.
func httpRoute(namespace, name string, parents ...string) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	group, kind := gatewayv1.Group(""), gatewayv1.Kind("Service")
	for _, parent := range parents {
		route.Spec.ParentRefs = append(route.Spec.ParentRefs, gatewayv1.ParentReference{
			Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(parent),
		})
	}
	return route
}
