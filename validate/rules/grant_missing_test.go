package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestGrantMissing(t *testing.T) {
	const can, elsewhere = "ask a mesh admin to run: kubectl label namespace ", "; for a Service elsewhere, set namespace in the parentRef"
	testRule(t, grantMissing(), []ruleCase{
		{name: "granted", spec: on(service("cart"), service("probe, namespace: lab"))},
		{
			name: "producer", namespace: "lab", spec: on(service("probe")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace lab lacks the producer grant for HTTPRoute; ` + can + `lab gammaguard.dev/grant=producer` + elsewhere,
			},
		},
		{
			name: "consumer", kind: mesh.GRPCRoute, namespace: "lab", spec: on(`{name: edge}`, service("cart, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[1] "": namespace lab lacks the consumer grant for GRPCRoute; ` + can + `lab gammaguard.dev/grant=consumer`,
			},
		},
		{
			name: "its own namespace, misspelled", namespace: "lab", spec: on(service("probe, namespace: lav")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace lab lacks the consumer grant for HTTPRoute; ` + can + `lab gammaguard.dev/grant=consumer; or is namespace lav in the parentRef misspelled?`,
			},
		},
		{
			name: "both", kind: mesh.TCPRoute, namespace: "lab", spec: on(service("probe"), service("cart, namespace: shop"), serviceImport("x")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace lab lacks the producer grant for TCPRoute; ` + can + `lab gammaguard.dev/grant=all` + elsewhere,
				`Forbidden spec.parentRefs[1] "": namespace lab lacks the consumer grant for TCPRoute; ` + can + `lab gammaguard.dev/grant=all`,
				`Forbidden spec.parentRefs[2] "": namespace lab lacks the producer grant for TCPRoute; ` + can + `lab gammaguard.dev/grant=all` + elsewhere,
			},
		},
		{
			name: "asked of someone", namespace: "lab", spec: on(service("probe")), policy: &validate.Policy{Grants: mesh.GrantPolicy{Contact: "#mesh"}},
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace lab lacks the producer grant for HTTPRoute; ask #mesh to run: ` +
					`kubectl label namespace lab gammaguard.dev/grant=producer` + elsewhere,
			},
		},
		{
			name: "beside the default", namespace: "lab", spec: on(service("cart, namespace: shop")),
			policy: &validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantProducer}},
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace lab lacks the consumer grant for HTTPRoute; ` + can + `lab gammaguard.dev/grant=all`,
			},
		},
		{
			name: "by the default", namespace: "lab", spec: on(service("cart, namespace: shop")),
			policy: &validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantConsumer}},
		},
		{
			name: "no such namespace", namespace: "gone", spec: on(service("cart")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace gone lacks the producer grant for HTTPRoute; ` + can + `gone gammaguard.dev/grant=producer` + elsewhere,
			},
		},
		{
			name: "label of the other role", namespace: "some", spec: on(service("cart, namespace: shop")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: producer}}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace some lacks the consumer grant for HTTPRoute; ` + can + `some gammaguard.dev/grant=all --overwrite`,
			},
		},
		{
			name: "label none", namespace: "some", spec: on(service("cart")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: none}}}`,
			policy: &validate.Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantAll}},
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace some lacks the producer grant for HTTPRoute; ` + can + `some gammaguard.dev/grant=producer --overwrite` + elsewhere,
			},
		},
		{
			name: "misspelled label", namespace: "some", spec: on(service("cart")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: Producer, gammaguard.dev/mode: x}}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace some lacks the producer grant for HTTPRoute (unknown label value "Producer"); ` +
					can + `some gammaguard.dev/grant=producer --overwrite`,
			},
		},
		{
			name: "another label is misspelled", namespace: "some", spec: on(service("cart")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/mode: x}}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace some lacks the producer grant for HTTPRoute; ` + can + `some gammaguard.dev/grant=producer` + elsewhere,
			},
		},
		{
			name: "narrowed to other kinds", kind: mesh.TCPRoute, namespace: "some", spec: on(service("cart")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: producer}, annotations: {gammaguard.dev/grant-route-kinds: HTTPRoute}}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace some lacks the producer grant for TCPRoute; ask a mesh admin to add TCPRoute to the annotation gammaguard.dev/grant-route-kinds`,
			},
		},
		{
			name: "an unreadable annotation, and another role", kind: mesh.TCPRoute, namespace: "some", spec: on(service("cart"), service("cart, namespace: shop")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: producer}, annotations: {gammaguard.dev/grant-route-kinds: HTTP}}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace some lacks the producer grant for TCPRoute; ask a mesh admin to set gammaguard.dev/grant=all, ` +
					`and to correct the annotation gammaguard.dev/grant-route-kinds, which cannot be read`,
				`Forbidden spec.parentRefs[1] "": namespace some lacks the consumer grant for TCPRoute; ask a mesh admin to set gammaguard.dev/grant=all, ` +
					`and to correct the annotation gammaguard.dev/grant-route-kinds, which cannot be read`,
			},
		},
		{
			name: "look-alikes and other mesh parents", namespace: "lab", policy: &validate.Policy{Grants: mesh.GrantPolicy{ParentKinds: []string{"MeshService.kuma.io"}}},
			spec: on(`{group: core, kind: Service, name: probe}`, `{group: "", kind: SERVICE, name: cart, namespace: shop}`,
				`{group: kuma.io, kind: MeshService, name: a}`, `{group: kuma.io, kind: MeshGateway, name: a}`),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace lab lacks the producer grant for HTTPRoute; ` + can + `lab gammaguard.dev/grant=all` + elsewhere,
				`Forbidden spec.parentRefs[1] "": namespace lab lacks the consumer grant for HTTPRoute; ` + can + `lab gammaguard.dev/grant=all`,
				`Forbidden spec.parentRefs[2] "": namespace lab lacks the producer grant for HTTPRoute; ` + can + `lab gammaguard.dev/grant=all`,
			},
		},
	})
}
