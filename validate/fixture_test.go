package validate

import (
	"fmt"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// cluster is what most tests judge routes against. Namespaces shop and faces are
// granted everything, lab nothing.
const cluster = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: faces, labels: {gammaguard.dev/grant: all}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: lab}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: closed, labels: {gammaguard.dev/consumer-routes: deny}}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart},
 spec: {ports: [{name: http, port: 80}, {name: admin, port: 8080}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice,
 metadata: {namespace: shop, name: cart-1, labels: {kubernetes.io/service-name: cart}}, endpoints: [{addresses: [10.1.2.3]}]}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: one}, spec: {ports: [{name: http, port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice,
 metadata: {namespace: shop, name: one-1, labels: {kubernetes.io/service-name: one}}, endpoints: []}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: dns},
 spec: {ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}, {name: web, port: 80}, {name: alt, port: 5353, protocol: UDP}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: syslog}, spec: {ports: [{name: log, port: 514, protocol: UDP}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: portless}, spec: {ports: []}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: headless}, spec: {clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: alias}, spec: {type: ExternalName, externalName: a.example}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: alias-none},
 spec: {type: ExternalName, externalName: a.example, clusterIP: None, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: secure},
 spec: {ports: [{name: tls, port: 443, appProtocol: TLS}, {name: raw, port: 9000, appProtocol: tcp}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: plain},
 spec: {ports: [{name: http, port: 80, appProtocol: http}, {name: mystery, port: 81, appProtocol: acme.example/x}, {name: unsaid, port: 82}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: node}, spec: {type: NodePort, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: balanced}, spec: {type: LoadBalancer, ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: shy, labels: {gammaguard.dev/consumer-routes: deny}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: unsure, labels: {gammaguard.dev/consumer-routes: maybe}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: closed, name: vault}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: closed, name: lobby, labels: {gammaguard.dev/consumer-routes: allow}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: lab, name: probe}, spec: {ports: [{port: 80}]}}
---
{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {namespace: shop, name: cards},
 spec: {type: ClusterSetIP, ports: [{name: http, port: 80}]}}
---
{apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ServiceImport, metadata: {namespace: shop, name: loose}, spec: {type: Headless, ports: [{port: 80}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {namespace: lab, name: probe},
 spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}], to: [{group: "", kind: Service}]}}
`

// newWorld returns the objects of the manifests as a complete world.
func newWorld(t testing.TB, manifests ...string) *manifest.Set {
	t.Helper()
	return newWorldWith(t, manifest.Options{Complete: true}, manifests...)
}

func newWorldWith(t testing.TB, options manifest.Options, manifests ...string) *manifest.Set {
	t.Helper()
	set := manifest.NewSet(options)
	for _, text := range manifests {
		for _, object := range read(t, text) {
			if err := set.Put(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	return set
}

// parsed keeps the objects of each text, as tests ask for few texts, and often.
var parsed sync.Map

func read(t testing.TB, text string) []*manifest.Object {
	t.Helper()
	if objects, ok := parsed.Load(text); ok {
		return objects.([]*manifest.Object)
	}
	objects, errs := manifest.Read("test", []byte(text), "default")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	parsed.Store(text, objects)
	return objects
}

// newRoute returns a route named own, from its spec in YAML's flow style.
func newRoute(t testing.TB, kind mesh.RouteKind, namespace, spec string) *mesh.Route {
	t.Helper()
	route, err := mesh.DecodeRoute(routeJSON(t, kind, namespace, spec))
	if err != nil {
		t.Fatal(err)
	}
	return route
}

func routeJSON(t testing.TB, kind mesh.RouteKind, namespace, spec string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(routeText(kind, namespace, "own", spec)))
	if err != nil {
		t.Fatalf("%v in %s", err, spec)
	}
	return data
}

// routeText returns the manifest of a route.
func routeText(kind mesh.RouteKind, namespace, name, spec string) string {
	return fmt.Sprintf("{apiVersion: gateway.networking.k8s.io/v1, kind: %s, metadata: {namespace: %s, name: %s}, spec: {%s}}\n---\n",
		kind, namespace, name, spec)
}

// service returns a parentRef to a Service; the fields begin with its name.
func service(fields string) string { return `{group: "", kind: Service, name: ` + fields + `}` }

// serviceImport returns a parentRef to a ServiceImport.
func serviceImport(fields string) string {
	return `{group: multicluster.x-k8s.io, kind: ServiceImport, name: ` + fields + `}`
}

// on returns the parentRefs of a spec.
func on(refs ...string) string {
	text := "parentRefs: ["
	for _, ref := range refs {
		text += ref + ", "
	}
	return text + "]"
}

// newEngine returns an engine for the policy; nil for the defaults.
func newEngine(t testing.TB, policy *Policy) *Engine {
	t.Helper()
	if policy == nil {
		policy = &Policy{}
	}
	engine, err := New(policy)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// only returns a policy under which no rule runs but those with an action here.
func only(actions map[string]Action) *Policy {
	policy := &Policy{Actions: map[string]Action{}}
	for _, rule := range Catalogue() {
		policy.Actions[rule.ID] = Off
	}
	for id, action := range actions {
		policy.Actions[id] = action
	}
	return policy
}
