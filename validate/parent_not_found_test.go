package validate

var _ = addCases("parent-not-found", func() []ruleCase {
	return []ruleCase{
		{name: "found", spec: on(service("cart"), serviceImport("cards"))},
		{
			name: "not found", namespace: "faces", spec: on(service("cart"), service("cart, namespace: lab"), serviceImport("cart, namespace: shop")),
			want: []string{
				`NotFound spec.parentRefs[0].name "cart": Service faces/cart does not exist; create it first, or correct the reference`,
				`NotFound spec.parentRefs[1].name "cart": Service lab/cart does not exist; create it first, or correct the reference`,
				`NotFound spec.parentRefs[2].name "cart": ServiceImport shop/cart does not exist; create it first, or correct the reference`,
			},
		},
	}
})
