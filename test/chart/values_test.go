package chart

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
)

const deployment = "Deployment/gammaguard-webhook"

var (
	webhooks = []string{"MutatingWebhookConfiguration/gammaguard", "ValidatingWebhookConfiguration/gammaguard"}
	own      = []string{"Certificate/gammaguard-ca", "Certificate/gammaguard-serving-cert", "Issuer/gammaguard-ca", "Issuer/gammaguard-selfsigned"}
)

// samples are the values' with another value each, what the chart's objects then have,
// and the objects that differ; nil: all.
var samples = map[string]struct {
	values, want string
	objects      []string
}{
	"affinity":                           {"{nodeAffinity: {a: b}}", "affinity: nodeAffinity: a: b", []string{deployment}},
	"annotations":                        {"{team: a}", "team: a", nil},
	"args":                               {"[--max-staleness=1m]", "- --cert-manager-certificate=gammaguard-system/gammaguard-serving-cert - --max-staleness=1m", []string{deployment}},
	"certificates.issuerRef":             {"{name: ours, kind: ClusterIssuer}", "issuerRef: kind: ClusterIssuer name: ours", own},
	"certificates.source":                {"external", "", slices.Concat(own, []string{deployment}, webhooks, []string{"Role/gammaguard-certificate", "RoleBinding/gammaguard-certificate"})},
	"components.clientAuthentication":    {"true", "--client-ca-file=", []string{deployment}},
	"components.metrics":                 {"true", "kind: ServiceMonitor", []string{"Service/gammaguard-metrics", "ServiceMonitor/gammaguard"}},
	"components.networkPolicy":           {"true", "egress: - ports: - port: 443", []string{"NetworkPolicy/gammaguard-webhook"}},
	"configuration":                      {"{mesh: istio}", "mesh: istio mode: enforce", []string{"ConfigMap/gammaguard-config"}},
	"failurePolicy":                      {"Ignore", "failurePolicy: Ignore", webhooks[1:]},
	"image.digest":                       {"sha256:" + sum, "image: gammaguard-webhook:dev@sha256:" + sum, []string{deployment}},
	"image.pullPolicy":                   {"Always", "imagePullPolicy: Always", []string{deployment}},
	"image.repository":                   {"registry.test/webhook", "image: registry.test/webhook:dev", []string{deployment}},
	"image.tag":                          {"v9", "image: gammaguard-webhook:v9", []string{deployment}},
	"imagePullSecrets":                   {"[{name: registry}]", "imagePullSecrets: - name: registry", []string{deployment}},
	"labels":                             {"{team: a}", "app.kubernetes.io/name: gammaguard team: a", nil},
	"networkPolicy.enabled":              {"false", "", []string{"NetworkPolicy/gammaguard-webhook"}},
	"nodeSelector":                       {"{disk: ssd}", "nodeSelector: disk: ssd", []string{deployment}},
	"podAnnotations":                     {"{team: a}", "default-container: webhook team: a", []string{deployment}},
	"podDisruptionBudget.enabled":        {"false", "", []string{"PodDisruptionBudget/gammaguard-webhook"}},
	"podDisruptionBudget.maxUnavailable": {"30%", "maxUnavailable: 30%", []string{"PodDisruptionBudget/gammaguard-webhook"}},
	"podLabels":                          {"{team: a}", "app.kubernetes.io/name: gammaguard team: a", []string{deployment}},
	"podSecurityContext":                 {"{runAsUser: null}", "securityContext: fsGroup: 65532 runAsGroup: 65532 runAsNonRoot: true seccompProfile:", []string{deployment}},
	"priorityClassName":                  {"high", "priorityClassName: high", []string{deployment, "PriorityClass/gammaguard-webhook"}},
	"replicas":                           {"0", "replicas: 0", []string{deployment}},
	"resources":                          {"{limits: {memory: 1Gi}}", "limits: cpu: \"1\" memory: 1Gi", []string{deployment}},
	"tolerations":                        {"[{operator: Exists}]", "tolerations: - operator: Exists topology", []string{deployment}},
	"topologySpreadConstraints":          {"[{topologyKey: rack}]", "topologySpreadConstraints: - topologyKey: rack volumes", []string{deployment}},
}

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// TestValues sets each value of docs/helm-values.md.
func TestValues(t *testing.T) {
	page := read(t, "../../docs/helm-values.md")
	defaults, err := render(t, "gammaguard-system", "image: {}")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(rows) < len(samples) {
		t.Errorf("the page has %d values, and %d are tested", len(rows), len(samples))
	}
	for _, row := range rows {
		name := row[1]
		sample, ok := samples[name]
		if !ok {
			if name != "global" && !strings.HasPrefix(name, "components.") { // TestComponents has them
				t.Errorf("%s is not tested", name)
			}
			continue
		}
		got, err := render(t, "gammaguard-system", nested(name, sample.values))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := slices.Clone(sample.objects)
		if want == nil {
			want = slices.Sorted(maps.Keys(defaults))
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, changed(defaults, got)); diff != "" {
			t.Errorf("%s: objects that differ (-want +got):\n%s", name, diff)
		}
		has := 0
		for _, object := range want {
			text, err := yaml.Marshal(got[object])
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.Join(strings.Fields(string(text)), " "), sample.want) {
				has++
			}
		}
		if has == 0 || sample.objects == nil && has < len(want) {
			t.Errorf("%s: %d objects of %d have %q", name, has, len(want), sample.want)
		}
	}
}

