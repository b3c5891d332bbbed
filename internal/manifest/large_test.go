package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// largeStream is a cluster of many routes, as kubectl prints one.
func largeStream(services, routes int) string {
	var b strings.Builder
	for i := range services {
		fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: s%d\n  namespace: shop\nspec:\n  ports:\n  - name: http\n    port: 80\n---\n", i)
	}
	for i := range routes {
		fmt.Fprintf(&b, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: r%d
  namespace: shop
  labels:
    app.kubernetes.io/name: cart
spec:
  parentRefs:
  - group: ""
    kind: Service
    name: s%d
    port: 80
  rules:
  - matches:
    - path:
        type: PathPrefix
        value: /v1
      headers:
      - name: x-version
        value: "1"
    backendRefs:
    - name: s%d
      port: 80
      weight: 90
    - name: s%d
      port: 80
      weight: 10
---
`, i, i%services, i%services, (i+1)%services)
	}
	return b.String()
}

// TestLarge reads a large cluster; BenchmarkRead says what that takes.
func TestLarge(t *testing.T) {
	const services, routes = 2000, 10000
	data := largeStream(services, routes)
	s := set(t, manifest.Options{Complete: true}, data)
	for i := range services {
		attached, err := mesh.AttachedRoutes(s, service("shop", fmt.Sprintf("s%d", i)), "")
		if err != nil || len(attached) != routes/services {
			t.Fatal(i, len(attached), err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	data := []byte(largeStream(2000, 10000))
	b.ReportAllocs()
	for b.Loop() {
		s := manifest.NewSet(manifest.Options{Complete: true})
		objects, _ := manifest.Read("x", data, "default")
		for _, o := range objects {
			if err := s.Put(o); err != nil {
				b.Fatal(err)
			}
		}
	}
}
