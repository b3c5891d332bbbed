package cluster

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// What of an installation names and holds the configuration.
const (
	configVolume = "config"
	configKey    = "guard.yaml"
)

// objectOf is a namespaced object of a resource.
type objectOf struct {
	resource              schema.GroupVersionResource
	kind, namespace, name string
}

// String reads "ConfigMap shop/cart".
func (o objectOf) String() string { return o.kind + " " + o.namespace + "/" + o.name }

// Configuration returns the configuration that gammaguard runs with in the cluster, and
// the ConfigMap that holds it: the one that the Deployment, as NAMESPACE/NAME, mounts.
// The error is mesh.ErrUnknown or mesh.ErrNotFound where one of them may not be read, or
// does not exist.
func (c *Cluster) Configuration(deployment string, overrides ...config.Override) (*config.GuardConfiguration, string, error) {
	namespace, name, ok := strings.Cut(deployment, "/")
	if !ok {
		return nil, "", fmt.Errorf("installation %q: must be NAMESPACE/NAME", deployment)
	}
	at := deploymentOf(namespace, name)
	object, err := cached(c, "%s", at, c.get)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", at, err)
	}
	var mounts appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &mounts); err != nil {
		return nil, "", fmt.Errorf("%s: %w", at, err)
	}
	for _, volume := range mounts.Spec.Template.Spec.Volumes {
		if volume.Name == configVolume && volume.ConfigMap != nil {
			return c.configMap(objectOf{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", namespace, volume.ConfigMap.Name}, overrides)
		}
	}
	return nil, "", fmt.Errorf("%s has no volume %q of a ConfigMap", at, configVolume)
}

// configMap returns the configuration in the ConfigMap. Whoever wrote it, the error is
// fit for a terminal.
func (c *Cluster) configMap(at objectOf, overrides []config.Override) (*config.GuardConfiguration, string, error) {
	object, err := cached(c, "%s", at, c.get)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", at, err)
	}
	text, found, err := unstructured.NestedString(object.Object, "data", configKey)
	if err != nil || !found {
		return nil, "", fmt.Errorf("%s has no key %q", at, configKey)
	}
	configuration, err := config.Load([]byte(text), overrides...)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %s: %s", at, configKey, printable.Text(err.Error()))
	}
	return configuration, at.String(), nil
}

// get reads one object.
func (c *Cluster) get(ctx context.Context, at objectOf) (*unstructured.Unstructured, error) {
	object, err := c.objects.Resource(at.resource).Namespace(at.namespace).Get(ctx, at.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, mesh.ErrNotFound
	}
	return object, err
}
