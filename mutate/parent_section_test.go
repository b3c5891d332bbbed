package mutate_test

import (
	"fmt"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

func section(index int, name string, port int, kind string) mutate.Change {
	return mutate.Change{
		ID: "parent-section", Path: fmt.Sprintf("spec.parentRefs[%d].sectionName", index), Op: mutate.Add, After: name,
		Why: fmt.Sprintf("port %d has this name, and parentRefs to one %s must differ in sectionName", port, kind),
	}
}

func TestParentSection(t *testing.T) {
	run(t, []example{
		{
			name: "by port alone",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 90}, {name: gateway}, {group: "", kind: Service, name: two, port: 80}]`,
			want: []mutate.Change{section(0, "grpc", 90, "Service"), section(2, "http", 80, "Service")},
			read: []string{"shop/two"},
		},
		{
			name: "the other has its sectionName",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 90}, {group: "", kind: Service, name: two, sectionName: http}]`,
			want: []mutate.Change{number(1, 80, "http"), section(0, "grpc", 90, "Service")},
			read: []string{"shop/two"},
		},
		{
			name: "two Services",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 90}, {group: "", kind: Service, name: mixed, port: 53}, {group: "", kind: Service, name: one, port: 80}, {group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: mixed, port: 80}]`,
			want: []mutate.Change{
				section(0, "grpc", 90, "Service"), section(1, "dns", 53, "Service"), section(3, "http", 80, "Service"), section(4, "http", 80, "Service"),
			},
			read: []string{"shop/two", "shop/mixed"},
		},
		{
			name: "of two protocols the route's", kind: mesh.UDPRoute,
			spec: `  parentRefs: [{group: "", kind: Service, name: dns, port: 53}, {group: "", kind: Service, name: dns, sectionName: other}]`,
			want: []mutate.Change{section(0, "dns", 53, "Service")},
			read: []string{"shop/dns"},
		},
		{
			name: "of two protocols the route's, TCP", kind: mesh.TCPRoute,
			spec: `  parentRefs: [{group: "", kind: Service, name: dns, port: 53}, {group: "", kind: Service, name: dns, sectionName: other}]`,
			want: []mutate.Change{section(0, "dns-tcp", 53, "Service")},
			read: []string{"shop/dns"},
		},
		{
			name: "a ServiceImport",
			spec: `  parentRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: two, port: 80}, {group: multicluster.x-k8s.io, kind: ServiceImport, name: two, port: 90}]`,
			want: []mutate.Change{section(0, "http", 80, "ServiceImport"), section(1, "grpc", 90, "ServiceImport")},
			read: []string{"import:shop/two"},
		},
		{
			name: "another namespace with the grant",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, namespace: bar, port: 80}, {group: "", kind: Service, name: two, namespace: bar, port: 90}]`,
			opts: mutate.Options{MayRead: mayReadAll},
			want: []mutate.Change{section(0, "http", 80, "Service"), section(1, "grpc", 90, "Service")},
			read: []string{"bar/two"},
		},
	})
}

func TestParentSectionDoesNotGuess(t *testing.T) {
	run(t, []example{
		{
			name: "one port twice",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: two, port: 80}]`,
			read: []string{"shop/two"},
		},
		{
			name: "one parentRef needs none",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 90}]`,
		},
		{
			name: "CEL tells a namespace left out from one spelled out",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 90}, {group: "", kind: Service, name: two, namespace: shop, port: 80}]`,
		},
		{
			name: "sectionNames are there",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 90, sectionName: web}, {group: "", kind: Service, name: two, port: 80, sectionName: http}]`,
		},
		{
			name: "no name",
			spec: `  parentRefs: [{group: "", kind: Service, name: unnamed, port: 80}, {group: "", kind: Service, name: unnamed, sectionName: web}]`,
			read: []string{"shop/unnamed"},
		},
		{
			name: "no such port",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: two, port: 81}]`,
			read: []string{"shop/two"},
		},
		{
			name: "no port",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 80}, {group: "", kind: Service, name: two}]`,
		},
		{
			name: "two protocols, neither the route's",
			spec: `  parentRefs: [{group: "", kind: Service, name: foreign, port: 53}, {group: "", kind: Service, name: foreign, port: 80}]`,
			read: []string{"shop/foreign"},
		},
		{
			name: "no such Service",
			spec: `  parentRefs: [{group: "", kind: Service, name: gone, port: 53}, {group: "", kind: Service, name: gone, port: 80}]`,
			read: []string{"shop/gone"},
		},
		{
			name: "another namespace without the grant",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, namespace: bar, port: 80}, {group: "", kind: Service, name: two, namespace: bar, port: 90}]`,
		},
		{
			name: "a Gateway's listeners",
			spec: `  parentRefs: [{name: two, port: 80}, {name: two, port: 90}]`,
		},
	})
}
