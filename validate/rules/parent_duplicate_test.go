package rules

import (
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestParentDuplicate(t *testing.T) {
	testRule(t, parentDuplicate(), []ruleCase{
		{name: "distinct", spec: on(service("cart, port: 80"), service("cart, sectionName: admin"), service("cart, namespace: faces"), serviceImport("cart"))},
		{name: "all ports and one of several", spec: on(service("cart"), service("cart, port: 80"))},
		{
			name: "namespace left out and spelled out", spec: on(service("cart"), service("cart, namespace: shop")),
			want: []string{
				`Duplicate spec.parentRefs[1] "cart": selects the same ports of Service shop/cart as spec.parentRefs[0]; remove one of the two`,
			},
		},
		{
			name: "number and name", spec: on(service("cart, port: 8080"), service("one"), service("cart, sectionName: admin")),
			want: []string{
				`Duplicate spec.parentRefs[2] "cart": selects the same ports of Service shop/cart as spec.parentRefs[0]; remove one of the two`,
			},
		},
		{
			name: "the only port", spec: on(service("one"), service("one, port: 80"), service("one, port: 80, sectionName: http")),
			want: []string{
				`Duplicate spec.parentRefs[1] "one": selects the same ports of Service shop/one as spec.parentRefs[0]; remove one of the two`,
				`Duplicate spec.parentRefs[2] "one": selects the same ports of Service shop/one as spec.parentRefs[0]; remove one of the two`,
			},
		},
		{
			name: "one number, two transports", kind: mesh.UDPRoute, spec: on(service("dns, port: 53"), service("dns, sectionName: dns"), service("dns, sectionName: alt")),
			want: []string{
				`Duplicate spec.parentRefs[1] "dns": selects the same ports of Service shop/dns as spec.parentRefs[0]; remove one of the two`,
			},
		},
		{
			name: "of a Service that does not exist", spec: on(service("gone, port: 80"), service("gone, port: 81"), service("gone, port: 80, namespace: shop")),
			want: []string{
				`Duplicate spec.parentRefs[2] "gone": selects the same ports of Service shop/gone as spec.parentRefs[0]; remove one of the two`,
			},
		},
		{name: "ports that do not exist differ", spec: on(service("cart, port: 1"), service("cart, port: 2"))},
	})
}
