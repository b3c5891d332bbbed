package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/status/desired"
	"github.com/gammaguard/gammaguard/test/bed"
)

// Names in config: the ServiceAccount, whose rights the binary has and no more, and
// the policies on labels and on the ServiceAccount.
const (
	systemNamespace, serviceAccount = "gammaguard-system", "gammaguard-webhook"
	policyName                      = "gammaguard-grants"
	accountPolicy, eventsPolicy     = "gammaguard-service-account", "gammaguard-events"
)

// Install applies config/rbac, and of config/policy what every installation has, and waits until the API server
// enforces the policy on labels. It does not apply to the exempt users.
func Install(ctx context.Context, cp *bed.ControlPlane, exempt ...string) error {
	root, err := bed.Root()
	if err != nil {
		return err
	}
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: " + systemNamespace + "}}"
	steps := [][]string{
		{"apply", "--server-side", "-f", "-"},
		{"apply", "--server-side", "-k", filepath.Join(root, "config", "rbac")},
		{"apply", "--server-side", "-k", filepath.Join(root, "config", "policy", "labels")},
		{"apply", "--server-side", "-k", filepath.Join(root, "config", "policy", "account")},
	}
	for _, user := range exempt {
		steps = append(steps, []string{
			"patch", "validatingadmissionpolicy", policyName, "--type=merge", "--patch",
			fmt.Sprintf(`{"spec": {"matchConditions": [{"name": "not-exempt", "expression": %q}]}}`, isNot(user)),
		})
	}
	for _, args := range steps {
		if _, stderr, err := cp.Kubectl(ctx, namespace, args...); err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
	}
	return awaitPolicy(ctx, cp, exempt)
}

// confine has the policies on the ServiceAccount know the controller names and the reason of
// the configuration, where it sets them, as docs/configuration.md says.
func confine(ctx context.Context, cp *bed.ControlPlane, configuration string) error {
	var set struct{ Status config.Status }
	if err := yaml.Unmarshal([]byte(configuration), &set); err != nil {
		return err
	}
	for _, policy := range []struct {
		name    string
		values  []string
		unknown bool
	}{
		{
			accountPolicy, append([]string{desired.ControllerName, set.Status.ControllerName}, set.Status.FormerControllerNames...),
			set.Status.ControllerName != "" || len(set.Status.FormerControllerNames) > 0,
		},
		{
			eventsPolicy,
			append([]string{set.Status.ConflictReason}, desired.Conflicted, desired.NoMatchingParent, desired.NamespaceNotGranted, desired.ConsumerRefused, desired.BackendExternalName, "PartiallyConflicted"),
			set.Status.ConflictReason != "",
		},
	} {
		if !policy.unknown {
			continue
		}
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/variables/0/expression", "value": "['%s']"}]`, strings.Join(policy.values, "', '"))
		if _, stderr, err := cp.Kubectl(ctx, "", "patch", "validatingadmissionpolicy", policy.name, "--type=json", "--patch", patch); err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
	}
	return nil
}

// isNot is a CEL expression that excludes a user.
func isNot(user string) string { return fmt.Sprintf("request.userInfo.username != %q", user) }

// prepareWebhooks reads config/webhook with a base URL on loopback in place of the
// Service, and makes a serving certificate.
func (g *Guard) prepareWebhooks(ctx context.Context, patient bool) error {
	root, err := bed.Root()
	if err != nil {
		return err
	}
	port, err := bed.FreePort(ctx)
	if err != nil {
		return err
	}
	g.webhooks = envtest.WebhookInstallOptions{
		Paths:            []string{filepath.Join(root, "config", "webhook")},
		LocalServingHost: "127.0.0.1", LocalServingPort: port,
	}
	if err := g.webhooks.PrepWithoutInstalling(); err != nil {
		return err
	}
	if patient {
		g.wait(longest)
	}
	g.URL = "https://" + net.JoinHostPort(g.webhooks.LocalServingHost, strconv.Itoa(g.webhooks.LocalServingPort))
	g.CA = g.webhooks.LocalServingCAData
	return os.Rename(g.webhooks.LocalServingCertDir, g.CertDir) // so that it goes with the control plane
}

