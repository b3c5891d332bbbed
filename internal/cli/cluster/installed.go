package cluster

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/grantpolicy"
	"github.com/gammaguard/gammaguard/mesh"
)

// State is what an installation does with a bad route.
type State string

// The states of an installation.
const (
	// Works: a bad route is refused.
	Works State = "works"
	// Failing: gammaguard answers, and cannot find out whether a route is valid.
	Failing State = "cannot verify routes"
	// Lenient: gammaguard answers, and admits a bad route, as in mode warn or audit.
	Lenient State = "not enforcing"
	// Silent: the webhook is registered, and gammaguard does not answer.
	Silent State = "not answering"
	// Unregistered: there is no webhook.
	Unregistered State = "not registered"
	// Undetermined: the user may not find out.
	Undetermined State = "unknown"
)

// The names of the objects that the manifests install.
const (
	configurationName = "gammaguard"
	validateWebhook   = "validate.gammaguard.dev"
	mutateWebhook     = "mutate.gammaguard.dev"
	electionName      = "gammaguard-leader-election" // of the Role and the RoleBinding
	roleName          = "gammaguard-webhook"         // of the ClusterRole and the ClusterRoleBinding
	accountPolicy     = "gammaguard-service-account"
	eventsPolicy      = "gammaguard-events"

	servingCertificate = "gammaguard-serving-cert"
)

// Where the certificate of the webhooks is from.
const (
	fromSecret      = "a Secret"
	fromCertManager = "cert-manager"
	fromGammaguard  = "gammaguard"
)

// InstalledOptions name an installation.
type InstalledOptions struct {
	// Installation is the Deployment, as NAMESPACE/NAME.
	Installation string
	// Namespace is where the bad route is tried; empty: that of the installation.
	Namespace string
}

// installation is what is found out of an installation, check by check.
type installation struct {
	*Cluster
	ctx    context.Context
	checks []Check
	// configuration is nil if it cannot be read.
	configuration *config.GuardConfiguration
	// neverRan is set if there are Pods, and no container of one has started.
	neverRan bool
	// unfinished is set if Pods of before the last change of the Deployment can still answer.
	unfinished bool
	// certificates is where they are from; empty if it cannot be read.
	certificates string
	// restart is the command that lets the replicas read their configuration again.
	restart string
	// served is the result of the check whether gammaguard has served.
	served Result
	// validating is the validating webhook, as it is registered; nil if it cannot be read.
	validating *registration
	// reached is nil if the API server reaches gammaguard, or why not.
	reached error
}

// Installed checks an installation: which objects there are, whether the API server reaches
// gammaguard, and what becomes of a bad route. Both are asked by dry runs, which store
// nothing. The error is that the cluster cannot be read at all.
func (c *Cluster) Installed(ctx context.Context, options InstalledOptions) ([]Check, State, error) {
	namespace, name, ok := strings.Cut(options.Installation, "/")
	if !ok {
		return nil, "", fmt.Errorf("installation %q: must be NAMESPACE/NAME", options.Installation)
	}
	if _, err := c.discovery.ServerVersion(); err != nil {
		return nil, "", fmt.Errorf("ask for the version of the API server: %w", err)
	}
	clear(c.kept) // what was read before may have changed
	i := &installation{Cluster: c, ctx: ctx}
	i.deployment(options.Installation, name)
	i.permissions()
	i.election(namespace)
	i.statusNames()
	i.probe()
	registered := i.registrations()
	i.binding(registered)
	i.policies()
	i.reach()
	if options.Namespace != "" {
		namespace = options.Namespace
	}
	return i.checks, i.badRoute(namespace, registered), nil
}

func (i *installation) add(name string, result Result, format string, args ...any) {
	i.checks = append(i.checks, Check{name, result, fmt.Sprintf(format, args...)})
}

