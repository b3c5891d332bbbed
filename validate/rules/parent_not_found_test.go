package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentNotFound(t *testing.T) {
	testRule(t, parentNotFound(), []ruleCase{
		{name: "a kind of which nothing is known", spec: on(`{group: acme.example, kind: Cell, name: a}`)},
		{
			name: "a misspelled kind, which no API server serves", spec: on(`{group: "", kind: Services, name: cart}`, `{kind: Servce, name: cart}`, `{group: "", kind: svc, name: cart}`, `{group: "", kind: Pod, name: cart}`, `{group: acme.example, kind: Services, name: cart}`),
			want: []string{
				`NotFound spec.parentRefs[0].kind "Services": the API server does not serve kind Services in group ""; did you mean Service in group ""?`,
				`NotFound spec.parentRefs[1].kind "Servce": the API server does not serve kind Servce in group "gateway.networking.k8s.io"; did you mean Service in group ""?`,
				`NotFound spec.parentRefs[2].kind "svc": the API server does not serve kind svc in group ""; did you mean Service in group ""?`,
			},
		},
		{
			name: "another mesh parent", policy: under(mesh.Istio), spec: on(`{group: networking.istio.io, kind: ServiceEntry, name: outside}`),
			want: []string{`NotFound spec.parentRefs[0].name "outside": ServiceEntry shop/outside does not exist; create it first, or correct the reference`},
		},
		{
			name: "another mesh parent that is there", policy: under(mesh.Istio), spec: on(`{group: networking.istio.io, kind: ServiceEntry, name: outside}`),
			routes: "{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {namespace: shop, name: outside}}\n---\n",
		},
		{name: "found", spec: on(service("cart"), serviceImport("cards"))},
		{
			name: "not found", namespace: "faces", spec: on(service("cart"), service("cart, namespace: lab"), serviceImport("cart, namespace: shop"), service("cart.x")),
			want: []string{
				`NotFound spec.parentRefs[0].name "cart": Service faces/cart does not exist; create it first, or correct the reference; for a Service elsewhere, set namespace in the parentRef`,
				`NotFound spec.parentRefs[1].name "cart": Service lab/cart does not exist; create it first, or correct the reference`,
				`NotFound spec.parentRefs[2].name "cart": ServiceImport shop/cart does not exist; create it first, or correct the reference`,
				`NotFound spec.parentRefs[3].name "cart.x": Service faces/cart.x does not exist; of a host, name is the first part, and namespace the second`,
			},
		},
	})
}
