package status

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/background"
)

// rivalName is the controllerName of a mesh's controller.
const rivalName = "example.org/mesh"

// manner is how a mesh's controller writes status: what it makes of the entries that its
// cache has, and how it sends them.
type manner struct {
	name  string
	qps   float32 // of its client; negative is no limit
	next  func(parents []any, ref map[string]any) []any
	write func(*rival, *unstructured.Unstructured) error
}

// manners are those of the meshes that gammaguard was tried with, and what else a
// controller may do.
var manners = []manner{
	{"update", -1, byController, (*rival).update},
	{"update-without-resource-version", -1, byController, (*rival).force},
	{"merge-patch", -1, byController, (*rival).mergePatch},
	{"own-last", -1, ownLast, (*rival).mergePatch},
	{"by-parent-ref", -1, byParentRef, (*rival).update},
	{"one-more-each-time", -1, oneMore, (*rival).update},
}

// rival is a controller that accepts every parentRef of the routes of a namespace, as its
// cache has them, each time that it sees one of them change.
type rival struct {
	manner
	t      *testing.T
	client dynamic.NamespaceableResourceInterface
	cache  cache.GenericNamespaceLister
	queue  workqueue.TypedRateLimitingInterface[string]
	runs   context.Context //nolint:containedctx // the rival's life
}

// startRival starts a controller of routes of this kind.
func (c *cluster) startRival(t *testing.T, kind mesh.RouteKind, how manner) {
	t.Helper()
	config := rest.CopyConfig(plane.Config)
	config.QPS, config.Burst = how.qps, 1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: mesh.GatewayGroup, Version: "v1", Resource: kind.Resource()}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, c.namespace, nil)
	informer := factory.ForResource(resource)
	r := &rival{
		manner: how, t: t, client: client.Resource(resource), cache: informer.Lister().ByNamespace(c.namespace),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, time.Second)),
	}
	add := func(object any) { r.queue.Add(object.(*unstructured.Unstructured).GetName()) }
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, object any) { add(object) },
	}); err != nil {
		t.Fatal(err)
	}
	background.Start(t, func(ctx context.Context) error {
		r.runs = ctx
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		context.AfterFunc(ctx, r.queue.ShutDown)
		for {
			name, stopped := r.queue.Get()
			if stopped {
				return nil
			}
			r.reconcile(name)
			r.queue.Done(name)
		}
	})
}

// reconcile writes the route's status if it is not as it should be.
func (r *rival) reconcile(name string) {
	found, err := r.cache.Get(name)
	if err != nil {
		return // gone
	}
	route := found.(*unstructured.Unstructured).DeepCopy()
	stored, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
	refs, _, _ := unstructured.NestedSlice(route.Object, "spec", "parentRefs")
	parents := slices.Clone(stored)
	for _, ref := range refs {
		parents = r.next(parents, ref.(map[string]any))
	}
	if equality.Semantic.DeepEqual(stored, parents) {
		return
	}
	if err := unstructured.SetNestedSlice(route.Object, parents, "status", "parents"); err != nil {
		r.t.Error(err)
		return
	}
	switch err := r.write(r, route); {
	case err == nil, r.runs.Err() != nil, apierrors.IsNotFound(err):
		r.queue.Forget(name)
	case apierrors.IsConflict(err):
		r.queue.AddRateLimited(name)
	case apierrors.IsInvalid(err) && len(parents) > 32: // the list is full
	default:
		r.t.Errorf("the other controller: %v", err)
	}
}

// update is an Update with the resourceVersion that the cache has.
func (r *rival) update(route *unstructured.Unstructured) error {
	_, err := r.client.Namespace(route.GetNamespace()).UpdateStatus(r.runs, route, metav1.UpdateOptions{})
	return err
}

// force is an Update of whatever is there. The API server refuses an Update of a custom
// resource without a resourceVersion, so such a writer takes the present one.
func (r *rival) force(route *unstructured.Unstructured) error {
	routes := r.client.Namespace(route.GetNamespace())
	route.SetResourceVersion("")
	if _, err := routes.UpdateStatus(r.runs, route, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) && r.runs.Err() == nil {
		r.t.Errorf("an update without resourceVersion: %v, want it refused", err)
	}
	present, err := routes.Get(r.runs, route.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	route.SetResourceVersion(present.GetResourceVersion())
	return r.update(route)
}

// mergePatch replaces the whole list, whatever is there.
func (r *rival) mergePatch(route *unstructured.Unstructured) error {
	parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
	text, err := json.Marshal(map[string]any{"status": map[string]any{"parents": parents}})
	if err != nil {
		return err
	}
	_, err = r.client.Namespace(route.GetNamespace()).Patch(r.runs, route.GetName(), types.MergePatchType, text, metav1.PatchOptions{}, "status")
	return err
}

// byController adds an entry if there is none of the controller for the parentRef.
func byController(parents []any, ref map[string]any) []any {
	if slices.ContainsFunc(parents, func(parent any) bool { return isRivals(parent, ref) }) {
		return parents
	}
	return append(parents, rivalEntry(ref))
}

// ownLast also moves the controller's entries to the end.
func ownLast(parents []any, ref map[string]any) []any {
	parents = byController(parents, ref)
	slices.SortStableFunc(parents, func(a, b any) int {
		rank := map[bool]int{true: 1}
		return rank[isRivals(a, ref)] - rank[isRivals(b, ref)]
	})
	return parents
}

// oneMore adds an entry each time.
func oneMore(parents []any, ref map[string]any) []any { return append(parents, rivalEntry(ref)) }

// byParentRef writes its conditions into the first entry for the parentRef, whoever's
// that is.
func byParentRef(parents []any, ref map[string]any) []any {
	at := slices.IndexFunc(parents, func(parent any) bool {
		return equality.Semantic.DeepEqual(parent.(map[string]any)["parentRef"], any(ref))
	})
	if at < 0 {
		return append(parents, rivalEntry(ref))
	}
	conditions, _, _ := unstructured.NestedSlice(parents[at].(map[string]any), "conditions")
	for _, mine := range rivalEntry(ref)["conditions"].([]any) {
		mine := mine.(map[string]any)
		is := func(c any) bool { return c.(map[string]any)["type"] == mine["type"] }
		if i := slices.IndexFunc(conditions, is); i < 0 {
			conditions = append(conditions, mine)
		} else if conditions[i].(map[string]any)["status"] != mine["status"] {
			conditions[i] = mine
		}
	}
	parents[at] = map[string]any{"controllerName": parents[at].(map[string]any)["controllerName"], "parentRef": ref, "conditions": conditions}
	return parents
}

func isRivals(parent any, ref map[string]any) bool {
	entry := parent.(map[string]any)
	return entry["controllerName"] == rivalName && equality.Semantic.DeepEqual(entry["parentRef"], any(ref))
}

// rivalEntry accepts the parentRef.
func rivalEntry(ref map[string]any) map[string]any {
	condition := func(kind string) any {
		return map[string]any{
			"type": kind, "status": "True", "reason": kind, "message": "<of> another & \"mesh\"",
			"observedGeneration": int64(1), "lastTransitionTime": "2026-01-02T03:04:05Z",
		}
	}
	return map[string]any{
		"controllerName": rivalName, "parentRef": ref,
		"conditions": []any{condition("Accepted"), condition("ResolvedRefs")},
	}
}
