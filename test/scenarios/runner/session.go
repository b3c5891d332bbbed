package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mesh/manifest"
)

// settleTimeout bounds how long status may take to become as wanted.
const settleTimeout = 10 * time.Second

// apiSession plays one scenario on the API server.
type apiSession struct {
	*APIServer
	scenario *Scenario
	// made are the objects to remove at the end, the oldest first.
	made []*unstructured.Unstructured
	// standing are the namespaces that were there before, and stay.
	standing []string
	// unseen says that gammaguard may not have seen yet what was done.
	unseen bool
}

// createNamespaces creates the namespaces that the scenario uses and never speaks
// of.
func (s *apiSession) createNamespaces(ctx context.Context) error {
	var there corev1.NamespaceList
	if err := s.client.List(ctx, &there); err != nil {
		return err
	}
	for i := range there.Items {
		s.standing = append(s.standing, there.Items[i].Name)
	}
	named := slices.Clone(s.standing)
	for _, document := range s.scenario.documents() {
		if document.Key.Kind == "Namespace" {
			named = append(named, document.Key.Name)
		}
	}
	for _, document := range s.scenario.documents() {
		name := document.Key.Namespace
		if name == "" || slices.Contains(named, name) {
			continue
		}
		named = append(named, name)
		namespace := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
		}}
		s.made = append(s.made, namespace)
		if err := s.client.Create(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// pass waits until gammaguard has seen all that was done.
func (s *apiSession) pass(ctx context.Context) error {
	if !s.unseen {
		return nil
	}
	if err := s.barrier.pass(ctx, s.scenario); err != nil {
		return fmt.Errorf("%w\ngammaguard's log ends with:\n%s", err, tail(s.running.Log(), 20))
	}
	s.unseen = false
	return nil
}

// documents returns all documents of the scenario.
func (s *Scenario) documents() []*Document {
	var all []*Document
	for i := range s.Steps {
		all = append(all, s.Steps[i].Documents...)
	}
	return all
}

// Put creates or replaces the objects as the user cluster, namespaces first, and
// waits until gammaguard has seen them.
func (s *apiSession) Put(ctx context.Context, documents []*Document) error {
	s.unseen = true
	ordered := slices.Clone(documents)
	slices.SortStableFunc(ordered, func(a, b *Document) int {
		return rank(a) - rank(b)
	})
	for _, document := range ordered {
		if err := s.put(ctx, document); err != nil {
			return fmt.Errorf("%s (%s): %w", document.Key, document.Place, err)
		}
	}
	return s.pass(ctx)
}

// rank orders kinds that others need before those.
func rank(d *Document) int {
	if d.Key.Kind == "Namespace" || d.Key.Kind == "CustomResourceDefinition" {
		return 0
	}
	return 1
}

func (s *apiSession) put(ctx context.Context, document *Document) error {
	if err := s.ages.await(ctx, document); err != nil {
		return err
	}
	object, err := document.object()
	if err != nil {
		return err
	}
	annotate(object.Object, lastApplied, string(document.JSON))
	s.made = append(s.made, object.DeepCopy())
	status, hasStatus := object.Object["status"]

	current := object.DeepCopy()
	err = s.client.Get(ctx, client.ObjectKeyFromObject(object), current)
	switch {
	case apierrors.IsNotFound(err):
		err = s.client.Create(ctx, object)
	case err == nil:
		merged, mergeErr := merge(current.Object, object.Object, false)
		if mergeErr != nil {
			return mergeErr
		}
		object.Object = merged
		err = s.client.Update(ctx, object)
	}
	if err != nil {
		return err
	}
	if !hasStatus {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return s.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// Apply runs kubectl apply.
func (s *apiSession) Apply(ctx context.Context, document *Document) (*Outcome, error) {
	if err := s.ages.await(ctx, document); err != nil {
		return nil, err
	}
	object, err := document.object()
	if err != nil {
		return nil, err
	}
	s.unseen = true
	if !document.DryRun {
		s.made = append(s.made, object)
	}
	return s.kubectl(ctx, document)
}

// Delete deletes the objects. Of a namespace, whose controller does not run here,
// it deletes what the scenario has made in it.
func (s *apiSession) Delete(ctx context.Context, documents []*Document) error {
	s.unseen = true
	for _, document := range documents {
		if document.isServiceImportCRD() {
			continue // it was never there: see environment
		}
		object, err := document.object()
		if err == nil {
			err = s.remove(ctx, object, true)
		}
		if err != nil {
			return fmt.Errorf("%s (%s): %w", document.Key, document.Place, err)
		}
	}
	return nil
}

// Status waits until gammaguard has seen all that came before, and then until its
// entries are as wanted.
func (s *apiSession) Status(ctx context.Context, key manifest.Key, wanted func([]Entry) bool) ([]Entry, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	route := &unstructured.Unstructured{}
	route.SetAPIVersion(mesh.GatewayGroup + "/v1")
	route.SetKind(key.Kind)
	var (
		entries []Entry
		settled bool
	)
	err := poll(ctx, settleTimeout, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, route)
		if apierrors.IsNotFound(err) {
			entries, settled = nil, true
			return true, nil
		}
		if err != nil {
			return false, err
		}
		text, err := route.MarshalJSON()
		if err != nil {
			return false, err
		}
		if entries, err = entriesOf(text, s.scenario.Config.Status.ControllerName); err != nil {
			return false, err
		}
		settled = current(entries, route.GetGeneration())
		return settled && wanted(entries), nil
	})
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return entries, err
	}
	if !settled && wanted(entries) {
		return entries, fmt.Errorf("the entries are as wanted, but not about generation %d", route.GetGeneration())
	}
	return entries, nil // the caller tells the difference
}

// current says whether the entries are about that generation of their route.
func current(entries []Entry, generation int64) bool {
	return !slices.ContainsFunc(entries, func(e Entry) bool {
		return slices.ContainsFunc(e.Conditions, func(c Condition) bool { return c.ObservedGeneration != generation })
	})
}
