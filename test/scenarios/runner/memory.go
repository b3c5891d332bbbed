package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// memory is a driver without an API server: it is as much of one, and of kubectl
// apply, as the core and the webhook's handlers can tell from a real one. It does
// not check schemas, and has no other admission control.
type memory struct {
	name string
	crds *definitions.Set
	// admission returns what judges the changes of one scenario.
	admission func(*Scenario, *validate.Engine, *manifest.Set) (admit, error)
}

// admit judges a change, and changes its object as the mutations do.
type admit func(ctx context.Context, c *change) (*Outcome, error)

// change is a route that is about to be stored, or deleted.
type change struct {
	*Document
	// object is the route as it would be stored, nil on DELETE; old is what is stored, nil on
	// CREATE.
	object, old *unstructured.Unstructured
}

// Name returns the driver's name.
func (d *memory) Name() string { return d.name }

// Begin starts with an empty memory.
func (d *memory) Begin(_ context.Context, scenario *Scenario) (Session, error) {
	engine, err := validate.New(rules.Catalog(), scenario.Config.Policy())
	if err != nil {
		return nil, err
	}
	s := &memorySession{
		scenario: scenario, engine: engine, crds: d.crds, set: manifest.NewSet(manifest.Options{Mesh: engine.Policy().Mesh, Complete: true, Serves: Serves}),
		objects: map[manifest.Key]*unstructured.Unstructured{},
	}
	s.admit, err = d.admission(scenario, engine, s.set)
	return s, err
}

// Serves reports whether the API server of the test bed serves the kind.
func Serves(group, kind string) bool {
	if group == mesh.GatewayGroup {
		others := []string{"Gateway", "GatewayClass", "ListenerSet", "ReferenceGrant", "BackendTLSPolicy"}
		return mesh.IsRouteKind(kind) || slices.Contains(others, kind)
	}
	return slices.Contains([]string{mesh.MulticlusterGroup, apiextensionsv1.GroupName, serviceProfile.Spec.Group}, group) ||
		len(scheme.Scheme.VersionsForGroupKind(schema.GroupKind{Group: group, Kind: kind})) > 0
}

// memorySession plays one scenario.
type memorySession struct {
	scenario *Scenario
	engine   *validate.Engine
	crds     *definitions.Set
	admit    admit
	set      *manifest.Set
	objects  map[manifest.Key]*unstructured.Unstructured
	// writes counts what was stored.
	writes int64
}

// Put stores the objects as they are, with their status.
func (s *memorySession) Put(_ context.Context, documents []*Document) error {
	for _, document := range documents {
		object, err := document.object()
		if err == nil {
			setLastApplied(object, document)
			err = s.complete(object, s.objects[document.Key])
		}
		if err == nil {
			err = s.store(document, object)
		}
		if err != nil {
			return fmt.Errorf("%s (%s): %w", document.Key, document.Origin, err)
		}
	}
	return nil
}

// Apply judges routes. Other documents are stored if they are to be admitted, and
// documents that another part of an API server denies are passed over, and so are others than routes
// that are to be denied.
func (s *memorySession) Apply(ctx context.Context, document *Document) (*Outcome, error) {
	if document.Want != nil && (document.Want.ByOthers() || document.Want.Deny && !document.IsRoute()) {
		return nil, nil
	}
	old := s.objects[document.Key]
	object, err := applied(document, old)
	if err != nil {
		return nil, err
	}
	if document.IsRoute() && old != nil && !document.ServerSide && reflect.DeepEqual(object.Object, old.Object) {
		outcome := read() // kubectl apply sends no request
		outcome.Object, err = old.MarshalJSON()
		return outcome, err
	}
	if err := s.complete(object, old); err != nil {
		return nil, err
	}
	var outcome *Outcome
	if document.IsRoute() {
		if err := s.keepStatus(document.Key, object); err != nil {
			return nil, err
		}
		c := &change{Document: document, object: object, old: old}
		if outcome, err = s.admit(ctx, c); err != nil || outcome.Denied {
			return outcome, err
		}
		object = c.object
		if err := s.finish(object, old); err != nil {
			return nil, err
		}
		if outcome.Object, err = object.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	if document.DryRun {
		return outcome, nil
	}
	return outcome, s.store(document, object)
}

// keepStatus sets the status to what is stored by now: it is a subresource.
func (s *memorySession) keepStatus(key manifest.Key, object *unstructured.Unstructured) error {
	delete(object.Object, "status")
	own, others, err := s.parents(key)
	if err != nil || len(own)+len(others) == 0 {
		return err
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&gatewayv1.RouteStatus{Parents: append(others, own...)})
	object.Object["status"] = status
	return err
}

// complete fills in what an API server does before admission, as far as gammaguard reads
// it: each object is a second younger than the one before.
func (s *memorySession) complete(object, old *unstructured.Unstructured) error {
	created := metav1.Unix(firstCreation+s.writes+1, 0)
	if old != nil {
		created = old.GetCreationTimestamp()
	}
	object.SetCreationTimestamp(created)
	return s.finish(object, old)
}

// finish sets defaults, and the generation that follows from the spec.
func (s *memorySession) finish(object, old *unstructured.Unstructured) error {
	err := s.crds.Default(object.Object)
	generation := int64(1)
	if old != nil && sameSpec(object, old) {
		generation = old.GetGeneration()
	} else if old != nil {
		generation = old.GetGeneration() + 1
	}
	object.SetGeneration(generation)
	return err
}

// firstCreation, in seconds since 1970, is before the creation of every object.
const firstCreation = 1767225600

func (s *memorySession) store(document *Document, object *unstructured.Unstructured) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	stored := *document.Object
	stored.JSON = text
	if stored.IsRoute() {
		if err := stored.DecodeRoute(); err != nil {
			return err
		}
	}
	s.writes++
	s.objects[document.Key] = object
	return s.set.Put(&stored)
}

