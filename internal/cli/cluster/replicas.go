package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gammaguard/gammaguard/mesh"
)

// deployment checks the replicas and their configuration.
func (i *installation) deployment(installation, name string) {
	const check = "installation"
	namespace, _, _ := strings.Cut(installation, "/")
	i.restart = fmt.Sprintf("kubectl rollout restart -n %s deployment/%s", namespace, name)
	var deployment appsv1.Deployment
	if result, lack := i.read(appsv1.SchemeGroupVersion.WithResource("deployments"), namespace, name, &deployment); result != OK {
		if result == Fail {
			lack += "; if it has another name, specify --installation"
		}
		i.add(check, result, "%s", lack)
		return
	}
	var images []string
	secret := ""
	i.certificates = fromSecret
	for _, container := range deployment.Spec.Template.Spec.Containers {
		images = append(images, container.Image)
		for _, arg := range container.Args {
			if strings.HasPrefix(arg, "--cert-manager-certificate=") {
				i.certificates = fromCertManager
			} else if name, is := strings.CutPrefix(arg, "--cert-secret="); is {
				i.certificates, secret = fromGammaguard, name
			}
		}
	}
	result, details, unfinished := replicas(&deployment)
	pods, _ := i.pods(i.ctx, namespace) // none if the user cannot list them
	i.neverRan = len(pods) > 0 && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return hasRun(&pod) })
	if waiting := waiting(pods); len(waiting) > 0 {
		details += "; " + strings.Join(waiting, ", ")
	}
	i.unfinished = unfinished
	if ending := ending(pods); ending != "" {
		result, i.unfinished = Fail, true
		details += "; Pod " + ending + " is ending, and may still answer with an older image or configuration"
	}
	details += "; "
	if unfinished {
		details += "to be rolled out: "
	}
	details += fmt.Sprintf("image %s; certificates from %s; ", strings.Join(images, ", "), i.certificates)
	configuration, _, err := i.Configuration(installation)
	switch {
	case err == nil:
		i.configuration = configuration
		details += "mode " + string(configuration.Mode)
	case errors.Is(err, mesh.ErrUnknown):
		details += "mode unknown"
	default:
		result = Fail
		details += "the configuration cannot be read: " + err.Error()
	}
	if lack := i.ownSecret(secret); lack != "" {
		if result == OK {
			result = Warn
		}
		details += "; " + lack
	}
	i.add(check, result, "%s", details)
}

// bound checks whether the role and its binding are there.
func (i *installation) bound(namespace, name string, resources ...string) (result Result, lack string) {
	for _, resource := range resources {
		var object rbacv1.Role // of any, only whether it exists matters
		if result, lack = i.read(rbacv1.SchemeGroupVersion.WithResource(resource), namespace, name, &object); result != OK {
			return result, lack
		}
	}
	return OK, ""
}

// permissions reports a role or a binding that is gone, without which no replica becomes ready.
func (i *installation) permissions() {
	if result, lack := i.bound("", roleName, "clusterroles", "clusterrolebindings"); result == Fail {
		i.add("permissions", Warn, "%s: unless you renamed it, gammaguard cannot read what it needs; apply the overlay again", lack)
	}
}

// election checks whether the objects are there without which no replica leads.
func (i *installation) election(namespace string) {
	const check = "leader election"
	switch result, lack := i.bound(namespace, electionName, "roles", "rolebindings"); result {
	case OK:
		i.add(check, OK, "its Role and RoleBinding are there")
	case Fail:
		i.add(check, Warn, "%s: no replica can become the leader, which writes status and Reports; apply the overlay again", lack)
	default:
		i.add(check, result, "%s", lack)
	}
}

// replicas says how many replicas are ready, or that the rollout of the Deployment is unfinished: then, other replicas than
// those that the Deployment describes can be the ready ones.
func replicas(deployment *appsv1.Deployment) (result Result, details string, unfinished bool) {
	status, wanted := &deployment.Status, wanted(deployment)
	details = fmt.Sprintf("%d of %d replicas are ready", status.ReadyReplicas, wanted)
	switch {
	case wanted == 0:
		return Fail, "it is scaled to 0 replicas", false
	case status.Replicas > status.UpdatedReplicas:
		others := "the others run an older image or configuration"
		if status.UpdatedReplicas >= wanted {
			others = "and older ones stay until these are available"
		}
		return Fail, fmt.Sprintf("the rollout is not finished: %d of %d replicas are updated, %s", status.UpdatedReplicas, wanted, others), true
	case status.Replicas > 0 && status.ObservedGeneration < deployment.Generation:
		return Fail, "the rollout is not finished: the last change of the Deployment has not been processed", true
	case status.ReadyReplicas == 0:
		return Fail, details, false
	case status.ReadyReplicas < wanted:
		return Warn, details, false
	}
	return OK, details, false
}

// maxWaiting is how many Pods that are not ready are named.
const maxWaiting = 3

// waiting says why Pods are not ready.
func waiting(pods []corev1.Pod) (waiting []string) {
	for p := range pods {
		if reason := waitingFor(&pods[p]); reason != "" && pods[p].DeletionTimestamp == nil && len(waiting) < maxWaiting {
			waiting = append(waiting, "Pod "+pods[p].Name+": "+reason)
		}
	}
	return waiting
}

// ending returns the name of a Pod that is ending, and has another template than each one that stays; empty if there is none.
func ending(pods []corev1.Pod) string {
	ending := slices.Clone(pods)
	for p := range pods {
		if pods[p].DeletionTimestamp == nil {
			ending = slices.DeleteFunc(ending, func(pod corev1.Pod) bool { return templateOf(&pod) == templateOf(&pods[p]) })
		}
	}
	if len(ending) == 0 || len(ending) == len(pods) { // none stays
		return ""
	}
	return ending[0].Name
}

// templateOf identifies the template of a Pod: each ReplicaSet has its own.
func templateOf(pod *corev1.Pod) string { return pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] }

// ownSecret says what is wrong with the Secret that gammaguard fills itself, as NAMESPACE/NAME; empty if that is nothing, or not
// known. It reads only metadata.
func (i *installation) ownSecret(secret string) string {
	if secret == "" {
		return ""
	}
	namespace, name, _ := strings.Cut(secret, "/")
	find := func(at schema.GroupVersionResource, name string) error {
		_, err := i.metadata.Resource(at).Namespace(namespace).Get(i.ctx, name, metav1.GetOptions{})
		return err
	}
	switch {
	case apierrors.IsNotFound(find(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, name)):
		return "there is no Secret " + secret + ", so no Pod that starts becomes ready: apply the overlay again"
	case find(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}, servingCertificate) == nil:
		return "cert-manager overwrites the Secret " + secret + " too: delete the Certificate " + namespace + "/" + servingCertificate
	}
	return ""
}

// unlessNeverRan returns a hint that is of use where gammaguard has run.
func (i *installation) unlessNeverRan(hint string) string {
	if i.neverRan {
		return ""
	}
	return hint
}
