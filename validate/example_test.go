package validate_test

import (
	"fmt"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// A rule that looks at each mesh parent, run alone over one route.
func ExampleRule() {
	rule := &validate.Rule{
		ID:      "parent-without-port",
		Title:   "A parentRef to a Service names no port",
		Default: validate.Warn,
		Parent: func(p *validate.Pass, parent *validate.Parent) {
			if parent.Ref.Port != 0 || len(parent.Ports) < 2 {
				return
			}
			p.Report(validate.Finding{
				Field:     parent.Path("port"),
				Problem:   fmt.Sprintf("the route attaches to all %d ports of %s", len(parent.Ports), parent.Key),
				Remedy:    "set port",
				Reference: parent.Reference(),
			})
		},
	}
	cluster := manifest.NewSet(manifest.Options{Complete: true})
	objects, _ := manifest.Read("cluster.yaml", []byte(`
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart}, spec: {ports: [{name: a, port: 80}, {name: b, port: 81}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {namespace: shop, name: cart}, spec: {parentRefs: [{group: "", kind: Service, name: cart}]}}
`), "default")
	var route *mesh.Route
	for _, object := range objects {
		if err := cluster.Put(object); err != nil {
			fmt.Println(err)
		}
		route = object.Route
	}
	found, unknown, err := rule.Run(&validate.Policy{}, route, cluster)
	for i := range found {
		fmt.Println(found[i].Warning())
	}
	fmt.Println(unknown, err)
	// Output:
	// spec.parentRefs[0].port: the route attaches to all 2 ports of Service shop/cart; set port (parent-without-port)
	// [] <nil>
}
