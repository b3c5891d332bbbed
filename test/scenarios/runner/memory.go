package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/validate"
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

// change is a route that is about to be stored.
type change struct {
	*Document
	// object is the route as it would be stored; old is what is stored, nil on
	// CREATE.
	object, old *unstructured.Unstructured
}

// Name returns the driver's name.
func (d *memory) Name() string { return d.name }

// Begin starts with an empty memory.
func (d *memory) Begin(_ context.Context, scenario *Scenario) (Session, error) {
	engine, err := validate.New(scenario.Config.Policy())
	if err != nil {
		return nil, err
	}
	s := &memorySession{
		scenario: scenario, engine: engine, crds: d.crds, set: manifest.NewSet(manifest.Options{Complete: true, Serves: Serves}),
		objects: map[manifest.Key]*unstructured.Unstructured{},
	}
	s.admit, err = d.admission(scenario, engine, s.set)
	return s, err
}

// Serves reports whether the API server of the test bed serves the kind.
func Serves(group, kind string) bool {
	switch group {
	case mesh.GatewayGroup, mesh.MulticlusterGroup, apiextensionsv1.GroupName:
		return true
	}
	for _, gv := range scheme.Scheme.VersionsForGroupKind(schema.GroupKind{Group: group, Kind: kind}) {
		if !gv.Empty() {
			return true
		}
	}
	return false
}

// memorySession plays one scenario.
type memorySession struct {
	scenario *Scenario
	engine   *validate.Engine
	crds     *definitions.Set
	admit    admit
	set      *manifest.Set
	objects  map[manifest.Key]*unstructured.Unstructured
	// writes counts what was stored: each object is a second younger than the one
	// before.
	writes int64
}

// Put stores the objects as they are, with their status.
func (s *memorySession) Put(_ context.Context, documents []*Document) error {
	for _, document := range documents {
		object, err := document.object()
		if err == nil {
			annotate(object, lastApplied, string(document.JSON))
			err = s.complete(object, s.objects[document.Key])
		}
		if err == nil {
			err = s.store(document, object)
		}
		if err != nil {
			return fmt.Errorf("%s (%s): %w", document.Key, document.Place, err)
		}
	}
	return nil
}

// Apply judges routes. Other documents are stored if they are to be admitted, and
// routes that another part of an API server denies are passed over.
func (s *memorySession) Apply(ctx context.Context, document *Document) (*Outcome, error) {
	if document.Want != nil && document.Want.ByOthers() {
		return nil, nil
	}
	old := s.objects[document.Key]
	object, err := applied(document, old)
	if err != nil {
		return nil, err
	}
	if document.IsRoute() && old != nil && !document.ServerSide && reflect.DeepEqual(object.Object, old.Object) {
		text, err := old.MarshalJSON() // kubectl apply sends no request
		return &Outcome{Rules: []string{}, Warnings: []string{}, Object: text}, err
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
	parents, err := s.parents(key)
	if err != nil || len(parents) == 0 {
		return err
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&gatewayv1.RouteStatus{Parents: parents})
	object.Object["status"] = status
	return err
}

// complete fills in what an API server does before admission.
func (s *memorySession) complete(object, old *unstructured.Unstructured) error {
	n := s.writes + 1
	object.SetResourceVersion(strconv.FormatInt(n, 10))
	if old == nil {
		object.SetCreationTimestamp(metav1.Unix(firstCreation+n, 0))
		object.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)))
	} else {
		object.SetCreationTimestamp(old.GetCreationTimestamp())
		object.SetUID(old.GetUID())
	}
	return s.finish(object, old)
}

// firstCreation, in seconds since 1970, is before the creation of every object.
const firstCreation = 1767225600

// finish sets defaults, and the generation that follows from the spec.
func (s *memorySession) finish(object, old *unstructured.Unstructured) error {
	if err := s.crds.Default(object.Object); err != nil {
		return err
	}
	switch {
	case old == nil:
		object.SetGeneration(1)
	case sameSpec(object, old):
		object.SetGeneration(old.GetGeneration())
	default:
		object.SetGeneration(old.GetGeneration() + 1)
	}
	return nil
}

func (s *memorySession) store(document *Document, object *unstructured.Unstructured) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	read, errs := manifest.Read(document.Key.String(), text, "default")
	if len(errs) > 0 {
		return errs[0]
	}
	s.writes++
	s.objects[document.Key] = object
	return s.set.Put(read[0])
}

func sameSpec(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.Object["spec"], b.Object["spec"])
}

// Delete deletes the objects, with a namespace all that is in it. One with
// finalizers stays, with a deletionTimestamp.
func (s *memorySession) Delete(_ context.Context, documents []*Document) error {
	for _, document := range documents {
		key := document.Key
		if object := s.objects[key]; object != nil && len(object.GetFinalizers()) > 0 {
			now := metav1.NewTime(time.Unix(firstCreation+s.writes, 0))
			object.SetDeletionTimestamp(&now)
			if err := s.store(document, object); err != nil {
				return err
			}
			continue
		}
		if s.objects[key] == nil && !s.set.Delete(key) {
			return fmt.Errorf("%s: there is none to delete", key)
		}
		s.forget(key)
		if key.Kind != "Namespace" || key.Group != "" {
			continue
		}
		for other := range s.objects {
			if other.Namespace == key.Name {
				s.forget(other)
			}
		}
	}
	return nil
}

func (s *memorySession) forget(key manifest.Key) {
	s.set.Delete(key)
	delete(s.objects, key)
}

// Status returns the entries that the reconciler would write.
func (s *memorySession) Status(_ context.Context, key manifest.Key, _ func([]Entry) bool) ([]Entry, error) {
	parents, err := s.parents(key)
	return slices.DeleteFunc(parents, func(e Entry) bool { return !isOwn(&e, s.scenario.Config) }), err
}

// parents returns status.parents as the reconciler leaves it: the entries of other
// controllers stay, and there is no more of its own than the list has room for.
func (s *memorySession) parents(key manifest.Key) ([]Entry, error) {
	stored := s.set.Get(key)
	if stored == nil {
		return nil, nil
	}
	var r route
	if err := json.Unmarshal(stored.JSON, &r); err != nil {
		return nil, err
	}
	settings := desired.Settings(s.scenario.Config.Status)
	entries, _, err := desired.NewView(s.engine, s.set, settings).Entries(stored.Route.Attached())
	parents := slices.DeleteFunc(r.Status.Parents, func(e Entry) bool { return isOwn(&e, s.scenario.Config) })
	for i := range entries[:min(len(entries), maxParents-len(parents))] {
		condition := &entries[i].Condition
		parents = append(parents, Entry{
			ParentRef:      r.Spec.ParentRefs[entries[i].Ref],
			ControllerName: gatewayv1.GatewayController(s.scenario.Config.Status.ControllerName),
			Conditions: []metav1.Condition{{
				Type: condition.Type, Status: metav1.ConditionStatus(condition.Status), Reason: condition.Reason, Message: condition.Message,
			}},
		})
	}
	return parents, err
}

// maxParents is how many entries status.parents may have.
const maxParents = 32

// End does nothing: the memory goes with the session.
func (*memorySession) End(context.Context) error { return nil }

// administrator is who applies documents that name no user: the one of the control
// plane's kubeconfig.
const administrator = "kubernetes-admin"
