package validate

import (
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Specs and parts of them that cases share.
const (
	getOnly  = `, rules: [{matches: [{method: GET}]}]`
	catchAll = `, rules: [{}]`
)

// ruleCases are the cases of all rules.
func ruleCases() []ruleCase {
	var cases []ruleCase
	for _, more := range [][]ruleCase{grantCases(), parentCases(), portCases(), backendCases(), routeCases()} {
		cases = append(cases, more...)
	}
	return cases
}

func grantCases() []ruleCase {
	const can = "a mesh admin can: kubectl label namespace "
	const allow = " refuses consumer routes; the Service's owner can: kubectl label "
	return []ruleCase{
		{"grant-missing", "granted", mesh.HTTPRoute, "shop", on(service("cart"), service("probe, namespace: lab")), "", nil, nil},
		{"grant-missing", "producer", mesh.HTTPRoute, "lab", on(service("probe")), "", nil, []string{
			`Forbidden spec.parentRefs[0] "": namespace lab is not granted producer HTTPRoutes; ` + can + `lab gammaguard.dev/grant=producer`,
		}},
		{"grant-missing", "consumer", mesh.GRPCRoute, "lab", on(`{name: edge}`, service("cart, namespace: shop")), "", nil, []string{
			`Forbidden spec.parentRefs[1] "": namespace lab is not granted consumer GRPCRoutes; ` + can + `lab gammaguard.dev/grant=consumer`,
		}},
		{"grant-missing", "both", mesh.TCPRoute, "lab", on(service("probe"), service("cart, namespace: shop"), serviceImport("x")), "", nil, []string{
			`Forbidden spec.parentRefs[0] "": namespace lab is not granted producer TCPRoutes; ` + can + `lab gammaguard.dev/grant=all`,
			`Forbidden spec.parentRefs[1] "": namespace lab is not granted consumer TCPRoutes; ` + can + `lab gammaguard.dev/grant=all`,
			`Forbidden spec.parentRefs[2] "": namespace lab is not granted producer TCPRoutes; ` + can + `lab gammaguard.dev/grant=all`,
		}},
		{"grant-missing", "beside the default", mesh.HTTPRoute, "lab", on(service("cart, namespace: shop")), "", &Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantProducer}}, []string{
			`Forbidden spec.parentRefs[0] "": namespace lab is not granted consumer HTTPRoutes; ` + can + `lab gammaguard.dev/grant=all`,
		}},
		{"grant-missing", "by the default", mesh.HTTPRoute, "lab", on(service("cart, namespace: shop")), "", &Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantConsumer}}, nil},
		{"grant-missing", "no such namespace", mesh.HTTPRoute, "gone", on(service("cart")), "", nil, []string{
			`Forbidden spec.parentRefs[0] "": namespace gone is not granted producer HTTPRoutes; ` + can + `gone gammaguard.dev/grant=producer`,
		}},
		{
			"grant-missing", "label of the other role", mesh.HTTPRoute, "some", on(service("cart, namespace: shop")),
			`{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: producer}}}`, nil,
			[]string{
				`Forbidden spec.parentRefs[0] "": namespace some is not granted consumer HTTPRoutes; ` + can + `some gammaguard.dev/grant=all --overwrite`,
			},
		},
		{
			"grant-missing", "label none", mesh.HTTPRoute, "some", on(service("cart")),
			`{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: none}}}`, &Policy{Grants: mesh.GrantPolicy{Default: mesh.GrantAll}},
			[]string{
				`Forbidden spec.parentRefs[0] "": namespace some is not granted producer HTTPRoutes; ` + can + `some gammaguard.dev/grant=producer --overwrite`,
			},
		},
		{
			"grant-missing", "misspelt label", mesh.HTTPRoute, "some", on(service("cart")),
			`{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/grant: Producer, gammaguard.dev/mode: x}}}`, nil,
			[]string{
				`Forbidden spec.parentRefs[0] "": namespace some is not granted producer HTTPRoutes (its label says "Producer"); ` +
					can + `some gammaguard.dev/grant=producer --overwrite`,
			},
		},

		{
			"grant-missing", "another label is misspelt", mesh.HTTPRoute, "some", on(service("cart")),
			`{apiVersion: v1, kind: Namespace, metadata: {name: some, labels: {gammaguard.dev/mode: x}}}`, nil,
			[]string{
				`Forbidden spec.parentRefs[0] "": namespace some is not granted producer HTTPRoutes; ` + can + `some gammaguard.dev/grant=producer`,
			},
		},

		{"consumer-refused", "welcome", mesh.HTTPRoute, "faces", on(service("cart, namespace: shop"), service("lobby, namespace: closed")), "", nil, nil},
		{"consumer-refused", "a producer is no consumer", mesh.HTTPRoute, "shop", on(service("shy")), "", nil, nil},
		{"consumer-refused", "by the Service", mesh.HTTPRoute, "faces", on(service("shy, namespace: shop")), "", nil, []string{
			`Forbidden spec.parentRefs[0] "": Service shop/shy` + allow + `service -n shop shy gammaguard.dev/consumer-routes=allow --overwrite`,
		}},
		{
			"consumer-refused", "beside a Service of its own", mesh.HTTPRoute, "faces", on(service("own"), service("shy, namespace: shop")), "", nil, []string{
				`Forbidden spec.parentRefs[1] "": Service shop/shy` + allow + `service -n shop shy gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
		{"consumer-refused", "by an unknown word", mesh.HTTPRoute, "faces", on(service("unsure, namespace: shop")), "", nil, []string{
			`Forbidden spec.parentRefs[0] "": Service shop/unsure` + allow + `service -n shop unsure gammaguard.dev/consumer-routes=allow --overwrite`,
		}},
		{
			"consumer-refused", "by the namespace, whether it exists or not", mesh.HTTPRoute, "faces",
			on(service("vault, namespace: closed"), service("nothing, namespace: closed"), serviceImport("cards, namespace: closed")), "", nil,
			[]string{
				`Forbidden spec.parentRefs[0] "": namespace closed` + allow + `service -n closed vault gammaguard.dev/consumer-routes=allow --overwrite`,
				`Forbidden spec.parentRefs[1] "": namespace closed` + allow + `service -n closed nothing gammaguard.dev/consumer-routes=allow --overwrite`,
				`Forbidden spec.parentRefs[2] "": namespace closed` + allow + `serviceimport -n closed cards gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
	}
}

