package cluster

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
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

// registration is a webhook for routes, as it is registered. Both kinds have alike what is read of them.
type registration struct {
	admissionv1.ValidatingWebhook
	// limit is what keeps routes from the webhook, and is not shipped; empty if there is nothing.
	limit string
}

// registrations checks the webhook configurations, and reports whether the validating one
// can be missing.
func (i *installation) registrations() (registered bool) {
	const check, notCompleted = "webhook configurations", "routes are checked and not completed"
	const lacks = "the webhook %s lacks a CA that %s trusts: if its calls fail, "
	validating, result, details := i.registration("validating", validateWebhook)
	i.validating = validating
	if result != OK {
		i.add(check, result, "%s", details)
		return validating != nil || result != Fail
	}
	serving, result, details := i.registration("validating", config.ServingWebhook)
	if serving != nil && result != OK {
		i.add(check, result, "%s", details)
		return true
	}
	mutating, result, details := i.registration("mutating", mutateWebhook)
	switch {
	case mutating == nil && result == Fail:
		i.add(check, Warn, "%s: %s", details, notCompleted)
	case result != OK:
		i.add(check, result, "%s", details)
	case i.lacksCA(validating, serving):
		i.add(check, Warn, lacks+"mesh routes are %s; %s", validateWebhook, config.ServingWebhook,
			map[bool]string{true: "admitted unchecked", false: "refused"}[policyOf(validating.FailurePolicy) == admissionv1.Ignore], i.restoreTrust())
	case i.lacksCA(mutating, serving):
		i.add(check, Warn, lacks+"%s; %s", mutateWebhook, config.ServingWebhook, notCompleted, i.restoreTrust())
	case validating.limit != "":
		i.add(check, Warn, "%s has %s: what it leaves out is not checked, but counts in audit and status; use exemptions or the mode label instead", validateWebhook, validating.limit)
	case mutating.limit != "":
		i.add(check, Warn, "%s has %s: what it leaves out is checked and not completed", mutateWebhook, mutating.limit)
	default:
		i.add(check, OK, "both are there; failurePolicy %s", policyOf(validating.FailurePolicy))
	}
	return true
}

// registration reads the webhook in the configuration of the kind. It is nil if it cannot be read.
func (i *installation) registration(kind, name string) (webhook *registration, result Result, lack string) {
	var live, shipped admissionv1.ValidatingWebhookConfiguration
	if result, lack := i.read(admissionv1.SchemeGroupVersion.WithResource(kind+"webhookconfigurations"), "", configurationName, &live); result != OK {
		return nil, result, lack
	}
	text, err := config.Manifests.ReadFile("webhook/" + kind + ".yaml")
	if err == nil {
		text, err = yaml.ToJSON(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &shipped)
	}
	if err != nil {
		return nil, Unclear, err.Error()
	}
	named := func(w admissionv1.ValidatingWebhook) bool { return w.Name == name }
	at := slices.IndexFunc(live.Webhooks, named)
	if at < 0 {
		return nil, Fail, fmt.Sprintf("the %s %s has no webhook %s", live.Kind, configurationName, name)
	}
	webhook = &registration{ValidatingWebhook: live.Webhooks[at]}
	webhook.limit = webhook.limitBeyond(shipped.Webhooks[slices.IndexFunc(shipped.Webhooks, named)].MatchConditions)
	if len(webhook.ClientConfig.CABundle) == 0 {
		return webhook, Fail, fmt.Sprintf("the webhook %s has no caBundle yet%s", name, i.unlessNeverRan(": check the source of certificates"))
	}
	return webhook, OK, ""
}

// lacksCA reports whether a webhook lacks a CA of the one that the probe calls, which is the measure unless it is known to be the wrong one.
func (i *installation) lacksCA(webhook, serving *registration) bool {
	if serving == nil || distrusted(i.reached) {
		return false
	}
	wanted, _ := cert.ParseCertsPEM(serving.ClientConfig.CABundle)
	trusted, _ := cert.ParseCertsPEM(webhook.ClientConfig.CABundle)
	return slices.ContainsFunc(wanted, func(ca *x509.Certificate) bool { return !slices.ContainsFunc(trusted, ca.Equal) })
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
