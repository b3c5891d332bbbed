package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// Result is what came of a check before an installation.
type Result string

// The results of checks.
const (
	OK   Result = "ok"
	Warn Result = "warn"
	Fail Result = "fail"
	// Unclear: it cannot be determined from here.
	Unclear Result = "unknown"
)

// Check is one check before an installation, and what came of it.
type Check struct {
	Name    string `json:"name"`
	Result  Result `json:"result"`
	Details string `json:"details"`
}

// PreflightReport is the checks, in JSON.
type PreflightReport struct {
	report.TypeMeta
	Checks []Check `json:"checks"`
}

// NewPreflightReport returns the checks in the form for JSON.
func NewPreflightReport(checks []Check) *PreflightReport {
	return &PreflightReport{report.Typed("PreflightReport"), checks}
}

// PreflightOptions say what is to be installed.
type PreflightOptions struct {
	// CertManager is set if the overlay needs cert-manager.
	CertManager bool
	// Image is the image of the webhook.
	Image string
}

// oldestKubernetes is the oldest supported API server.
var oldestKubernetes = version.MajorMinor(1, 30)

// Preflight checks whether gammaguard can be installed. The error is that the cluster
// cannot be read at all.
func (c *Cluster) Preflight(ctx context.Context, options PreflightOptions) ([]Check, error) {
	if cached, ok := c.discovery.(discovery.CachedDiscoveryInterface); ok {
		cached.Invalidate() // what was served before may not be there
	}
	groups, err := c.discovery.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("ask which API groups are served: %w", err)
	}
	kubernetes, err := c.kubernetes()
	if err != nil {
		return nil, err
	}
	routes, err := c.routeKinds(ctx, groups)
	if err != nil {
		return nil, err
	}
	checks := []Check{kubernetes, routes}
	if options.CertManager {
		checks = append(checks, certManager(groups))
	}
	rights, err := c.rights(ctx, options)
	if err != nil {
		return nil, err
	}
	unguarded, err := c.unguarded(ctx, groups)
	if err != nil {
		return nil, err
	}
	return append(checks, c.image(ctx, options.Image), c.otherWebhooks(ctx), unguarded, rights), nil
}

func (c *Cluster) kubernetes() (Check, error) {
	served, err := c.discovery.ServerVersion()
	if err != nil {
		return Check{}, fmt.Errorf("ask for the version of the API server: %w", err)
	}
	return versionCheck(served.GitVersion), nil
}

func versionCheck(served string) Check {
	const name = "Kubernetes version"
	switch parsed, err := version.ParseGeneric(served); {
	case err != nil:
		return Check{name, Unclear, fmt.Sprintf("the API server reports %q", served)}
	case !parsed.AtLeast(oldestKubernetes):
		return Check{name, Fail, fmt.Sprintf("%s: gammaguard needs %s or newer", served, oldestKubernetes)}
	}
	return Check{name, OK, served}
}

// routeKinds checks which kinds of routes are served, and in which versions.
func (c *Cluster) routeKinds(ctx context.Context, groups *metav1.APIGroupList) (Check, error) {
	const name = "Gateway API"
	versions := map[string][]string{}
	for _, group := range groups.Groups {
		for _, v := range group.Versions {
			if group.Name != mesh.GatewayGroup {
				continue
			}
			resources, err := c.discovery.ServerResourcesForGroupVersion(v.GroupVersion)
			if err != nil {
				return Check{}, fmt.Errorf("ask what %s has: %w", v.GroupVersion, err)
			}
			for _, resource := range resources.APIResources {
				if !strings.Contains(resource.Name, "/") {
					versions[resource.Kind] = append(versions[resource.Kind], v.Version)
				}
			}
		}
	}
	var served, absent []string
	for _, kind := range mesh.RouteKinds() {
		if v := versions[string(kind)]; len(v) > 0 {
			served = append(served, string(kind)+" "+strings.Join(v, ", "))
		} else {
			absent = append(absent, string(kind))
		}
	}
	if len(served) == 0 {
		return Check{name, Fail, "no route kind is served: install the CustomResourceDefinitions of the Gateway API"}, nil
	}
	details := strings.Join(served, "; ")
	if len(absent) > 0 {
		details += "; not served: " + strings.Join(absent, ", ")
	}
	return Check{name, OK, details + c.bundle(ctx)}, nil
}

// bundle names the release of the Gateway API, if the user may read it.
func (c *Cluster) bundle(ctx context.Context) string {
	text, err := c.Definition(ctx, "httproutes."+mesh.GatewayGroup)
	var definition struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err != nil || json.Unmarshal(text, &definition) != nil {
		return ""
	}
	annotations := definition.Metadata.Annotations
	return fmt.Sprintf(" (release %s, channel %s)", annotations["gateway.networking.k8s.io/bundle-version"], annotations["gateway.networking.k8s.io/channel"])
}

