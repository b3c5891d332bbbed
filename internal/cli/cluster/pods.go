package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/mesh"
)

const (
	// podLabels select the Pods of gammaguard, which the manifests and the chart give these labels.
	podLabels = "app.kubernetes.io/name=gammaguard,app.kubernetes.io/component=webhook"
	// maxPods is how many of them are read.
	maxPods = 50
)

// pods returns the Pods of gammaguard in the namespace that have not ended. The error is mesh.ErrUnknown if the user
// cannot list them.
func (c *Cluster) pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	list, err := c.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace).
		List(ctx, metav1.ListOptions{LabelSelector: podLabels, Limit: maxPods})
	if apierrors.IsForbidden(err) {
		return nil, forbidden("you cannot list the Pods of namespace " + namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("list the Pods of namespace %s: %w", namespace, err)
	}
	pods := make([]corev1.Pod, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &pods[i]); err != nil {
			return nil, fmt.Errorf("Pod %s/%s: %w", namespace, list.Items[i].GetName(), err) //nolint:staticcheck // a kind
		}
	}
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	}), nil
}

// waitingFor returns why a Pod is not ready; empty if it is.
func waitingFor(pod *corev1.Pod) string {
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if container.State.Waiting != nil && container.State.Waiting.Reason != "" {
			return container.State.Waiting.Reason
		}
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			return condition.Reason
		case condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue:
			return ""
		}
	}
	return "not ready"
}

// hasRun reports whether a container of the Pod runs, or has run, and so may have logged something.
func hasRun(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(container corev1.ContainerStatus) bool {
		return container.State.Running != nil || container.State.Terminated != nil || container.LastTerminationState.Terminated != nil
	})
}

// AwaitStopped waits for at most the limit until no Pod of the installation, as NAMESPACE/NAME, is left. It calls waiting
// before it waits, and does not wait where the Deployment wants some. The error is mesh.ErrUnknown if the user cannot list
// Pods.
func (c *Cluster) AwaitStopped(ctx context.Context, installation string, limit time.Duration, waiting func()) error {
	namespace, name, _ := strings.Cut(installation, "/")
	object, err := cached(c, "%s", deploymentOf(namespace, name), c.get)
	var deployment appsv1.Deployment
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment)
	}
	switch {
	case err == nil && wanted(&deployment) > 0:
		return fmt.Errorf("Deployment %s runs, and writes the entries again; first run: kubectl scale -n %s deployment/%s --replicas=0", //nolint:staticcheck // a kind
			installation, namespace, name)
	case err != nil && !errors.Is(err, mesh.ErrNotFound) && !errors.Is(err, mesh.ErrUnknown):
		return err
	}
	for end := time.Now().Add(limit); ; {
		pods, err := c.pods(ctx, namespace)
		switch {
		case err != nil || len(pods) == 0:
			return err
		case time.Now().After(end):
			return fmt.Errorf("after %s, Pod %s/%s of gammaguard has not terminated, and may write the entries again", limit, namespace, pods[0].Name)
		case waiting != nil:
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// wanted returns how many replicas the Deployment asks for.
func wanted(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 1
	}
	return *deployment.Spec.Replicas
}

// deploymentOf names a Deployment.
func deploymentOf(namespace, name string) objectOf {
	return objectOf{appsv1.SchemeGroupVersion.WithResource("deployments"), "Deployment", namespace, name}
}
