package attack

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServiceSide: the owner of a Service says which namespaces and which kinds of routes
// are accepted. What others store is refused; what they stored before is marked as soon
// as that changes, and unmarked when it changes back.
func TestServiceSide(t *testing.T) {
	s := start(t)
	user := s.tenant(t)
	s.grant(t, "side-shop", "all")
	s.grant(t, "side-faces", "consumer")
	trust := func(annotations object) {
		t.Helper()
		s.apply(t, services, "side-shop", object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "cart", "annotations": annotations},
			"spec": object{"ports": []any{object{"port": int64(80)}}},
		})
	}
	trust(nil)
	cart := onCart()
	cart["namespace"] = "side-shop"
	routes := user.Resource(httpRoutes).Namespace("side-faces")
	stored, err := routes.Create(t.Context(), http.route("side-faces", "before", cart), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []object{
		{"gammaguard.dev/consumer-routes-from": "kubernetes.io/metadata.name in (other)"},
		{"gammaguard.dev/consumer-route-kinds": "GRPCRoute,TCPRoute"},
		{"gammaguard.dev/consumer-routes-from": "what is (this"},
	} {
		trust(refused)
		awaitRefusal(t, user, "side-faces", cart, "consumer-refused")
		awaitReason(t, s.admin, stored, "ConsumerRefused")
		trust(object{"gammaguard.dev/consumer-routes-from": "kubernetes.io/metadata.name in (side-faces)", "gammaguard.dev/consumer-route-kinds": "HTTPRoute"})
		awaitReason(t, s.admin, stored, "")
	}
	if _, err := routes.Create(t.Context(), http.route("side-faces", "after", cart), metav1.CreateOptions{}); err != nil {
		t.Errorf("a route that the Service accepts: %v", err)
	}
}
