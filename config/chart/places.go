package chart

import (
	"fmt"
	"slices"
	"strings"
)

// namespace is that of the kustomize tree. In the chart, the release has one.
const namespace = "gammaguard-system"

// pod is where a Deployment's Pods are described.
var pod = []string{"spec", "template", "spec"}

// places are what stands in an object for a value, by the value's name. Whatever the
// manifests have there is the value's default.
var places = []struct {
	value, kind string
	path        []string
}{
	{"affinity", "Deployment", inPod("affinity")},
	{"failurePolicy", "ValidatingWebhookConfiguration", []string{"webhooks", "validate.gammaguard.dev", "failurePolicy"}},
	{"image.pullPolicy", "Deployment", inPod("containers", "webhook", "imagePullPolicy")},
	{"imagePullSecrets", "Deployment", inPod("imagePullSecrets")},
	{"nodeSelector", "Deployment", inPod("nodeSelector")},
	{"podDisruptionBudget.maxUnavailable", "PodDisruptionBudget", []string{"spec", "maxUnavailable"}},
	{"podSecurityContext", "Deployment", inPod("securityContext")},
	{"priorityClassName", "Deployment", inPod("priorityClassName")},
	{"replicas", "Deployment", []string{"spec", "replicas"}},
	{"resources", "Deployment", inPod("containers", "webhook", "resources")},
	{"tolerations", "Deployment", inPod("tolerations")},
	{"topologySpreadConstraints", "Deployment", inPod("topologySpreadConstraints")},
}

// grantedNamespaces is the namespaceSelector of the mutating webhook: with the component
// policies, it is for the namespaces whose label grants something.
const grantedNamespaces = `(ternary (merge (dict "matchExpressions" (concat (default list .Values.namespaceSelector.matchExpressions) ` +
	`(list (dict "key" "gammaguard.dev/grant" "operator" "In" "values" (list "producer" "consumer" "all"))))) .Values.namespaceSelector) ` +
	`.Values.namespaceSelector .Values.components.policies)`

func inPod(path ...string) []string { return append(pod[:len(pod):len(pod)], path...) }

// conditions are the values on which whole objects depend, by kind and name.
var conditions = map[string]string{
	"PodDisruptionBudget/gammaguard-webhook": ".Values.podDisruptionBudget.enabled",
	"NetworkPolicy/gammaguard-webhook":       ".Values.networkPolicy.enabled",
	"PriorityClass/gammaguard-webhook":       `eq .Values.priorityClassName "gammaguard-webhook"`,
	"Issuer/gammaguard-selfsigned":           "not .Values.certificates.issuerRef",
	"Issuer/gammaguard-ca":                   "not .Values.certificates.issuerRef",
	"Certificate/gammaguard-ca":              "not .Values.certificates.issuerRef",
}

// place puts values in their places.
func (m *maker) place(options Options) error {
	for _, p := range places {
		property := m.schema.property(p.value)
		o := m.object(p.kind, "")
		if property == nil || o == nil {
			return fmt.Errorf("no value %s, or no %s", p.value, p.kind)
		}
		before := len(p.path) - 1
		set(o.at(p.path[:before]...), p.path[before], p.value, property)
	}
	for _, o := range m.objects {
		if condition, ok := conditions[o.kind+"/"+o.name]; ok {
			o.only(condition)
		}
		o.at("metadata", "labels").more(".Values.labels")
		annotate(o.at("metadata"), ".Values.annotations")
		if strings.HasSuffix(o.kind, "WebhookConfiguration") {
			for _, webhook := range o.at("webhooks").children {
				webhook.children = slices.DeleteFunc(webhook.children, func(n *node) bool { return n.key == "namespaceSelector" }) // the component's
				set(webhook, "namespaceSelector", "namespaceSelector", m.schema.property("namespaceSelector"))
				if o.kind == "MutatingWebhookConfiguration" {
					webhook.child("namespaceSelector").collection = grantedNamespaces
				}
			}
		}
	}
	m.placeInDeployment(options)
	issuer := m.object("Certificate", "gammaguard-serving-cert").at("spec")
	issuer.at("issuerRef").only("not .Values.certificates.issuerRef")
	issuer.children = append(issuer.children, &node{key: "issuerRef", collection: ".Values.certificates.issuerRef"})
	m.placeNames()
	configuration := m.object("ConfigMap", "")
	configuration.at("data", "guard.yaml").text = "{{ toYaml .Values.configuration | toJson }}"
	m.replace = strings.NewReplacer(namespace, "{{ .Release.Namespace }}",
		configuration.name, "gammaguard-config-{{ toJson .Values.configuration | sha256sum | trunc 10 }}")
	return nil
}

// placeNames has the policies on the ServiceAccount know the names and the reason of the
// configuration.
func (m *maker) placeNames() {
	for _, list := range []struct{ policy, variable, more string }{
		{
			"gammaguard-service-account", "names", `(list (dig "status" "controllerName" "" .Values.configuration)) ` +
				`(dig "status" "formerControllerNames" list .Values.configuration)`,
		},
		{"gammaguard-events", "reasons", `(list (dig "status" "conflictReason" "" .Values.configuration))`},
	} {
		expression := m.object("ValidatingAdmissionPolicy", list.policy).at("spec", "variables", list.variable, "expression")
		known := strings.ReplaceAll(strings.Trim(expression.plain.(string), "[]"), ", ", " ")
		expression.text = fmt.Sprintf(`{{ concat (list %s) %s | uniq | compact | join "', '" | printf "['%%s']" | toJson }}`,
			strings.ReplaceAll(known, "'", `"`), list.more)
	}
}

func (m *maker) placeInDeployment(options Options) {
	deployment := m.object("Deployment", "")
	container := deployment.at(inPod("containers", "webhook")...)
	container.at("args").more(".Values.args")
	container.at("image").text = `"{{ .Values.image.repository }}:{{ .Values.image.tag }}{{ with .Values.image.digest }}@{{ . }}{{ end }}"`
	m.schema.property("image.repository")["default"] = options.Image
	m.schema.property("image.tag")["default"] = options.Version
	template := deployment.at("spec", "template", "metadata")
	template.at("labels").more("merge (dict) .Values.podLabels .Values.labels")
	annotate(template, ".Values.podAnnotations")
}

// object returns the first object of the kind, or of the kind and name.
func (m *maker) object(kind, name string) *object {
	for _, o := range m.objects {
		if o.kind == kind && (name == "" || o.name == name) {
			return o
		}
	}
	return nil
}

// set puts a value in the place of a field.
func set(parent *node, key, value string, property schema) {
	known := parent.child(key)
	n := parent.at(key)
	if known != nil {
		property["default"] = n.plain
	} else {
		n.plain = property["default"]
	}
	n.children = nil
	switch n.plain.(type) {
	case []any, map[string]any:
		n.collection = ".Values." + value
	default:
		n.text = "{{ toJson .Values." + value + " }}"
		if known == nil {
			n.guard = ".Values." + value
		}
	}
}

// more adds the fields or items of a collection to the node's.
func (n *node) more(collection string) {
	n.children = append(n.children, &node{collection: collection})
}

// annotate adds the value to annotations, which there may be none of.
func annotate(metadata *node, value string) {
	annotations := metadata.at("annotations")
	if len(annotations.children) == 0 {
		annotations.collection = value
		return
	}
	if annotations.guard != "" {
		for _, child := range annotations.children {
			child.guard = annotations.guard
		}
		annotations.guard = "or (" + annotations.guard + ") " + value
	}
	annotations.more(value)
}