func sameSpec(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.Object["spec"], b.Object["spec"])
}

// Delete deletes the object, with a namespace all that is in it. One with
// finalizers stays, with a deletionTimestamp.
func (s *memorySession) Delete(ctx context.Context, document *Document) (warnings []string, err error) {
	key := document.Key
	object := s.objects[key]
	if document.Deletion != nil && object != nil && document.IsRoute() {
		outcome, err := s.admit(ctx, &change{Document: document, old: object})
		if err != nil {
			return nil, err
		}
		warnings = warned(outcome.Text)
	}
	if object != nil && len(object.GetFinalizers()) > 0 {
		object.SetDeletionTimestamp(new(metav1.Unix(firstCreation+s.writes, 0)))
		return warnings, s.store(document, object)
	}
	if object == nil && !s.set.Delete(key) {
		return nil, fmt.Errorf("%s: there is none to delete", key)
	}
	for other := range s.objects {
		if other == key || key.Kind == "Namespace" && other.Namespace == key.Name {
			s.set.Delete(other)
			delete(s.objects, other)
		}
	}
	return warnings, nil
}

// Status returns the entries that the reconciler would write.
func (s *memorySession) Status(_ context.Context, key manifest.Key, _ func([]Entry) bool) ([]Entry, error) {
	own, _, err := s.parents(key)
	return own, err
}

// parents returns status.parents as the reconciler leaves it: there is no more of its own
// than the list has room for in addition to the entries of other controllers.
func (s *memorySession) parents(key manifest.Key) (own, others []Entry, err error) {
	stored := s.set.Get(key)
	if stored == nil {
		return nil, nil, nil
	}
	var r route
	if err := json.Unmarshal(stored.JSON, &r); err != nil {
		return nil, nil, err
	}
	others = slices.DeleteFunc(r.Status.Parents, func(e Entry) bool { return isOwn(&e, s.scenario.Config) })
	settings := desired.Settings(s.scenario.Config.Status)
	entries, _, err := desired.NewView(s.engine, s.set, settings).Entries(stored.Route.Attached(s.engine.Policy().Mesh).WithBackends(stored.Route, s.engine.Policy().Mesh))
	for _, entry := range entries[:min(len(entries), maxParents-len(others))] {
		own = append(own, Entry{
			ParentRef:      r.Spec.ParentRefs[entry.Ref],
			ControllerName: gatewayv1.GatewayController(s.scenario.Config.Status.ControllerName),
			Conditions: []metav1.Condition{{
				Type: entry.Condition.Type, Status: metav1.ConditionStatus(entry.Condition.Status),
				Reason: entry.Condition.Reason, Message: entry.Condition.Message,
			}},
		})
	}
	return own, others, err
}

// maxParents is how many entries status.parents may have.
const maxParents = 32

// End does nothing: the memory goes with the session.
func (*memorySession) End(context.Context) error { return nil }

// administrator is who applies documents that name no user: the one of the control
// plane's kubeconfig.
const administrator = "kubernetes-admin"
