// Package monitoring tests the component monitoring: that alerts and the dashboard name
// what exists, and, with the build tag e2e and Debian's package prometheus, that the alerts
// fire and the dashboard has data.
package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/test/kustomize"
)

const component = "../../config/components/monitoring/"

// rule is an alert of a rule file.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ruleFile is what Prometheus reads, and the spec of a PrometheusRule.
type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

func readRules(t *testing.T) *ruleFile {
	t.Helper()
	var object struct {
		Spec ruleFile `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(read(t, component+"rules.yaml")), &object); err != nil {
		t.Fatal(err)
	}
	if len(object.Spec.Groups) != 1 || len(object.Spec.Groups[0].Rules) < 8 {
		t.Fatalf("groups: %+v", object.Spec.Groups)
	}
	return &object.Spec
}

// queries returns the dashboard's, by the title of their panel and their number.
func queries(t *testing.T) map[string][]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(read(t, component+"gammaguard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			all[panel.Title] = append(all[panel.Title], target.Expr)
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d panels", len(all))
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	named      = regexp.MustCompile(`gammaguard_[a-z_]+`)
	documented = regexp.MustCompile("(?m)^\\| `(gammaguard_[a-z_]+)`")
)

// TestMetricsExist: alerts, dashboard and pages name metrics of docs/metrics.md, which
// make verify compares with the code.
func TestMetricsExist(t *testing.T) {
	exist := map[string]bool{}
	for _, match := range documented.FindAllStringSubmatch(read(t, "../../docs/metrics.md"), -1) {
		exist[match[1]] = true
	}
	check := func(where, text string) {
		for _, name := range named.FindAllString(text, -1) {
			if !exist[name] && !exist[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s names %s, which does not exist", where, name)
			}
		}
	}
	for _, rule := range readRules(t).Groups[0].Rules {
		check("alert "+rule.Alert, rule.Expr)
	}
	for panel, exprs := range queries(t) {
		check("panel "+panel, strings.Join(exprs, " "))
	}
	for _, page := range []string{"runbook.md", "emergency.md", "denials.md", "stored-routes.md"} {
		check(page, strings.ReplaceAll(read(t, "../../docs/"+page), "gammaguard_validate_", ""))
	}
}

// TestRunbook: the link of each alert leads to a heading of the runbook, which has no
// other alerts.
func TestRunbook(t *testing.T) {
	const base = "https://github.com/gammaguard/gammaguard/blob/main/docs/runbook.md#"
	var headings []string
	for _, match := range regexp.MustCompile(`(?m)^### (Gammaguard\w+)$`).FindAllStringSubmatch(read(t, "../../docs/runbook.md"), -1) {
		headings = append(headings, match[1])
	}
	for _, rule := range readRules(t).Groups[0].Rules {
		if link := rule.Annotations["runbook_url"]; link != base+strings.ToLower(rule.Alert) {
			t.Errorf("%s links to %q", rule.Alert, link)
		}
		i := slices.Index(headings, rule.Alert)
		if i < 0 {
			t.Errorf("the runbook has no heading %s", rule.Alert)
			continue
		}
		headings = slices.Delete(headings, i, i+1)
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || rule.Labels["severity"] == "" {
			t.Errorf("%s lacks a summary, a description or a severity", rule.Alert)
		}
	}
	if len(headings) > 0 {
		t.Errorf("the runbook has alerts that do not exist: %v", headings)
	}
}

// TestComponent: added to an overlay with the component metrics, it has the operator's
// rules and the dashboard, as Grafana's sidecar finds it.
func TestComponent(t *testing.T) {
	built, err := kustomize.Build("default", "metrics", "monitoring")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for _, manifest := range built {
		object := unstructured.Unstructured{Object: manifest}
		found[object.GetKind()+" "+object.GetName()] = manifest
	}
	for _, want := range []string{"PrometheusRule gammaguard", "ServiceMonitor gammaguard", "Service gammaguard-metrics"} {
		if found[want] == nil {
			t.Errorf("there is no %s", want)
		}
	}
	endpoints, _, err := unstructured.NestedSlice(found["ServiceMonitor gammaguard"], "spec", "endpoints")
	if len(endpoints) != 1 || endpoints[0].(map[string]any)["honorLabels"] != true {
		t.Errorf("the label namespace of the metrics is lost: %v, %v", endpoints, err)
	}
	var dashboard corev1.ConfigMap
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(found["ConfigMap gammaguard-dashboard"], &dashboard, true); err != nil {
		t.Fatal(err)
	}
	if dashboard.Labels["grafana_dashboard"] != "1" || !json.Valid([]byte(dashboard.Data["gammaguard.json"])) {
		t.Errorf("the dashboard has labels %v and is valid: %t", dashboard.Labels, json.Valid([]byte(dashboard.Data["gammaguard.json"])))
	}
}