// TestRefused: Helm refuses values by the schema.
func TestRefused(t *testing.T) {
	for values, want := range map[string]string{
		"{components: {policies: true}, configuration: {mode: audit}}":                  "components.policies",
		"{components: {policies: true}, configuration: {grants: {default: all}}}":       "components.policies",
		"{components: {policies: true}, configuration: {exemptions: {groups: [a]}}}":    "components.policies",
		"{components: {policies: true}, configuration: {rules: {grant-missing: warn}}}": "components.policies",
		"replica: 1": "replica", "replicas: two": "/replicas", "failurePolicy: fail": "/failurePolicy",
		"image: {digest: abc}": "/image/digest", "image: {repository: 'registry.example:5000/gammaguard-webhook:v1.0.0'}": "/image/repository", "labels: {app.kubernetes.io/name: x}": "/labels/app.kubernetes.io~1name",
		"certificates: {issuerRef: {kind: Issuer}}": "/certificates/issuerRef",
		"configuration: {mod: audit}":               "mod", "configuration: {mode: aduit}": "/configuration/mode",
		"configuration: {rules: {parent-hedless: off}}":   "at '/configuration/rules': additional properties 'parent-hedless' not allowed",
		"configuration: {rules: {parent-headless: nono}}": "/configuration/rules/parent-headless",
		"components: {metric: true}":                      "metric",
		"components: {monitoring: true}":                  "components.monitoring needs components.metrics",
		"namespaceSelector: {matchLabels: {mesh: yes}}":   "use configuration.exemptions.namespaces",
	} {
		if _, err := render(t, "gammaguard-system", values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", values, err, want)
		}
	}
}

// TestRemovedValue: a release that did not set a value which is no more can keep its values (helm upgrade --reuse-values).
func TestRemovedValue(t *testing.T) {
	if _, err := render(t, "gammaguard-system", "namespaceSelector: {}"); err != nil {
		t.Error(err)
	}
}

// TestConfiguration: the file in the ConfigMap is the value, and the webhook takes it,
// with words that YAML takes for booleans.
func TestConfiguration(t *testing.T) {
	got, err := render(t, "gammaguard-system", "configuration: {rules: {parent-exposed-type: off}, mutations: {parent-group: on}}")
	if err != nil {
		t.Fatal(err)
	}
	file, err := yaml.Marshal(got["ConfigMap/gammaguard-config"]["data"])
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(file)
	if err != nil || loaded.Rules["parent-exposed-type"] != "off" || loaded.Mutations["parent-group"] != config.On {
		t.Errorf("%v, %+v", err, loaded)
	}
}

// TestPage: Helm takes the example of docs/helm.md.
func TestPage(t *testing.T) {
	page := read(t, "../../docs/helm.md")
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("docs/helm.md has no example of values")
	}
	if _, err := render(t, "gammaguard-system", string(example[1])); err != nil {
		t.Error(err)
	}
}

// nested returns a values file that sets the value of the name.
func nested(name, value string) string {
	parts := strings.Split(name, ".")
	text := ""
	for i, part := range parts {
		text += strings.Repeat("  ", i) + part + ":\n"
	}
	return strings.TrimSuffix(text, "\n") + " " + value + "\n"
}

// changed returns the names of the objects that differ, in order.
func changed(a, b objects) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
		if !cmp.Equal(a[name], b[name]) {
			names = append(names, name)
		}
	}
	return names
}

func union(a, b objects) objects {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// TestNames: the policies on the ServiceAccount know the names and the reason of the
// configuration.
func TestNames(t *testing.T) {
	const set = "configuration: {status: {controllerName: a.test/new, formerControllerNames: [a.test/old, gammaguard.dev/guard], conflictReason: Lost}}"
	rendered, err := render(t, "mesh", set)
	if err != nil {
		t.Fatal(err)
	}
	for policy, want := range map[string]string{
		"gammaguard-service-account": "['gammaguard.dev/guard', 'a.test/new', 'a.test/old']",
		"gammaguard-events":          "['Conflicted', 'RouteReasonConflicted', 'NoMatchingParent', 'NamespaceNotGranted', 'ConsumerRefused', 'BackendExternalName', 'PartiallyConflicted', 'Lost']",
	} {
		spec, _ := rendered["ValidatingAdmissionPolicy/"+policy]["spec"].(map[string]any)
		variables, _ := spec["variables"].([]any)
		if first, _ := variables[0].(map[string]any); first["expression"] != want {
			t.Errorf("%s: %v, want %s", policy, first["expression"], want)
		}
		conditions, _ := spec["matchConditions"].([]any)
		if text := fmt.Sprint(conditions); !strings.Contains(text, "'system:serviceaccount:mesh:gammaguard-webhook'") {
			t.Errorf("%s: %s", policy, text)
		}
	}
}
