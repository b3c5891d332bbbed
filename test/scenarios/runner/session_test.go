package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

const (
	// statusTimeout bounds how long status may take to become as wanted.
	statusTimeout = 10 * time.Second
	// goneTimeout bounds how long a deletion may take.
	goneTimeout = 30 * time.Second
)

// apiSession plays one scenario on the API server.
type apiSession struct {
	*apiServer
	scenario *Scenario
	// made are the objects to remove at the end, the oldest first.
	made []*unstructured.Unstructured
	// unseen: gammaguard may not have seen yet what was done.
	unseen bool
	// rivals are the routes whose age matters, and youngest the second in which the
	// last one was created.
	rivals   map[manifest.Key]bool
	youngest time.Time
	// ending: finalizers do not keep an object from being deleted.
	ending bool
}

// createNamespaces creates the namespaces that the scenario uses and does not
// define.
func (s *apiSession) createNamespaces(ctx context.Context) error {
	used, defined := map[string]bool{}, map[string]bool{"": true}
	for _, document := range s.scenario.Documents() {
		used[document.Key.Namespace] = true
		if document.Key.Kind == "Namespace" {
			defined[document.Key.Name] = true
		}
	}
	for name := range used {
		if defined[name] {
			continue
		}
		namespace := namespace(name)
		switch err := s.client.Create(ctx, namespace); {
		case err == nil:
			s.made = append(s.made, namespace)
		case !apierrors.IsAlreadyExists(err):
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
	if err := s.barrier.pass(ctx, s.scenario.Config); err != nil {
		return fmt.Errorf("wait until gammaguard has seen everything: %w\nits log ends with:\n%s", err, tail(s.running.Log(), 20))
	}
	s.unseen = false
	return nil
}

// Put creates or replaces the objects as the user cluster, what others need before
// those, and waits until gammaguard has seen them.
func (s *apiSession) Put(ctx context.Context, documents []*Document) error {
	s.unseen = true
	if err := s.putAll(ctx, documents); err != nil {
		return err
	}
	return s.pass(ctx)
}

func (s *apiSession) putAll(ctx context.Context, documents []*Document) error {
	for _, first := range []bool{true, false} {
		for _, document := range documents {
			if first != slices.Contains([]string{"Namespace", "CustomResourceDefinition"}, document.Key.Kind) {
				continue
			}
			if err := s.put(ctx, document); err != nil {
				return fmt.Errorf("%s (%s): %w", document.Key, document.Origin, err)
			}
		}
	}
	return nil
}

func (s *apiSession) put(ctx context.Context, document *Document) error {
	object, err := document.object()
	if err == nil {
		err = s.grow(ctx, document)
	}
	if err != nil {
		return err
	}
	defer s.grown(document)
	s.made = append(s.made, object.DeepCopy())
	setLastApplied(object, document)
	patch := []byte(compact(map[string]any{"status": object.Object["status"]}))

	current := object.DeepCopy()
	err = s.client.Get(ctx, client.ObjectKeyFromObject(object), current)
	switch {
	case apierrors.IsNotFound(err):
		err = s.client.Create(ctx, object)
	case err == nil:
		object.SetResourceVersion(current.GetResourceVersion())
		err = s.client.Update(ctx, object)
	}
	if err != nil || string(patch) == `{"status":null}` {
		return err
	}
	return s.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// Apply runs kubectl apply.
func (s *apiSession) Apply(ctx context.Context, document *Document) (*Outcome, error) {
	object, err := document.object()
	if err == nil {
		err = s.grow(ctx, document)
	}
	if err != nil {
		return nil, err
	}
	defer s.grown(document)
	s.unseen = true
	if !document.DryRun {
		s.made = append(s.made, object)
	}
	return s.kubectl(ctx, document)
}

// Delete deletes the object, by kubectl where its warnings count: those of gammaguard are not for
// the user cluster.
func (s *apiSession) Delete(ctx context.Context, document *Document) (warnings []string, err error) {
	if document.Deletion == nil {
		return nil, s.delete(ctx, document)
	}
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	_, stderr, err := s.plane.Kubectl(ctx, string(document.JSON), "delete", "-f", "-", "--wait=false", "--as", administrator, "--as-group", "system:masters")
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr)
	}
	return warned(stderr), ignoreNotThere(s.delete(ctx, document))
}

func (s *apiSession) delete(ctx context.Context, document *Document) error {
	s.unseen = true
	if document.isServiceImportCRD() {
		return nil // it was never there: see environment
	}
	object, err := document.object()
	if err != nil {
		return err
	}
	return s.remove(ctx, object)
}

// End deletes all objects of the scenario, those in a namespace before it.
func (s *apiSession) End(ctx context.Context) error {
	s.ending = true
	var errs []error
	for _, namespaces := range []bool{false, true} {
		for _, object := range slices.Backward(s.made) {
			if isNamespace(object) == namespaces {
				errs = append(errs, ignoreNotThere(s.remove(ctx, object)))
			}
		}
	}
	return errors.Join(errs...)
}

// remove deletes the object, and waits until it is gone or has finalizers that keep
// it. Of a namespace, whose controller does not run here, it first deletes what the
// scenario has made in it.
func (s *apiSession) remove(ctx context.Context, object *unstructured.Unstructured) error {
	if name := object.GetName(); isNamespace(object) {
		for _, inside := range s.made {
			if inside.GetNamespace() == name {
				if err := ignoreNotThere(s.remove(ctx, inside)); err != nil {
					return err
				}
			}
		}
		if name == metav1.NamespaceDefault || strings.HasPrefix(name, "kube-") {
			return s.client.Update(ctx, namespace(name)) // the API server keeps these
		}
	}
	if err := s.client.Delete(ctx, object.DeepCopy()); err != nil {
		return err
	}
	current := object.DeepCopy()
	err := poll(ctx, goneTimeout, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(object), current)
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, err
		case isNamespace(current): // its controller does this in the end
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: current.GetName()}}
			return false, client.IgnoreNotFound(s.client.SubResource("finalize").Update(ctx, namespace))
		case len(current.GetFinalizers()) > 0 && !s.ending:
			return true, nil
		case len(current.GetFinalizers()) > 0:
			current.SetFinalizers(nil)
			return false, ignoreNotThere(s.client.Update(ctx, current))
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s %s is gone: %w", object.GetKind(), object.GetName(), err)
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
	var entries []Entry
	old := false // the entries are not about the present generation
	err := poll(ctx, statusTimeout, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, route)
		if apierrors.IsNotFound(err) {
			entries, old = nil, false
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if entries, err = ownEntries(route, s.scenario.Config); err != nil {
			return false, err
		}
		old = slices.ContainsFunc(entries, func(e Entry) bool {
			return slices.ContainsFunc(e.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration != route.GetGeneration() })
		})
		return !old && wanted(entries), nil
	})
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return entries, err
	}
	if old && wanted(entries) {
		return entries, fmt.Errorf("the entries are as wanted, but not about generation %d", route.GetGeneration())
	}
	return entries, nil // the caller reports the difference
}

// ownEntries returns gammaguard's entries in a route's status.
func ownEntries(object *unstructured.Unstructured, c *config.GuardConfiguration) ([]Entry, error) {
	var r route
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &r)
	return slices.DeleteFunc(r.Status.Parents, func(e Entry) bool { return !isOwn(&e, c) }), err
}
