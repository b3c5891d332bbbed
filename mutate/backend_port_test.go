package mutate_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// parents is a spec with these parentRefs and one backendRef.
func parents(backend, refs string) string {
	return "  parentRefs: [" + refs + "]\n  rules: [{backendRefs: [{" + backend + "}]}]"
}

func TestBackendPort(t *testing.T) {
	port := func(path string, number int32, why string) mutate.Change {
		return mutate.Change{ID: "backend-port", Path: path + ".port", Op: mutate.Add, After: number, Why: why}
	}
	only := func(number int32, why string) []mutate.Change {
		return []mutate.Change{port("spec.rules[0].backendRefs[0]", number, why)}
	}
	const gateway = `{kind: Gateway, name: two, port: 90}, `
	run(t, []example{
		{
			name: "the parent's port",
			spec: parents("name: two", `{group: "", kind: Service, name: two, port: 90}`),
			want: only(90, "the parentRef to Service shop/two names this port"), read: []string{"shop/two"},
		},
		{
			name: "a port that the parent lacks",
			spec: parents("name: two", `{group: "", kind: Service, name: two, port: 91}`), read: []string{"shop/two"},
		},
		{
			name: "the parent in another namespace, which may not be read",
			spec: parents("name: two, namespace: bar", `{group: "", kind: Service, name: two, namespace: bar, port: 90}`),
			want: only(90, "the parentRef to Service bar/two names this port"),
		},
		{
			name: "the parent's sectionName",
			spec: parents("kind: Service, name: two", gateway+`{group: "", kind: Service, name: two, sectionName: grpc}`),
			want: append(only(90, "the parentRef to Service shop/two names this port"), number(1, 90, "grpc")), read: []string{"shop/two"},
		},
		{
			name: "two parentRefs, one port",
			spec: parents("name: two", `{group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: two, namespace: shop, sectionName: http}`),
			want: append(only(80, "the parentRef to Service shop/two names this port"), number(1, 80, "http")), read: []string{"shop/two"},
		},
		{
			name: "the parent's only port",
			spec: parents("name: one", `{group: "", kind: Service, name: one}`),
			want: only(80, "Service shop/one has no other port"), read: []string{"shop/one"},
		},
		{
			name: "the parent's only port, named once",
			spec: parents("name: one", `{group: "", kind: Service, name: one}, {group: "", kind: Service, name: one, namespace: shop, port: 80}`),
			want: only(80, "Service shop/one has no other port"), read: []string{"shop/one"},
		},
		{
			name: "another Service's only port",
			spec: parents("name: one", `{group: "", kind: Service, name: two, port: 90}`),
			want: only(80, "Service shop/one has no other port"), read: []string{"shop/one"},
		},
		{
			name: "a Service of the parent's name in another namespace, with the grant",
			spec: parents("name: one, namespace: bar", `{group: "", kind: Service, name: one, port: 90}`),
			opts: mutate.Options{MayRead: func(namespace string) bool { return namespace == "bar" }},
			want: only(80, "Service bar/one has no other port"), read: []string{"bar/one"},
		},
		{
			name: "a number with two protocols",
			spec: parents("name: dns", `{group: "", kind: Service, name: one}`),
			want: only(53, "Service shop/dns has no other port"), read: []string{"shop/dns"},
		},
		{
			name: "a UDPRoute", kind: mesh.UDPRoute,
			spec: parents("name: udp", `{group: "", kind: Service, name: one}`),
			want: only(53, "Service shop/udp has no other port"), read: []string{"shop/udp"},
		},
		{
			name: "mirrors",
			spec: `
  parentRefs: [{group: "", kind: Service, name: one}]
  rules:
  - filters: [{requestMirror: {backendRef: {name: one}}}]
    backendRefs: [{name: two, port: 80, filters: [{requestMirror: {backendRef: {kind: Service, name: one}}}]}]`,
			want: []mutate.Change{
				port("spec.rules[0].filters[0].requestMirror.backendRef", 80, "Service shop/one has no other port"),
				port("spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef", 80, "Service shop/one has no other port"),
			},
			read: []string{"shop/one"},
		},
	})
}

func TestBackendPortDoesNotGuess(t *testing.T) {
	run(t, []example{
		{
			name: "two parentRefs, two ports",
			spec: parents("name: one", `{group: "", kind: Service, name: one, port: 80}, {group: "", kind: Service, name: one, namespace: shop, port: 90}`),
		},
		{
			name: "a parentRef that names a port, and one for all ports",
			spec: parents("name: two", `{group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: two, namespace: shop}`),
			read: []string{"shop/two"},
		},
		{
			name: "a parentRef that names a port, and one that names none there is",
			spec: parents("name: two", `{group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: two, namespace: shop, sectionName: web}`),
			read: []string{"shop/two"},
		},
		{name: "the parent has two ports", spec: parents("name: two", `{group: "", kind: Service, name: two}`), read: []string{"shop/two"}},
		{name: "two ports, one of which speaks the transport", spec: parents("name: mixed", `{group: "", kind: Service, name: one}`), read: []string{"shop/mixed"}},
		{name: "the only port does not speak the transport", spec: parents("name: udp", `{group: "", kind: Service, name: one}`), read: []string{"shop/udp"}},
		{name: "the parent's sectionName is of another transport", spec: parents("name: dns", `{group: "", kind: Service, name: dns, sectionName: dns}`), read: []string{"shop/dns"}},
		{name: "no ports", spec: parents("name: none", `{group: "", kind: Service, name: one}`), read: []string{"shop/none"}},
		{name: "no such Service", spec: parents("name: gone", `{group: "", kind: Service, name: one}`), read: []string{"shop/gone"}},
		{
			name: "another namespace without the grant",
			spec: parents("name: one, namespace: bar", `{group: "", kind: Service, name: one, namespace: bar}`),
		},
		{
			name: "the own namespace without the grant",
			spec: parents("name: one", `{group: "", kind: Service, name: one}`),
			opts: mutate.Options{MayRead: func(namespace string) bool { return namespace != "shop" }},
		},
		{
			name: "another namespace's sectionName without the grant",
			spec: parents("name: two, namespace: bar", `{group: "", kind: Service, name: two, namespace: bar, sectionName: grpc}`),
		},
		{
			name: "the port is there",
			spec: parents("name: one, port: 8080", `{group: "", kind: Service, name: one}`),
		},
		{
			name: "a ServiceImport needs none",
			spec: parents("group: multicluster.x-k8s.io, kind: ServiceImport, name: one", `{group: "", kind: Service, name: one}`),
		},
		{
			name: "another kind",
			spec: parents("kind: Bucket, group: example.com, name: one", `{group: "", kind: Service, name: one}`),
		},
		{
			name: "no name",
			spec: "  parentRefs: [{group: '', kind: Service, port: 80}]\n  rules: [{backendRefs: [null, {}], filters: [{requestMirror: {}}]}]",
		},
	})
}
