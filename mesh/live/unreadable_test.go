package live

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestUnreadable: no stored object keeps a list or a watch from being read. One that
// cannot be read counts as absent, and an entry of ours as stale.
func TestUnreadable(t *testing.T) {
	const controller = "gammaguard.dev/guard"
	for _, listed := range []bool{true, false} {
		t.Run(fmt.Sprintf("listed=%v", listed), func(t *testing.T) {
			api := newFakeAPI(t)
			api.serves(mesh.GatewayGroup, "v1", "httproutes")
			const services, routes = "api/v1/services", gatewayV1 + "httproutes"
			entry := `"controllerName":"` + controller + `","parentRef":{"name":"x"},"conditions":[{"type":"Accepted","status":"False","lastTransitionTime":"2020-01-01t00:00:00z"}]`
			odd := map[string]string{
				services: `{"kind":"Service","metadata":{"namespace":"shop","name":"odd","resourceVersion":"12"},"spec":{"ports":"many"}}`,
				routes:   strings.Replace(routeJSON("shop", "web", "cart"), `"controllerName":"example.com/mesh","parentRef":{"name":"x"},"conditions":[{"type":"Accepted","status":"True"}]`, entry, 1),
			}
			sound := `{"kind":"Service","metadata":{"namespace":"shop","name":"cart","resourceVersion":"13"}}`
			if listed {
				api.add(services, odd[services], sound)
				api.add(routes, odd[routes])
			} else {
				api.add(services, strings.Replace(odd[services], `"many"`, `[]`, 1))
			}
			var mu sync.Mutex
			unreadable := map[string]string{}
			cache := api.start(t, Options{ControllerName: controller, Unreadable: func(kind, namespace, name string, err error) {
				mu.Lock()
				defer mu.Unlock()
				unreadable[kind+" "+namespace+"/"+name] = err.Error()
			}})
			waitForSync(t, cache)
			if !listed {
				for path, object := range odd {
					eventually(t, "a watch of "+path, func() bool { return api.watched(path) })
					api.emit(path, "MODIFIED", object)
				}
				api.emit(services, "ADDED", sound)
			}
			web := RouteKey{mesh.HTTPRoute, "shop", "web"}
			eventually(t, "what is sound is read", func() bool {
				_, err := cache.Service(cartKey)
				return err == nil && cache.Route(web) != nil
			})
			if service, err := cache.Service(mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "odd"}); !errors.Is(err, mesh.ErrNotFound) {
				t.Errorf("the Service that cannot be read: %+v, %v", service, err)
			}
			if diff := cmp.Diff([]Entry{{ParentRef: mesh.ParentRef{Name: "x"}}}, cache.Route(web).Entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := unreadable["Service shop/odd"]; got != "spec.ports: found string, want array" || len(unreadable) != 2 {
				t.Errorf("reported as unreadable: %v", unreadable)
			}
			if got := unreadable[web.String()]; !strings.HasPrefix(got, "status.parents[0].conditions[0].lastTransitionTime: ") {
				t.Errorf("the entry is reported as %q", got)
			}
		})
	}
}