func parentCases() []ruleCase {
	const mistaken = `kind Service is in the core group, which is written ""; set group: ""`
	return []ruleCase{
		{"parent-group-invalid", "right", mesh.HTTPRoute, "shop", on(service("cart"), serviceImport("cards"), `{name: edge}`), "", nil, nil},
		{"parent-group-invalid", "wrong", mesh.HTTPRoute, "shop", on(`{kind: Service, name: cart}`, `{group: core, kind: Service, name: cart}`, `{group: v1, kind: Service, name: cart}`), "", nil, []string{
			`Invalid spec.parentRefs[0].group "gateway.networking.k8s.io": ` + mistaken,
			`Invalid spec.parentRefs[1].group "core": ` + mistaken,
			`Invalid spec.parentRefs[2].group "v1": ` + mistaken,
		}},
		{"parent-group-invalid", "an import", mesh.HTTPRoute, "shop", on(`{group: core, kind: ServiceImport, name: cards}`), "", nil, []string{
			`Invalid spec.parentRefs[0].group "core": kind ServiceImport is in multicluster.x-k8s.io; set group: multicluster.x-k8s.io`,
		}},

		{"parent-kind-not-allowed", "nothing is listed", mesh.HTTPRoute, "shop", on(`{group: kuma.io, kind: MeshService, name: cart}`), "", nil, nil},
		{
			"parent-kind-not-allowed", "listed", mesh.HTTPRoute, "shop", on(`{group: kuma.io, kind: MeshService, name: cart}`, service("cart"), `{name: edge}`), "",
			&Policy{AllowedParentKinds: []string{"MeshService.kuma.io"}}, nil,
		},
		{
			"parent-kind-not-allowed", "not listed", mesh.HTTPRoute, "shop", on(service("cart"), `{group: networking.istio.io, kind: ServiceEntry, name: cart}`), "",
			&Policy{AllowedParentKinds: []string{"MeshService.kuma.io", "Waypoint.acme.example"}},
			[]string{
				`Invalid spec.parentRefs[1].kind "ServiceEntry": parents of kind ServiceEntry.networking.istio.io are not allowed here; ` +
					`beside Gateway, ListenerSet, Service and ServiceImport, use one of: MeshService.kuma.io, Waypoint.acme.example`,
			},
		},

		{"parent-not-found", "found", mesh.HTTPRoute, "shop", on(service("cart"), serviceImport("cards")), "", nil, nil},
		{"parent-not-found", "not found", mesh.HTTPRoute, "faces", on(service("cart"), service("cart, namespace: lab"), serviceImport("cart, namespace: shop")), "", nil, []string{
			`NotFound spec.parentRefs[0].name "cart": Service faces/cart does not exist; create it first, or correct name and namespace`,
			`NotFound spec.parentRefs[1].name "cart": Service lab/cart does not exist; create it first, or correct name and namespace`,
			`NotFound spec.parentRefs[2].name "cart": ServiceImport shop/cart does not exist; create it first, or correct name and namespace`,
		}},

		{"parent-headless", "not headless", mesh.HTTPRoute, "shop", on(service("cart"), serviceImport("cards"), service("nowhere")), "", nil, nil},
		{"parent-headless", "ExternalName is not headless", mesh.HTTPRoute, "shop", on(service("alias-none")), "", nil, nil},
		{"parent-headless", "headless", mesh.TCPRoute, "shop", on(service("headless"), serviceImport("loose")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "headless": Service shop/headless is headless (clusterIP: None): no IP to match; use one with a cluster IP`,
			`Invalid spec.parentRefs[1].name "loose": ServiceImport shop/loose is headless (type: Headless): no IP to match; use one with a cluster IP`,
		}},

		{"parent-external-name", "another type", mesh.HTTPRoute, "shop", on(service("cart"), service("headless")), "", nil, nil},
		{"parent-external-name", "alias", mesh.HTTPRoute, "shop", on(service("alias"), service("alias-none, port: 80")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "alias": Service shop/alias is of type ExternalName, a mere DNS alias; use one of type ClusterIP`,
			`Invalid spec.parentRefs[1].name "alias-none": Service shop/alias-none is of type ExternalName, a mere DNS alias; use one of type ClusterIP`,
		}},

		{"parent-exposed-type", "ClusterIP", mesh.HTTPRoute, "shop", on(service("cart"), service("alias"), serviceImport("cards")), "", nil, nil},
		{"parent-exposed-type", "exposed", mesh.HTTPRoute, "shop", on(service("node"), service("balanced")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "node": Service shop/node is of type NodePort, so traffic may bypass routes; prefer a Gateway`,
			`Invalid spec.parentRefs[1].name "balanced": Service shop/balanced is of type LoadBalancer, so traffic may bypass routes; prefer a Gateway`,
		}},

		{"parent-duplicate", "distinct", mesh.HTTPRoute, "shop", on(service("cart, port: 80"), service("cart, sectionName: admin"), service("cart, namespace: faces"), serviceImport("cart")), "", nil, nil},
		{"parent-duplicate", "all ports and one of several", mesh.HTTPRoute, "shop", on(service("cart"), service("cart, port: 80")), "", nil, nil},
		{"parent-duplicate", "namespace left out and spelt out", mesh.HTTPRoute, "shop", on(service("cart"), service("cart, namespace: shop")), "", nil, []string{
			`Duplicate spec.parentRefs[1] "cart": selects the same ports of Service shop/cart as spec.parentRefs[0]; remove one of the two`,
		}},
		{"parent-duplicate", "number and name", mesh.HTTPRoute, "shop", on(service("cart, port: 8080"), service("one"), service("cart, sectionName: admin")), "", nil, []string{
			`Duplicate spec.parentRefs[2] "cart": selects the same ports of Service shop/cart as spec.parentRefs[0]; remove one of the two`,
		}},
		{"parent-duplicate", "the only port", mesh.HTTPRoute, "shop", on(service("one"), service("one, port: 80"), service("one, port: 80, sectionName: http")), "", nil, []string{
			`Duplicate spec.parentRefs[1] "one": selects the same ports of Service shop/one as spec.parentRefs[0]; remove one of the two`,
			`Duplicate spec.parentRefs[2] "one": selects the same ports of Service shop/one as spec.parentRefs[0]; remove one of the two`,
		}},
		{"parent-duplicate", "one number, two transports", mesh.UDPRoute, "shop", on(service("dns, port: 53"), service("dns, sectionName: dns"), service("dns, sectionName: alt")), "", nil, []string{
			`Duplicate spec.parentRefs[1] "dns": selects the same ports of Service shop/dns as spec.parentRefs[0]; remove one of the two`,
		}},
		{"parent-duplicate", "of a Service that does not exist", mesh.HTTPRoute, "shop", on(service("gone, port: 80"), service("gone, port: 81"), service("gone, port: 80, namespace: shop")), "", nil, []string{
			`Duplicate spec.parentRefs[2] "gone": selects the same ports of Service shop/gone as spec.parentRefs[0]; remove one of the two`,
		}},
		{"parent-duplicate", "ports that do not exist differ", mesh.HTTPRoute, "shop", on(service("cart, port: 1"), service("cart, port: 2")), "", nil, nil},
	}
}

func portCases() []ruleCase {
	const cartPorts = "use one of its ports: 80 (http), 8080 (admin)"
	many := `{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: many}, spec: {ports: [` +
		strings.Join([]string{`{port: 1}`, `{port: 2}`, `{port: 3}`, `{port: 4}`, `{port: 5}`, `{port: 6}`, `{port: 7}`, `{port: 8}`}, ", ") + `]}}`
	return []ruleCase{
		{"parent-port-not-found", "found", mesh.HTTPRoute, "shop", on(service("cart"), service("cart, port: 80"), service("cart, sectionName: admin"), service("cart, port: 80, sectionName: http")), "", nil, nil},
		{"parent-port-not-found", "not judged", mesh.HTTPRoute, "shop", on(service("gone, port: 1"), service("headless, port: 1"), service("alias, port: 1"), service("dns, sectionName: dns")), "", nil, nil},
		{"parent-port-not-found", "no such port", mesh.HTTPRoute, "shop", on(service("cart, port: 81"), service("cart, sectionName: grpc"), service("cart, port: 81, sectionName: http")), "", nil, []string{
			`Invalid spec.parentRefs[0].port 81: Service shop/cart has no port 81; ` + cartPorts,
			`Invalid spec.parentRefs[1].sectionName "grpc": Service shop/cart has no port named grpc; ` + cartPorts,
			`Invalid spec.parentRefs[2].port 81: Service shop/cart has no port 81; ` + cartPorts,
		}},
		{"parent-port-not-found", "both, but not of one port", mesh.HTTPRoute, "shop", on(service("cart, port: 80, sectionName: admin"), service("cart, port: 80, sectionName: grpc")), "", nil, []string{
			`Invalid spec.parentRefs[0].sectionName "admin": port 80 of Service shop/cart is not named admin; ` + cartPorts,
			`Invalid spec.parentRefs[1].sectionName "grpc": Service shop/cart has no port named grpc; ` + cartPorts,
		}},
		{"parent-port-not-found", "no ports at all", mesh.HTTPRoute, "shop", on(service("portless")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "portless": Service shop/portless has no ports; give it a TCP port`,
		}},
		{"parent-port-not-found", "ports of the other protocol are no help", mesh.UDPRoute, "shop", on(service("dns, port: 54"), service("cart, sectionName: dns")), "", nil, []string{
			`Invalid spec.parentRefs[0].port 54: Service shop/dns has no port 54; use one of its ports: 53 (dns), 5353 (alt)`,
			`Invalid spec.parentRefs[1].sectionName "dns": Service shop/cart has no port named dns; give it a UDP port`,
		}},
		{"parent-port-not-found", "a long list", mesh.HTTPRoute, "shop", on(service("many, port: 9")), many, nil, []string{
			`Invalid spec.parentRefs[0].port 9: Service shop/many has no port 9; use one of its ports: 1, 2, 3, 4, 5, 6 and 2 more`,
		}},

		{"parent-protocol-mismatch", "fits", mesh.HTTPRoute, "shop", on(service("cart"), service("dns"), service("dns, port: 53")), "", nil, nil},
		{"parent-protocol-mismatch", "UDP fits", mesh.UDPRoute, "shop", on(service("dns"), service("dns, port: 53"), service("syslog")), "", nil, nil},
		{"parent-protocol-mismatch", "no such port is another matter", mesh.UDPRoute, "shop", on(service("cart, port: 53"), service("headless")), "", nil, nil},
		{"parent-protocol-mismatch", "does not fit", mesh.HTTPRoute, "shop", on(service("syslog"), service("syslog, port: 514"), service("dns, sectionName: dns"), service("dns, port: 53, sectionName: dns")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "syslog": Service shop/syslog has no TCP port; use a Service with one, or another route kind`,
			`Invalid spec.parentRefs[1].port 514: that port of Service shop/syslog is not TCP; use a TCP port or another route kind`,
			`Invalid spec.parentRefs[2].sectionName "dns": that port of Service shop/dns is not TCP; use a TCP port or another route kind`,
			`Invalid spec.parentRefs[3].port 53: that port of Service shop/dns is not TCP; use a TCP port or another route kind`,
		}},
		{"parent-protocol-mismatch", "UDPRoute", mesh.UDPRoute, "shop", on(service("cart"), service("dns, sectionName: web")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "cart": Service shop/cart has no UDP port; use a Service with one, or another route kind`,
			`Invalid spec.parentRefs[1].sectionName "web": that port of Service shop/dns is not UDP; use a UDP port or another route kind`,
		}},

		{"parent-app-protocol", "nothing said, or not known", mesh.HTTPRoute, "shop", on(service("cart"), service("plain, port: 81")), "", nil, nil},
		{"parent-app-protocol", "one port of several is enough", mesh.GRPCRoute, "shop", on(service("plain")), "", nil, nil},
		{"parent-app-protocol", "TLSRoute on TLS", mesh.TLSRoute, "shop", on(service("secure")), "", nil, nil},
		{"parent-app-protocol", "TCPRoute on anything", mesh.TCPRoute, "shop", on(service("secure"), service("plain")), "", nil, nil},
		{"parent-app-protocol", "not attached", mesh.HTTPRoute, "shop", on(service("secure, port: 1"), service("gone")), "", nil, nil},
		{"parent-app-protocol", "HTTPRoute on TLS and TCP", mesh.HTTPRoute, "shop", on(service("secure"), service("secure, port: 9000")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "secure": HTTPRoutes cannot serve the appProtocol of Service shop/secure (443: TLS, 9000: tcp); use another route kind, or correct it`,
			`Invalid spec.parentRefs[1].name "secure": HTTPRoutes cannot serve the appProtocol of Service shop/secure (9000: tcp); use another route kind, or correct it`,
		}},
		{"parent-app-protocol", "GRPCRoute on plain HTTP", mesh.GRPCRoute, "shop", on(service("plain, port: 80")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "plain": GRPCRoutes cannot serve the appProtocol of Service shop/plain (80: http); use another route kind, or correct it`,
		}},
		{"parent-app-protocol", "TLSRoute on plain HTTP", mesh.TLSRoute, "shop", on(service("plain, sectionName: http")), "", nil, []string{
			`Invalid spec.parentRefs[0].name "plain": TLSRoutes cannot serve the appProtocol of Service shop/plain (80: http); use another route kind, or correct it`,
		}},
	}
}
