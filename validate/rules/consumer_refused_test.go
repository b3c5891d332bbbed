package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

func TestConsumerRefused(t *testing.T) {
	const allow = " refuses consumer routes; ask the Service's owner to run: kubectl label "
	testRule(t, consumerRefused(), []ruleCase{
		{name: "welcome", namespace: "faces", spec: on(service("cart, namespace: shop"), service("lobby, namespace: closed"))},
		{
			name: "by the default of the cluster", namespace: "faces", spec: on(service("cart, namespace: shop")),
			policy: &validate.Policy{Grants: mesh.GrantPolicy{ConsumerRoutes: mesh.ConsumersDenied}},
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/cart refuses consumer routes by default; ` +
					`ask the Service's owner to run: kubectl label service -n shop cart gammaguard.dev/consumer-routes=allow`,
			},
		},
		{name: "a producer is no consumer", spec: on(service("shy"))},
		{
			name: "by the Service", namespace: "faces", spec: on(service("shy, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/shy` + allow + `service -n shop shy gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
		{
			name: "beside a Service of its own", namespace: "faces", spec: on(service("own"), service("shy, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[1] "": Service shop/shy` + allow + `service -n shop shy gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
		{
			name: "by an unknown word", namespace: "faces", spec: on(service("unsure, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/unsure` + allow + `service -n shop unsure gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
		{name: "selected by labels and kind", namespace: "faces", spec: on(service("choosy, namespace: shop"))},
		{
			name: "by the Service's selector", namespace: "lab", spec: on(service("choosy, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/choosy accepts only namespaces matching "kubernetes.io/metadata.name in (faces)"` +
					`; ask its owner to select namespace lab in gammaguard.dev/consumer-routes-from`,
			},
		},
		{
			name: "by a longer selector, whole", namespace: "lab", spec: on(service("wordy, namespace: shop")),
			routes: `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: wordy, annotations: {gammaguard.dev/consumer-routes-from: "kubernetes.io/metadata.name in (faces, team-a)"}}, spec: {ports: [{port: 80}]}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/wordy accepts only namespaces matching "kubernetes.io/metadata.name in (faces, team-a)"` +
					`; ask its owner to select namespace lab in gammaguard.dev/consumer-routes-from`,
			},
		},
		{
			name: "by its name, which selects a label", namespace: "lab", spec: on(service("bare, namespace: shop"), service("both, namespace: shop"), service("other, namespace: shop")),
			routes: `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: bare, annotations: {gammaguard.dev/consumer-routes-from: lab}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: both, annotations: {gammaguard.dev/consumer-routes-from: "kubernetes.io/metadata.name=lab, faces"}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: other, annotations: {gammaguard.dev/consumer-routes-from: faces}}, spec: {ports: [{port: 80}]}}
---
`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/bare accepts only namespaces matching "lab"` +
					`; a word alone is a label; ask its owner to set gammaguard.dev/consumer-routes-from to "kubernetes.io/metadata.name in (lab)"`,
				`Forbidden spec.parentRefs[1] "": Service shop/both accepts only namespaces matching "kubernetes.io/metadata.name=lab, faces"` +
					`; a word alone is a label; ask its owner to set gammaguard.dev/consumer-routes-from to "kubernetes.io/metadata.name in (lab, faces)"`,
				`Forbidden spec.parentRefs[2] "": Service shop/other accepts only namespaces matching "faces"` +
					`; ask its owner to select namespace lab in gammaguard.dev/consumer-routes-from`,
			},
		},
		{
			name: "by the Service's kinds", kind: mesh.TCPRoute, namespace: "faces", spec: on(service("choosy, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/choosy accepts consumer routes only of kind HTTPRoute, GRPCRoute` +
					`; ask its owner to add TCPRoute to gammaguard.dev/consumer-route-kinds`,
			},
		},
		{
			name: "by both, each of its own side", namespace: "faces", spec: on(service("shy, namespace: shop"), service("plain, namespace: shop"), service("shy, namespace: lab"), service("plain, namespace: lab"), service("far, namespace: shop"), service("far, namespace: lab")),
			routes: `{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {gammaguard.dev/consumer-route-kinds: TCPRoute}}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: shy, annotations: {gammaguard.dev/consumer-routes-from: "team=a", gammaguard.dev/consumer-route-kinds: GRPCRoute}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: plain, annotations: {gammaguard.dev/consumer-routes-from: "team=a"}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab, annotations: {gammaguard.dev/consumer-routes-from: "team=a"}}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: lab, name: shy, annotations: {gammaguard.dev/consumer-route-kinds: a b}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: lab, name: plain, annotations: {gammaguard.dev/consumer-route-kinds: HTTPRoute}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: far, labels: {gammaguard.dev/consumer-routes: deny}, annotations: {gammaguard.dev/consumer-routes-from: "faces"}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: lab, name: far, labels: {gammaguard.dev/consumer-routes: deny}}, spec: {ports: [{port: 80}]}}`,
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/shy accepts only namespaces matching "team=a"` +
					`; ask its owner to select namespace faces in consumer-routes-from, and to add HTTPRoute to consumer-route-kinds`,
				`Forbidden spec.parentRefs[1] "": Service shop/plain accepts only namespaces matching "team=a"` +
					`; ask its owner to select namespace faces in consumer-routes-from, and a mesh admin to add HTTPRoute to consumer-route-kinds`,
				`Forbidden spec.parentRefs[2] "": namespace lab accepts only namespaces matching "team=a"` +
					`; ask a mesh admin to select namespace faces in consumer-routes-from, and the Service's owner to fix consumer-route-kinds`,
				`Forbidden spec.parentRefs[3] "": namespace lab accepts only namespaces matching "team=a"` +
					`; ask a mesh admin to select namespace faces in gammaguard.dev/consumer-routes-from`,
				`Forbidden spec.parentRefs[4] "": Service shop/far refuses consumer routes; ask the Service's owner to set consumer-routes=allow, to ` +
					`set consumer-routes-from to "kubernetes.io/metadata.name in (faces)", and to add HTTPRoute to consumer-route-kinds`,
				`Forbidden spec.parentRefs[5] "": Service lab/far refuses consumer routes; ask the Service's owner to set consumer-routes=allow` +
					`, and to select namespace faces in consumer-routes-from`,
			},
		},
		{
			name: "by the namespace, with a contact", namespace: "faces", spec: on(service("anything, namespace: picky")), policy: &validate.Policy{Grants: mesh.GrantPolicy{Contact: "#mesh"}},
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace picky accepts only namespaces matching "tenant=gold"` +
					`; ask #mesh to select namespace faces in gammaguard.dev/consumer-routes-from`,
			},
		},
		{
			name: "by annotations that are not valid", namespace: "faces", spec: on(service("garbled, namespace: shop"), serviceImport("garbled, namespace: shop")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": Service shop/garbled accepts no consumer routes: its annotation gammaguard.dev/consumer-routes-from is not ` +
					`valid ("a b"); ask its owner to fix it`,
				`Forbidden spec.parentRefs[1] "": ServiceImport shop/garbled accepts no consumer routes: its annotation gammaguard.dev/consumer-route-kinds is not ` +
					`valid ("HTTPRoute,Gateway"); ask its owner to fix it`,
			},
		},
		{
			name: "by the selector of the namespace, whether the Service exists or not", namespace: "faces", spec: on(service("anything, namespace: picky")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace picky accepts only namespaces matching "tenant=gold"` +
					`; ask a mesh admin to select namespace faces in gammaguard.dev/consumer-routes-from`,
			},
		},
		{
			name: "by the namespace, whether it exists or not", namespace: "faces", spec: on(service("vault, namespace: closed"), service("nothing, namespace: closed"), serviceImport("cards, namespace: closed")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace closed` + allow + `service -n closed vault gammaguard.dev/consumer-routes=allow --overwrite`,
				`Forbidden spec.parentRefs[1] "": namespace closed` + allow + `service -n closed nothing gammaguard.dev/consumer-routes=allow --overwrite`,
				`Forbidden spec.parentRefs[2] "": namespace closed` + allow + `serviceimport -n closed cards gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
	})
}
