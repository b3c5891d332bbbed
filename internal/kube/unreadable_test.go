package kube

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
			wide := strings.Replace(routeJSON("shop", "wide", "cart"), `"parentRefs":[`, `"parentRefs":[`+strings.Repeat("{},", 32), 1)
			sound := `{"kind":"Service","metadata":{"namespace":"shop","name":"cart","resourceVersion":"13"}}`
			if listed {
				api.add(services, odd[services], sound)
				api.add(routes, odd[routes], wide)
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
				api.emit(routes, "ADDED", wide)
			}
			web := RouteKey{mesh.HTTPRoute, "shop", "web"}
			eventually(t, "what is sound is read", func() bool {
				_, err := mesh.FindService(cache, cartKey)
				mu.Lock()
				defer mu.Unlock()
				return err == nil && cache.Route(web) != nil && len(unreadable) == 3
			})
			if service, err := mesh.FindService(cache, mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: "shop", Name: "odd"}); !errors.Is(err, mesh.ErrNotFound) {
				t.Errorf("the Service that cannot be read: %+v, %v", service, err)
			}
			if diff := cmp.Diff([]Entry{{ParentRef: mesh.ParentRef{Name: "x"}}}, cache.Route(web).Entries); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := unreadable["Service shop/odd"]; got != "spec.ports: found string, want array" || len(unreadable) != 3 {
				t.Errorf("reported as unreadable: %v", unreadable)
			}
			if got := unreadable["HTTPRoute shop/wide"]; got != "spec.parentRefs: must have at most 32 items" {
				t.Errorf("the route with too many parentRefs is reported as %q", got)
			}
			if got := unreadable[web.String()]; !strings.HasPrefix(got, "status.parents[0].conditions[0].lastTransitionTime: ") {
				t.Errorf("the entry is reported as %q", got)
			}
		})
	}
}