// longest is the longest timeout of a webhook that the API server takes, in seconds.
const longest int32 = 30

// wait sets the timeouts of the webhooks.
func (g *Guard) wait(seconds int32) {
	for _, c := range g.webhooks.MutatingWebhooks {
		for i := range c.Webhooks {
			c.Webhooks[i].TimeoutSeconds = &seconds
		}
	}
	for _, c := range g.webhooks.ValidatingWebhooks {
		for i := range c.Webhooks {
			c.Webhooks[i].TimeoutSeconds = &seconds
		}
	}
}

// Register registers the webhooks of a guard that was started without, or whose registration
// is gone, and waits until the API server calls them.
func (g *Guard) Register(ctx context.Context, cp *bed.ControlPlane) error {
	for _, c := range g.webhooks.MutatingWebhooks {
		c.UID, c.ResourceVersion = "", ""
	}
	for _, c := range g.webhooks.ValidatingWebhooks {
		c.UID, c.ResourceVersion = "", ""
	}
	return g.register(ctx, cp, "")
}

// register registers the webhooks, except for one user's requests, and waits until
// the API server calls them.
func (g *Guard) register(ctx context.Context, cp *bed.ControlPlane, exempt string) error {
	if exempt != "" {
		condition := admissionregistrationv1.MatchCondition{Name: "not-exempt", Expression: isNot(exempt)}
		for _, c := range g.webhooks.MutatingWebhooks {
			for i := range c.Webhooks {
				c.Webhooks[i].MatchConditions = append(c.Webhooks[i].MatchConditions, condition)
			}
		}
		for _, c := range g.webhooks.ValidatingWebhooks {
			for i := range c.Webhooks {
				c.Webhooks[i].MatchConditions = append(c.Webhooks[i].MatchConditions, condition)
			}
		}
	}
	if err := g.webhooks.Install(cp.Config); err != nil {
		return fmt.Errorf("register the webhooks: %w", err)
	}
	return g.awaitCalls(ctx, cp)
}

// awaitPolicy sends dry runs that break the policy, whoever sends them, until the
// API server refuses those, and only those, of users who are not exempt.
func awaitPolicy(ctx context.Context, cp *bed.ControlPlane, exempt []string) error {
	for _, user := range append([]string{"probe"}, exempt...) {
		err := poll(ctx, func(ctx context.Context) (bool, error) {
			_, stderr, _ := cp.Kubectl(ctx, "", "label", "namespace", metav1.NamespaceDefault, "gammaguard.dev/grant=probe",
				"--dry-run=server", "--as", user, "--as-group", "system:masters")
			return strings.Contains(stderr, "'"+policyName+"'") != slices.Contains(exempt, user), nil
		})
		if err != nil {
			return fmt.Errorf("wait until the policy %s is enforced: %w", policyName, err)
		}
	}
	return nil
}

// awaitCalls sends dry runs of a mesh route until this process has answered calls
// of both webhooks. The verdict on the route does not matter.
func (g *Guard) awaitCalls(ctx context.Context, cp *bed.ControlPlane) error {
	c, err := cp.Client(gatewayv1.Install)
	if err != nil {
		return err
	}
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gammaguard-probe"}}
	route.Spec.ParentRefs = []gatewayv1.ParentReference{{Group: new(gatewayv1.Group), Kind: new(gatewayv1.Kind("Service")), Name: "gammaguard-probe"}}
	called := regexp.MustCompile(`(?m)^gammaguard_webhook_duration_seconds_count\{webhook="(mutate|validate)"\} [1-9]`)
	var verdict error
	err = poll(ctx, func(ctx context.Context) (bool, error) {
		verdict = c.Create(ctx, route.DeepCopy(), client.DryRunAll)
		metrics, err := get(ctx, g.MetricsURL)
		return len(called.FindAllString(metrics, -1)) == 2, err
	})
	if err != nil {
		return fmt.Errorf("wait until the API server calls the webhooks: %w", errors.Join(err, verdict))
	}
	return nil
}

func poll(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 2*time.Minute, true, condition)
}
