package cluster

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/cert"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// registration is a shipped webhook, as it is registered. Both kinds have alike what is read of them.
type registration struct {
	admissionv1.ValidatingWebhook
	// limit is what keeps routes from the webhook, and is not shipped; empty if there is nothing.
	limit string
}

const notCompleted = "routes are checked and not completed"

// registrations checks the webhook configurations, and reports whether the validating one
// can be missing.
func (i *installation) registrations() (registered bool) {
	const check = "webhook configurations"
	webhooks, result, details := i.registered("validating", validateWebhook)
	i.validating = webhooks[validateWebhook]
	if result != OK {
		i.add(check, result, "%s", details)
		return i.validating != nil || result != Fail
	}
	mutating, result, details := i.registered("mutating", mutateWebhook)
	maps.Copy(webhooks, mutating)
	switch mutate := webhooks[mutateWebhook]; {
	case mutate == nil && result == Fail:
		i.add(check, Warn, "%s: %s", details, notCompleted)
	case result != OK:
		i.add(check, result, "%s", details)
	case i.lackingCA(webhooks) != "":
		i.add(check, Warn, "calls can fail, for lack of a CA that %s trusts: %s; %s", config.ServingWebhook, i.lackingCA(webhooks), i.restoreTrust())
	case i.validating.limit != "":
		i.add(check, Warn, "%s has %s: what it leaves out is not checked, but counts in audit and status; remove it with kubectl edit, and use exemptions or the mode label instead", validateWebhook, i.validating.limit)
	case mutate.limit != "":
		i.add(check, Warn, "%s has %s: what it leaves out is checked and not completed", mutateWebhook, mutate.limit)
	default:
		i.add(check, OK, "both are there; failurePolicy %s", policyOf(i.validating.FailurePolicy))
	}
	return true
}

// registered reads the shipped webhooks of the configuration of the kind, of which the one for routes must be there. That one, and the one that
// the probe calls, must have a CA.
func (i *installation) registered(kind, forRoutes string) (webhooks map[string]*registration, result Result, lack string) {
	var live, shipped admissionv1.ValidatingWebhookConfiguration
	webhooks = map[string]*registration{}
	if result, lack := i.read(admissionv1.SchemeGroupVersion.WithResource(kind+"webhookconfigurations"), "", configurationName, &live); result != OK {
		return webhooks, result, lack
	}
	text, err := config.Manifests.ReadFile("webhook/" + kind + ".yaml")
	if err == nil {
		text, err = yaml.ToJSON(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &shipped)
	}
	if err != nil {
		return webhooks, Unclear, err.Error()
	}
	for _, s := range shipped.Webhooks {
		at := slices.IndexFunc(live.Webhooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == s.Name })
		if at >= 0 {
			webhooks[s.Name] = &registration{ValidatingWebhook: live.Webhooks[at]}
			webhooks[s.Name].limit = webhooks[s.Name].limitBeyond(s.MatchConditions)
		}
	}
	if webhooks[forRoutes] == nil {
		return webhooks, Fail, fmt.Sprintf("the %s %s has no webhook %s", live.Kind, configurationName, forRoutes)
	}
	for _, name := range []string{forRoutes, config.ServingWebhook} {
		if webhook := webhooks[name]; webhook != nil && len(webhook.ClientConfig.CABundle) == 0 {
			return webhooks, Fail, fmt.Sprintf("the webhook %s has no caBundle yet%s", name, i.unlessNeverRan(": check the source of certificates"))
		}
	}
	return webhooks, OK, ""
}

// lackingCA lists the webhooks that lack a CA of the one that the probe calls, which is the measure unless it is known to be the wrong one, and
// what is lost if calls of each fail.
func (i *installation) lackingCA(webhooks map[string]*registration) string {
	serving := webhooks[config.ServingWebhook]
	if serving == nil || distrusted(i.reached) {
		return ""
	}
	wanted, _ := cert.ParseCertsPEM(serving.ClientConfig.CABundle)
	if i.certificates == fromGammaguard && len(wanted) > 0 {
		wanted = wanted[:1] // the leader puts the CA that signs before former ones
	}
	var lacking []string
	for _, name := range slices.Sorted(maps.Keys(webhooks)) {
		trusted, _ := cert.ParseCertsPEM(webhooks[name].ClientConfig.CABundle)
		if slices.ContainsFunc(wanted, func(ca *x509.Certificate) bool { return !slices.ContainsFunc(trusted, ca.Equal) }) {
			lacking = append(lacking, name+" ("+webhooks[name].loss()+")")
		}
	}
	return strings.Join(lacking, ", ")
}

// loss says what is lost if calls of the webhook fail.
func (r *registration) loss() string {
	switch {
	case r.Name == mutateWebhook:
		return notCompleted
	case r.Name != validateWebhook:
		return "no previews"
	case policyOf(r.FailurePolicy) == admissionv1.Ignore:
		return "mesh routes are admitted unchecked"
	}
	return "mesh routes are refused"
}

// distrusted reports whether a call failed because the caBundle of the webhook does not trust the certificate.
func distrusted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "x509: certificate signed by unknown authority")
}

// restoreTrust says who has the webhooks trust the certificate.
func (i *installation) restoreTrust() string {
	switch i.certificates {
	case fromCertManager:
		return "the CA injector of cert-manager adds the CA: check that it runs"
	case fromGammaguard:
		return "the leader of gammaguard adds the CA within seconds: otherwise, its log names the reason"
	}
	return "add the CA that signed the certificate as caBundle to each webhook of both webhook configurations"
}

// limitBeyond returns what keeps routes from the webhook besides the shipped conditions, and the selector of the component policies.
func (r *registration) limitBeyond(shipped []admissionv1.MatchCondition) string {
	granted := func(of metav1.LabelSelectorRequirement) bool {
		return r.Name == mutateWebhook && of.Key == mesh.GrantLabel
	}
	if s := r.NamespaceSelector; s != nil && (len(s.MatchLabels) > 0 || slices.ContainsFunc(s.MatchExpressions, func(of metav1.LabelSelectorRequirement) bool { return !granted(of) })) {
		return "a namespaceSelector"
	}
	if s := r.ObjectSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return "an objectSelector"
	}
	for _, condition := range r.MatchConditions {
		if !slices.ContainsFunc(shipped, func(s admissionv1.MatchCondition) bool { return s.Name == condition.Name }) {
			return "the match condition " + condition.Name
		}
	}
	return ""
}

// leavesOut reports whether a selector keeps routes without labels in the namespace from the webhook.
func (r *registration) leavesOut(reader mesh.Reader, namespace string) bool {
	selects := func(selector *metav1.LabelSelector, set labels.Set) bool {
		s, err := metav1.LabelSelectorAsSelector(selector)
		return selector == nil || err != nil || s.Matches(set)
	}
	object, err := mesh.FindNamespace(reader, namespace)
	return err == nil && !selects(r.NamespaceSelector, object.Labels) || !selects(r.ObjectSelector, nil)
}
