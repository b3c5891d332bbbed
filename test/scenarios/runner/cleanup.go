package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

// goneTimeout bounds how long a deletion may take.
const goneTimeout = 30 * time.Second

// End deletes all objects of the scenario, those in a namespace before it.
func (s *apiSession) End(ctx context.Context) error {
	slices.Reverse(s.made)
	slices.SortStableFunc(s.made, func(a, b *unstructured.Unstructured) int {
		return boolRank(a.GetKind() == "Namespace") - boolRank(b.GetKind() == "Namespace")
	})
	var errs []error
	for _, object := range s.made {
		errs = append(errs, s.remove(ctx, object, false))
	}
	s.made = nil
	return errors.Join(errs...)
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// remove deletes the object and waits until it is gone. That it is gone already
// is an error only if it must be there.
func (s *apiSession) remove(ctx context.Context, object *unstructured.Unstructured, mustExist bool) error {
	if object.GetKind() == "Namespace" && object.GetAPIVersion() == "v1" {
		if slices.Contains(s.standing, object.GetName()) {
			return s.unlabel(ctx, object)
		}
		for _, inside := range s.made {
			if inside.GetNamespace() == object.GetName() {
				if err := s.remove(ctx, inside, false); err != nil {
					return err
				}
			}
		}
	}
	err := s.client.Delete(ctx, object.DeepCopy())
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		if mustExist {
			return err
		}
		return nil
	case err != nil:
		return fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	current := object.DeepCopy()
	err = poll(ctx, goneTimeout, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(object), current)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err == nil && current.GetKind() == "Namespace" {
			err = s.finalize(ctx, current.GetName())
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("wait until %s %s is gone: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// finalize does what the controller of namespaces does in the end.
func (s *apiSession) finalize(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := s.client.SubResource("finalize").Update(ctx, namespace)
	return client.IgnoreNotFound(err)
}

// unlabel takes the labels and annotations that the document gives to a namespace
// that stays away from it.
func (s *apiSession) unlabel(ctx context.Context, document *unstructured.Unstructured) error {
	namespace := &corev1.Namespace{}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(document), namespace); err != nil {
		return err
	}
	before := namespace.DeepCopy()
	for key := range document.GetLabels() {
		if key != corev1.LabelMetadataName {
			delete(namespace.Labels, key)
		}
	}
	for key := range document.GetAnnotations() {
		delete(namespace.Annotations, key)
	}
	delete(namespace.Annotations, lastApplied)
	return s.client.Patch(ctx, namespace, client.MergeFrom(before))
}

// serviceImports names the definition of ServiceImport.
const serviceImports = "serviceimports." + mesh.MulticlusterGroup

func (d *Document) isServiceImportCRD() bool {
	return d.Key.Kind == "CustomResourceDefinition" && d.Key.Name == serviceImports
}

// withoutServiceImports says whether the scenario deletes the definition of
// ServiceImport, which it may do only before all else.
func (s *Scenario) withoutServiceImports() bool {
	return slices.ContainsFunc(s.documents(), (*Document).isServiceImportCRD)
}

// serveImports installs or removes the definition of ServiceImport.
func (d *APIServer) serveImports(ctx context.Context, serve bool) error {
	definitions, err := bed.CustomResourceDefinitions(ctx, bedOptions)
	if err != nil {
		return err
	}
	definitions = slices.DeleteFunc(definitions, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name != serviceImports })
	if serve {
		_, err = envtest.InstallCRDs(d.plane.Config, envtest.CRDInstallOptions{CRDs: definitions})
	} else {
		err = envtest.UninstallCRDs(d.plane.Config, envtest.CRDInstallOptions{CRDs: definitions})
	}
	if err != nil {
		return err
	}
	d.served = serve
	return poll(ctx, effectTimeout, func(ctx context.Context) (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(mesh.MulticlusterGroup + "/v1alpha1")
		list.SetKind(mesh.ServiceImportKind + "List")
		err := d.client.List(ctx, list)
		return (err == nil) == serve, ignoreNotServed(err)
	})
}
