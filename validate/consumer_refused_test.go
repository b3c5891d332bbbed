package validate

var _ = addCases("consumer-refused", func() []ruleCase {
	const allow = " refuses consumer routes; ask the Service's owner to run: kubectl label "
	return []ruleCase{
		{name: "welcome", namespace: "faces", spec: on(service("cart, namespace: shop"), service("lobby, namespace: closed"))},
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
		{
			name: "by the namespace, whether it exists or not", namespace: "faces", spec: on(service("vault, namespace: closed"), service("nothing, namespace: closed"), serviceImport("cards, namespace: closed")),
			want: []string{
				`Forbidden spec.parentRefs[0] "": namespace closed` + allow + `service -n closed vault gammaguard.dev/consumer-routes=allow --overwrite`,
				`Forbidden spec.parentRefs[1] "": namespace closed` + allow + `service -n closed nothing gammaguard.dev/consumer-routes=allow --overwrite`,
				`Forbidden spec.parentRefs[2] "": namespace closed` + allow + `serviceimport -n closed cards gammaguard.dev/consumer-routes=allow --overwrite`,
			},
		},
	}
})
