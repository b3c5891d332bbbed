package rollouts

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// flagger writes in the manner of Flagger: at each tick it compares the route with the one
// that it wants, all but the weights, and resets it where they differ; then it reads the
// weights, looks at its metrics only if the canary has some, and goes on.
type flagger struct {
	*writer
	group gatewayv1.Group
	// done is set once the canary is promoted.
	done bool
}

// The canary's steps, in percent.
const (
	step     = 10
	lastStep = 50
)

// run ticks until the canary is promoted, or as often as two of them would take.
func (f *flagger) run() {
	for range 2 * (lastStep/step + 2) {
		if f.tick(); f.done {
			break
		}
	}
	f.end()
}

func (f *flagger) tick() {
	f.t.Helper()
	if !f.reconcile() {
		return
	}
	route := f.get()
	if waitsFor := unready(route); waitsFor != "" {
		f.note("halted: %s", waitsFor)
		return
	}
	canary := weight(route)
	if canary > 0 {
		f.note("metrics looked at with %d %%", canary)
	}
	if canary >= lastStep {
		f.done = f.set("promoted", 0)
		return
	}
	f.set("advanced", canary+step)
}

// reconcile reports whether the route is there, and is as it is wanted.
func (f *flagger) reconcile() bool {
	f.t.Helper()
	stored := f.get()
	if stored == nil {
		route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: f.name,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "flagger.app/v1beta1", Kind: "Canary", Name: f.name, UID: "8a1b", Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		}, Spec: f.spec(&f.group, 0)}
		return f.wrote("created", f.Create(f.t.Context(), route))
	}
	want := f.spec(&f.group, weight(stored))
	if apiequality.Semantic.DeepEqual(want, stored.Spec) {
		return true
	}
	stored.Spec = f.spec(&f.group, 0)
	return f.wrote("reset, because the route differs", f.Update(f.t.Context(), stored))
}

// set sets the weights, and reports whether it could.
func (f *flagger) set(what string, canary int32) bool {
	f.t.Helper()
	route := f.get()
	route.Spec = f.spec(&f.group, canary)
	return f.wrote(what, f.Update(f.t.Context(), route))
}

// unready says why a route is not ready, as Flagger does since 1.42: an entry in its status,
// whosesoever, that is not accepted, or not for this generation.
func unready(route *gatewayv1.HTTPRoute) string {
	for _, parent := range route.Status.Parents {
		accepted := meta.FindStatusCondition(parent.Conditions, string(gatewayv1.RouteConditionAccepted))
		if accepted != nil && (accepted.Status != metav1.ConditionTrue || accepted.ObservedGeneration < route.Generation) {
			return string(parent.ControllerName) + " " + accepted.Reason
		}
	}
	return ""
}
