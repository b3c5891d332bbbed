package mutate_test

import (
	"fmt"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// number is the change that adds the number of the port with that name.
func number(index int, port int32, name string) mutate.Change {
	return mutate.Change{
		ID: "parent-port", Path: fmt.Sprintf("spec.parentRefs[%d].port", index), Op: mutate.Add, After: port,
		Why: fmt.Sprintf("port %s has this number, and most meshes ignore the name", name),
	}
}

func TestParentPort(t *testing.T) {
	run(t, []example{
		{
			name: "by sectionName alone",
			spec: `  parentRefs: [{name: gateway, sectionName: http}, {group: "", kind: Service, name: two, sectionName: grpc}]`,
			want: []mutate.Change{number(1, 90, "grpc")}, read: []string{"shop/two"},
		},
		{
			name: "of a ServiceImport",
			spec: `  parentRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: two, sectionName: http}]`,
			want: []mutate.Change{number(0, 80, "http")}, read: []string{"import:shop/two"},
		},
		{
			name: "of the route's transport", kind: mesh.UDPRoute,
			spec: `  parentRefs: [{group: "", kind: Service, name: mixed, sectionName: dns}]`,
			want: []mutate.Change{number(0, 53, "dns")}, read: []string{"shop/mixed"},
		},
		{
			name: "in another namespace, with the grant",
			spec: `  parentRefs: [{group: "", kind: Service, name: two, namespace: bar, sectionName: grpc}]`,
			opts: mutate.Options{MayRead: func(string) bool { return true }},
			want: []mutate.Change{number(0, 90, "grpc")}, read: []string{"bar/two"},
		},
	})
}

func TestParentPortDoesNotGuess(t *testing.T) {
	run(t, []example{
		{name: "the port is there", spec: `  parentRefs: [{group: "", kind: Service, name: two, port: 80, sectionName: grpc}]`},
		{name: "no sectionName", spec: `  parentRefs: [{group: "", kind: Service, name: one}]`},
		{name: "no such name", spec: `  parentRefs: [{group: "", kind: Service, name: two, sectionName: web}]`, read: []string{"shop/two"}},
		{name: "another transport", spec: `  parentRefs: [{group: "", kind: Service, name: mixed, sectionName: dns}]`, read: []string{"shop/mixed"}},
		{name: "no such Service", spec: `  parentRefs: [{group: "", kind: Service, name: gone, sectionName: http}]`, read: []string{"shop/gone"}},
		{name: "in another namespace, without the grant", spec: `  parentRefs: [{group: "", kind: Service, name: two, namespace: bar, sectionName: grpc}]`},
	})
}
