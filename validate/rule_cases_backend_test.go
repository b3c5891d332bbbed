package validate

import (
	"github.com/gammaguard/gammaguard/mesh"
)

// to returns rules with one rule that has these backendRefs.
func to(backendRefs string) string { return `, rules: [{backendRefs: [` + backendRefs + `]}]` }

// mirrorTo returns rules that mirror to the backend, once for the rule and once
// for a backendRef.
func mirrorTo(backendRef string) string {
	mirror := `filters: [{type: RequestMirror, requestMirror: {backendRef: ` + backendRef + `}}]`
	return `, rules: [{` + mirror + `, backendRefs: [{name: cart, port: 80, ` + mirror + `}]}]`
}

func backendCases() []ruleCase {
	cart := on(service("cart"))
	return []ruleCase{
		{"backend-external-name", "with endpoints", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 80}, {name: headless, port: 80}, {name: gone, port: 80}`), "", nil, nil},
		{"backend-external-name", "another kind of that name", mesh.HTTPRoute, "shop", cart + to(`{group: acme.example, kind: Bucket, name: alias}`), "", nil, nil},
		{"backend-external-name", "alias, with weight 0 too", mesh.HTTPRoute, "faces", cart + to(`{name: alias, namespace: shop, port: 80}, {kind: Service, name: alias, namespace: shop, port: 81, weight: 0}`), "", nil, []string{
			`Invalid spec.rules[0].backendRefs[0].name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
			`Invalid spec.rules[0].backendRefs[1].name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
		}},
		{"backend-external-name", "mirrors", mesh.GRPCRoute, "shop", cart + mirrorTo(`{name: alias, port: 80}`), "", nil, []string{
			`Invalid spec.rules[0].filters[0].requestMirror.backendRef.name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
			`Invalid spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.name "alias": Service shop/alias is of type ExternalName; use a Service with endpoints`,
		}},

		{"backend-group-invalid", "right groups", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 80}, {group: "", kind: Service, name: cart, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}, {group: serving.knative.dev, kind: Service, name: cart, port: 80}`), "", nil, nil},
		{"backend-group-invalid", "wrong groups", mesh.HTTPRoute, "shop", cart + to(`{group: core, name: cart, port: 80}, {group: core, kind: ServiceImport, name: cards, port: 80}`), "", nil, []string{
			`Invalid spec.rules[0].backendRefs[0].group "core": kind Service is in the core group; leave group out or set it to ""`,
			`Invalid spec.rules[0].backendRefs[1].group "core": kind ServiceImport is in multicluster.x-k8s.io; set group: multicluster.x-k8s.io`,
		}},
		{"backend-group-invalid", "mirrors", mesh.HTTPRoute, "shop", cart + mirrorTo(`{group: core, kind: Service, name: cart, port: 80}`), "", nil, []string{
			`Invalid spec.rules[0].filters[0].requestMirror.backendRef.group "core": kind Service is in the core group; leave group out or set it to ""`,
			`Invalid spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.group "core": kind Service is in the core group; leave group out or set it to ""`,
		}},

		{"backend-not-found", "found", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}, {group: acme.example, kind: Bucket, name: gone}`), "", nil, nil},
		{"backend-not-found", "not found", mesh.UDPRoute, "shop", cart + to(`{group: acme.example, kind: Bucket, name: a}, {name: gone, port: 80}, {name: cart, namespace: faces, port: 80}`), "", nil, []string{
			`NotFound spec.rules[0].backendRefs[1].name "gone": Service shop/gone does not exist; create it, or correct name and namespace`,
			`NotFound spec.rules[0].backendRefs[2].name "cart": Service faces/cart does not exist; create it, or correct name and namespace`,
		}},
		{"backend-not-found", "a mirror", mesh.HTTPRoute, "shop", cart + `, rules: [{filters: [{requestMirror: {backendRef: {name: gone, port: 80}}}]}]`, "", nil, []string{
			`NotFound spec.rules[0].filters[0].requestMirror.backendRef.name "gone": Service shop/gone does not exist; create it, or correct name and namespace`,
		}},

		{"backend-port-not-found", "found", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 8080}, {name: dns, port: 53}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}`), "", nil, nil},
		{"backend-port-not-found", "not judged", mesh.HTTPRoute, "shop", cart + to(`{name: alias, port: 81}, {name: gone, port: 1}, {name: cart}`), "", nil, nil},
		{"backend-port-not-found", "no such port", mesh.HTTPRoute, "shop", cart + to(`{name: alias, port: 1}, {name: cart, port: 81}, {name: portless, port: 80}`), "", nil, []string{
			`Invalid spec.rules[0].backendRefs[1].port 81: Service shop/cart has no TCP port 81; use one of its ports: 80 (http), 8080 (admin)`,
			`Invalid spec.rules[0].backendRefs[2].port 80: Service shop/portless has no TCP port 80; give it a TCP port`,
		}},
		{"backend-port-not-found", "of the other transport", mesh.UDPRoute, "shop", on(service("dns")) + to(`{name: syslog, port: 514}, {name: cart, port: 80}`), "", nil, []string{
			`Invalid spec.rules[0].backendRefs[1].port 80: Service shop/cart has no UDP port 80; give it a UDP port`,
		}},

		{"backend-no-endpoints", "has some", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 80}`), "", nil, nil},
		{"backend-no-endpoints", "not judged", mesh.HTTPRoute, "shop", cart + to(`{name: gone, port: 80}, {name: alias, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: cards, port: 80}`), "", nil, nil},
		{"backend-no-endpoints", "has none", mesh.HTTPRoute, "shop", cart + to(`{name: alias, port: 80}, {name: one, port: 80}, {name: dns, port: 80}`), "", nil, []string{
			`Invalid spec.rules[0].backendRefs[1].name "one": Service shop/one has no endpoints; check its selector, and that its Pods exist`,
			`Invalid spec.rules[0].backendRefs[2].name "dns": Service shop/dns has no endpoints; check its selector, and that its Pods exist`,
		}},

		{"backend-not-permitted", "permitted", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 80}, {name: probe, namespace: lab, port: 80}, {name: cart, namespace: shop, port: 80}`), "", nil, nil},
		{"backend-not-permitted", "not permitted", mesh.HTTPRoute, "shop", cart + to(`{name: smiley, namespace: faces, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: far, namespace: lab, port: 80}`), "", nil, []string{
			`Forbidden spec.rules[0].backendRefs[0].namespace "faces": no ReferenceGrant permits HTTPRoutes of shop to use Service faces/smiley; have one created in its namespace`,
			`Forbidden spec.rules[0].backendRefs[1].namespace "lab": no ReferenceGrant permits HTTPRoutes of shop to use ServiceImport lab/far; have one created in its namespace`,
		}},
		{"backend-not-permitted", "after ones that need none, are another's, or are permitted", mesh.HTTPRoute, "shop", cart + to(`{group: acme.example, kind: Bucket, name: a}, {name: cart, port: 80}, {name: probe, namespace: lab, port: 80}, {name: smiley, namespace: faces, port: 80}`), "", nil, []string{
			`Forbidden spec.rules[0].backendRefs[3].namespace "faces": no ReferenceGrant permits HTTPRoutes of shop to use Service faces/smiley; have one created in its namespace`,
		}},
		{"backend-not-permitted", "another kind of route", mesh.GRPCRoute, "shop", cart + to(`{name: probe, namespace: lab, port: 80}`), "", nil, []string{
			`Forbidden spec.rules[0].backendRefs[0].namespace "lab": no ReferenceGrant permits GRPCRoutes of shop to use Service lab/probe; have one created in its namespace`,
		}},

		{"backend-weights-zero", "some traffic", mesh.HTTPRoute, "shop", cart + to(`{name: cart, port: 80, weight: 0}, {name: cart, port: 8080}`), "", nil, nil},
		{"backend-weights-zero", "no backends", mesh.HTTPRoute, "shop", cart + `, rules: [{}, {filters: [{type: RequestRedirect}]}]`, "", nil, nil},
		{"backend-weights-zero", "none", mesh.TCPRoute, "shop", cart + `, rules: [{backendRefs: [{name: cart, port: 80}]}, {backendRefs: [{name: cart, port: 80, weight: 0}, {name: gone, port: 80, weight: 0}]}]`, "", nil, []string{
			`Invalid spec.rules[1].backendRefs "": every backendRef has weight 0, so requests that this rule matches fail; give one of them a weight above 0`,
		}},
	}
}
