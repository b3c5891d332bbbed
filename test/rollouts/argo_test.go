package rollouts

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// argo writes in the manner of Argo Rollouts' plugin for the Gateway API: a user has typed
// the route, and the plugin gets it, sets two weights and updates it, more often than they
// change.
type argo struct {
	*writer
	// group is what the user typed; nil: left out.
	group *gatewayv1.Group
}

func (a *argo) run() {
	a.t.Helper()
	typed := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name}, Spec: a.spec(a.group, 0)}
	if !a.wrote("typed", a.Create(a.t.Context(), typed)) {
		return
	}
	for _, canary := range []int32{10, 20, 30, 40, 50, 100, 0} {
		for range 2 {
			route := a.get()
			route.Spec.Rules[0].BackendRefs = backends(canary)
			a.wrote("updated", a.Update(a.t.Context(), route))
		}
		stored := a.get()
		a.note("%d %% in generation %d", weight(stored), stored.Generation)
	}
	a.end()
}