func certManager(groups *metav1.APIGroupList) Check {
	const name = "cert-manager"
	for _, group := range groups.Groups {
		if group.Name == "cert-manager.io" && slices.ContainsFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.Version == "v1" }) {
			return Check{name, OK, "cert-manager.io/v1 is served; whether its controller runs cannot be determined"}
		}
	}
	return Check{name, Fail, "cert-manager.io/v1 is not served: install cert-manager, or use config/overlays/self-managed, for audit mode together with config/components/audit-only"}
}

// image checks whether nodes have the image. Whether they can pull it, nobody but them can
// tell.
func (c *Cluster) image(ctx context.Context, image string) Check {
	const name = "image"
	const pull = "whether they can pull it cannot be determined from here"
	list, err := c.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Check{name, Unclear, fmt.Sprintf("%s: you cannot list the nodes, and %s", image, pull)}
	}
	have := 0
	for i := range list.Items {
		var node corev1.Node
		if runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &node) == nil &&
			slices.ContainsFunc(node.Status.Images, func(there corev1.ContainerImage) bool {
				return slices.ContainsFunc(there.Names, func(name string) bool { return name == image || strings.HasSuffix(name, "/"+image) })
			}) {
			have++
		}
	}
	if have > 0 && have == len(list.Items) {
		return Check{name, OK, fmt.Sprintf("%s: all %d nodes have it", image, have)}
	}
	return Check{name, Unclear, fmt.Sprintf("%s: %d of %d nodes report that they have it; %s", image, have, len(list.Items), pull)}
}

// otherWebhooks lists the webhooks that see routes, besides gammaguard's own.
func (c *Cluster) otherWebhooks(ctx context.Context) Check {
	const name = "other webhooks on routes"
	var found, unread []string
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		list, err := c.objects.Resource(admissionv1.SchemeGroupVersion.WithResource(resource)).List(ctx, metav1.ListOptions{})
		if err != nil {
			unread = append(unread, resource)
			continue
		}
		for i := range list.Items {
			// Both kinds have alike what is read of them.
			var configuration admissionv1.ValidatingWebhookConfiguration
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &configuration); err != nil {
				unread = append(unread, resource+" "+list.Items[i].GetName())
			}
			for _, webhook := range configuration.Webhooks {
				if slices.ContainsFunc(webhook.Rules, seesRoutes) && !strings.HasSuffix(webhook.Name, ".gammaguard.dev") {
					found = append(found, fmt.Sprintf("%s (%s, failurePolicy %s)", webhook.Name, strings.TrimSuffix(resource, "webhookconfigurations"), policyOf(webhook.FailurePolicy)))
				}
			}
		}
	}
	result, details := OK, "none"
	if len(found) > 0 {
		result, details = Warn, strings.Join(found, ", ")+": they can deny or change routes too"
	}
	if len(unread) > 0 {
		lack := "you cannot read " + strings.Join(unread, " and ")
		if result == OK {
			return Check{name, Unclear, lack}
		}
		details += "; " + lack
	}
	return Check{name, result, details}
}

func seesRoutes(rule admissionv1.RuleWithOperations) bool {
	has := func(values []string, value string) bool {
		return slices.Contains(values, value) || slices.Contains(values, "*")
	}
	return has(rule.APIGroups, mesh.GatewayGroup) && slices.ContainsFunc(mesh.RouteKinds(), func(kind mesh.RouteKind) bool {
		return has(rule.Resources, kind.Resource()) || slices.Contains(rule.Resources, "*/*") || slices.Contains(rule.Resources, kind.Resource()+"/*")
	})
}

func policyOf(policy *admissionv1.FailurePolicyType) admissionv1.FailurePolicyType {
	if policy == nil {
		return admissionv1.Fail
	}
	return *policy
}

// PreflightTable writes the checks, a line each.
func PreflightTable(w io.Writer, checks []Check) error {
	table := printers.GetNewTabWriter(w)
	printable.Row(table, "CHECK", "RESULT", "DETAILS")
	for _, check := range checks {
		printable.Fprintf(table, "%s\t%s\t%s\n", check.Name, check.Result, check.Details)
	}
	return table.Flush()
}

// Failed returns the first check that failed, or nil.
func Failed(checks []Check) *Check {
	at := slices.IndexFunc(checks, func(check Check) bool { return check.Result == Fail })
	if at < 0 {
		return nil
	}
	return &checks[at]
}
