package attack

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// define installs a stand-in for the definition of Linkerd's HTTPRoute, in all versions that
// Linkerd serves: with its defaults for parentRefs, and any rules.
func (s *site) define(ctx context.Context) error {
	const version = `{name: %s, served: true, storage: %v, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
  spec: {type: object, properties: {
    hostnames: {type: array, maxItems: 16, items: {type: string}},
    rules: {type: array, maxItems: 16, items: {type: object, x-kubernetes-preserve-unknown-fields: true}},
    parentRefs: {type: array, maxItems: 32, items: {type: object, required: [name], properties: {
      group: {type: string, default: policy.linkerd.io},
      kind: {type: string, default: Gateway},
      name: {type: string}, namespace: {type: string}, sectionName: {type: string}, port: {type: integer}}}}}},
  status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}`
	var versions []string
	for _, v := range []string{"v1alpha1", "v1beta1", "v1beta2", "v1beta3"} {
		versions = append(versions, fmt.Sprintf(version, v, v == "v1beta3"))
	}
	definition := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: httproutes.policy.linkerd.io}
spec:
  group: policy.linkerd.io
  scope: Namespaced
  names: {kind: HTTPRoute, listKind: HTTPRouteList, plural: httproutes, singular: httproute}
  versions: [` + strings.Join(versions, ",\n") + "]\n"
	for _, args := range [][]string{{"apply", "-f", "-"}, {"wait", "--for=condition=Established", "crd/httproutes.policy.linkerd.io", "--timeout=60s"}} {
		if _, stderr, err := s.plane.Kubectl(ctx, definition, args...); err != nil {
			return fmt.Errorf("define Linkerd's HTTPRoute: %w: %s", err, stderr)
		}
	}
	return nil
}

// linkerdHTTP is Linkerd's own HTTPRoute, as it is stored.
var linkerdHTTP = endpoint{"HTTPRoute." + linkerdGroup, "v1beta3"}

// TestLinkerdRoute: Linkerd's own HTTPRoute needs the grant for its role, and the Service's
// side can refuse it. Nothing else about it is looked at, and nothing in it is changed.
func TestLinkerdRoute(t *testing.T) {
	s := start(t)
	user := s.tenant(t)
	s.namespace(t, "linkerd-shop", "producer")
	s.namespace(t, "linkerd-faces", "consumer")
	write := func(namespace string, parents ...parent) error {
		route := linkerdHTTP.route(namespace, "probe", parents...)
		// As no rule or mutation for the Gateway API's would leave it.
		route.Object["spec"].(object)["rules"] = []any{object{"backendRefs": []any{object{"name": "nowhere"}}, "matches": []any{object{"path": object{"type": "RegularExpression", "value": "["}}}}}
		want := mustJSON(t, route.Object["spec"])
		stored, err := user.Resource(linkerdHTTP.resource()).Namespace(namespace).Create(t.Context(), route, dryRun)
		if err == nil {
			if got := mustJSON(t, stored.Object["spec"]); got != want {
				t.Errorf("%s is stored as %s", want, got)
			}
		}
		return err
	}
	headless := object{"clusterIP": "None", "ports": []any{object{"port": int64(80)}}}
	s.service(t, "linkerd-shop", "headless", headless)
	server := parent{"group": linkerdGroup, "kind": "Server", "name": "web-http"}
	inShop := func(name string) parent {
		return parent{"group": "core", "kind": "service", "name": name, "namespace": "linkerd-shop"}
	}
	s.apply(t, services, "linkerd-shop", object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "shy", "labels": object{"gammaguard.dev/consumer-routes": "deny"}},
		"spec": object{"ports": []any{object{"port": int64(80)}}},
	})
	awaitRefusal(t, user, "linkerd-faces", parent{"group": "", "kind": "Service", "name": "shy", "namespace": "linkerd-shop"}, "consumer-refused")
	for _, test := range []struct {
		namespace, rule string
		parent          parent
	}{
		{"linkerd-shop", "", inShop("cart")},
		{"linkerd-shop", "", inShop("nowhere")},
		{"linkerd-shop", "", inShop("headless")},
		{"linkerd-shop", "", server},
		{"linkerd-shop", "", parent{"group": linkerdGroup, "kind": "Gateway", "name": "edge"}},
		{"linkerd-shop", "grant-missing", parent{"group": "", "kind": "Service", "name": "cart", "namespace": "linkerd-faces"}},
		{"linkerd-faces", "", inShop("cart")},
		{"linkerd-faces", "grant-missing", server},
		{"linkerd-faces", "consumer-refused", inShop("shy")},
	} {
		err := write(test.namespace, test.parent)
		if test.rule == "" && err != nil || test.rule != "" && (err == nil || !strings.Contains(err.Error(), "("+test.rule+")")) {
			t.Errorf("%s in %s: want %q, got %v", test.parent, test.namespace, test.rule, err)
		}
	}
	// What the caches and the reconciler do not know of has no status.
	route := linkerdHTTP.route("linkerd-shop", "kept", inShop("cart"))
	if _, err := user.Resource(linkerdHTTP.resource()).Namespace("linkerd-shop").Create(t.Context(), route, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