// read reads an object at cluster scope, or in a namespace. If it cannot be read, result says
// whether that is a failure, and lack why.
func (i *installation) read(at schema.GroupVersionResource, namespace, name string, object any) (result Result, lack string) {
	var from *unstructured.Unstructured
	var err error
	if namespace == "" {
		from, err = i.objects.Resource(at).Get(i.ctx, name, metav1.GetOptions{})
	} else {
		from, err = i.objects.Resource(at).Namespace(namespace).Get(i.ctx, name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return Fail, "there is no " + strings.TrimSuffix(at.Resource, "s") + " " + strings.TrimPrefix(namespace+"/"+name, "/")
	case err != nil:
		return Unclear, err.Error()
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, object); err != nil {
		return Unclear, err.Error()
	}
	return OK, ""
}

// binding checks whether gammaguard has noted that it has served, which has no effect while the validating webhook is
// not registered.
func (i *installation) binding(registered bool) {
	const check = "has served"
	defer func() { i.served = i.checks[len(i.checks)-1].Result }()
	var binding rbacv1.ClusterRoleBinding
	result, lack := i.read(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings"), "", config.ServingBinding, &binding)
	switch {
	case result == Fail:
		i.add(check, Fail, "%s, so gammaguard checks no mesh route: apply the overlay", lack)
	case result != OK:
		i.add(check, result, "%s", lack)
	case len(binding.Subjects) == 0:
		i.add(check, Fail, "not yet, so gammaguard checks no mesh route: the ClusterRoleBinding %s has no subject%s", config.ServingBinding,
			i.unlessNeverRan(". The log of gammaguard names the reason"))
	case !registered:
		i.add(check, Warn, "it has, and checks no mesh route all the same: the validating webhook is not registered")
	case i.validating == nil:
		i.add(check, OK, "while no replica answers, mesh routes are refused if the failurePolicy is Fail")
	case policyOf(i.validating.FailurePolicy) == admissionv1.Ignore:
		i.add(check, OK, "while no replica answers, gammaguard checks no mesh route: the failurePolicy is Ignore")
	default:
		i.add(check, OK, "while no replica answers, mesh routes are refused")
	}
}

// probe asks whether the API server reaches gammaguard.
func (i *installation) probe() {
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: "preflight"}}}`, config.ProbeAnnotation)
	_, err := i.objects.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")).
		Patch(i.ctx, config.ServingBinding, types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	i.reached = config.Probed(err)
}

// reach checks what the probe came to.
func (i *installation) reach() {
	const check = "API server reaches gammaguard"
	switch {
	case i.reached == nil:
		i.add(check, OK, "yes")
	case errors.Is(i.reached, config.ErrNotReached) && distrusted(i.reached):
		i.add(check, Fail, "%s; %s", i.reached, i.restoreTrust())
	case errors.Is(i.reached, config.ErrNotReached):
		i.add(check, Fail, "%s%s", i.reached, i.behindService())
	case errors.Is(i.reached, config.ErrNotRegistered):
		i.add(check, Fail, "%s", i.reached)
	default:
		i.add(check, Unclear, "%s", i.reached)
	}
}

// behindService says what is wrong with the Service that the API server asks; empty where that is not known.
func (i *installation) behindService() string {
	if i.validating == nil || i.validating.ClientConfig.Service == nil {
		return ""
	}
	service := i.validating.ClientConfig.Service
	key := mesh.ServiceKey{Kind: mesh.ServiceKind, Namespace: service.Namespace, Name: service.Name}
	if _, err := mesh.FindService(i, key); errors.Is(err, mesh.ErrNotFound) {
		return fmt.Sprintf("; there is no %s: apply the overlay again", key)
	}
	if has, err := mesh.HasEndpoints(i, key); err == nil && !has {
		return fmt.Sprintf("; %s has no endpoint: either no Pod is ready, or its selector matches none: if Pods are ready, delete the Service, and apply the overlay again", key)
	}
	return ""
}

// badRoute checks what becomes of a route that gammaguard denies in each namespace: where
// there is a grant for it, because no Service has port 1 of this name.
func (i *installation) badRoute(namespace string, registered bool) State {
	check := "a bad route in namespace " + namespace
	route := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": mesh.GatewayGroup + "/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"name": "gammaguard-preflight", "namespace": namespace},
		"spec": map[string]any{"parentRefs": []any{map[string]any{
			"group": "", "kind": "Service", "namespace": metav1.NamespaceDefault, "name": "kubernetes", "port": int64(1),
		}}},
	}}
	_, err := i.objects.Resource(schema.GroupVersionResource{Group: mesh.GatewayGroup, Version: "v1", Resource: "httproutes"}).Namespace(namespace).
		Create(i.ctx, route, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	text := fmt.Sprint(err)
	_, answer, denied := strings.Cut(text, fmt.Sprintf("admission webhook %q denied the request: ", validateWebhook))
	switch {
	case denied && isFinding(err):
		i.refused(check, namespace, "is refused by gammaguard", "a replica has not read that yet; after an edit of the ConfigMap, run "+i.restart)
		return Works
	case denied:
		i.add(check, Fail, "gammaguard answers, but cannot verify routes: %s", answer)
		return Failing
	case strings.Contains(text, "ValidatingAdmissionPolicy '"+grantpolicy.Name+"'") && registered:
		how, state := "is refused by the API server itself, for its grant", i.unreached()
		if i.reached == nil {
			how, state = how+"; gammaguard answers", Works
		}
		i.refused(check, namespace, how, applyPolicies)
		return state
	case strings.Contains(text, fmt.Sprintf("failed calling webhook %q", validateWebhook)) && distrusted(err):
		i.add(check, Fail, "is refused because its webhook does not trust gammaguard: %s; %s", text, i.restoreTrust())
		return Silent
	case strings.Contains(text, fmt.Sprintf("failed calling webhook %q", validateWebhook)):
		i.add(check, Fail, "is refused because gammaguard does not answer: %s", text)
		return Silent
	case !registered && err != nil && !apierrors.IsNotFound(err):
		i.add(check, Fail, "gammaguard is not asked: the webhook is not registered; the route is refused all the same: %s", text)
		return Unregistered
	case !registered:
		i.add(check, Fail, "gammaguard is not asked: the webhook is not registered")
		return Unregistered
	case strings.HasSuffix(text, "the server could not find the requested resource"):
		i.add(check, Fail, "cannot be tried, since no HTTPRoute is served: install the CustomResourceDefinitions of the Gateway API")
		return i.unreached()
	case err != nil:
		i.add(check, Unclear, "gammaguard is not asked: %s", text)
		return i.unreached()
	}
	return i.admitted(check, namespace)
}

// ruleAtEnd is how a denial for findings ends.
var ruleAtEnd = regexp.MustCompile(`\([a-z][a-z-]*\)\]?$`)

// isFinding reports whether a denial says what is wrong with the route, and not that gammaguard could not find out.
func isFinding(denial error) bool {
	return (apierrors.IsForbidden(denial) || apierrors.IsInvalid(denial)) && ruleAtEnd.MatchString(denial.Error())
}

// unreached returns the state where gammaguard is not asked about a route.
func (i *installation) unreached() State {
	switch {
	case errors.Is(i.reached, config.ErrNotRegistered):
		return Unregistered
	case errors.Is(i.reached, config.ErrNotReached), i.served == Fail:
		return Silent
	}
	return Undetermined
}

// refused checks that a bad route may be refused in the mode, and says how to correct it where it may not.
func (i *installation) refused(check, namespace, how, remedy string) {
	if mode := i.modeOf(namespace); mode == mesh.Warn || mode == mesh.Audit {
		i.add(check, Fail, "%s, although the mode is %s: %s", how, mode, remedy)
		return
	}
	i.add(check, OK, "%s", how)
}

// admitted says why a bad route is admitted where there is a webhook.
func (i *installation) admitted(check, namespace string) State {
	switch state := i.unreached(); {
	case state == Silent && i.served == Fail:
		i.add(check, Fail, "is admitted: gammaguard is asked only once it has served")
		return state
	case state != Undetermined:
		i.add(check, Fail, "is admitted: gammaguard is %s", state)
		return state
	case i.reached != nil:
		i.add(check, Unclear, "is admitted; the reason cannot be determined")
		return state
	}
	const admitted = "is admitted, although gammaguard answers: "
	switch mode := i.modeOf(namespace); {
	case i.validating != nil && i.validating.leavesOut(i, namespace):
		i.add(check, Fail, admitted+"%s has %s that leaves it out", validateWebhook, i.validating.limit)
	case mode == "":
		i.add(check, Warn, admitted+"the mode cannot be read")
	case mode != mesh.Enforce:
		i.add(check, Warn, admitted+"the mode is %s", mode)
	case i.unfinished:
		i.add(check, Fail, admitted+"a Pod of before the rollout may have answered")
	case i.validating != nil && i.validating.limit != "":
		i.add(check, Fail, admitted+"either %s of %s leaves it out, or the configuration exempts you, or turns the rules off", i.validating.limit, validateWebhook)
	default:
		i.add(check, Fail, admitted+"its configuration exempts you, or turns the rules off; after an edit of the ConfigMap, run %s", i.restart)
	}
	return Lenient
}

// modeOf returns the mode of a namespace; empty if it cannot be read.
func (i *installation) modeOf(namespace string) mesh.Mode {
	object, err := mesh.FindNamespace(i, namespace)
	if err == nil && i.configuration != nil {
		return i.configuration.Policy().ModeIn(object)
	}
	labels, _ := object.Policy()
	return labels.Mode
}
