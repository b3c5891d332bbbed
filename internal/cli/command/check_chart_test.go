package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCheckChart: a finding names the line of the template that made what it is about, or, where a function made it, a line
// above.
func TestCheckChart(t *testing.T) {
	const chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
	folder := written(t, map[string]string{
		"Chart.yaml": chart,
		"values.yaml": `# The defaults.
service: cart
port: 81 # is also the timeout
timeout: 81
prefix: UP
weight: -1
mirrors:
- name: cart
  port: 0
experimental: true
other: 7
`,
		"ci/port.yaml": "# only here\nport: 82\n",
		"templates/routes.yaml": `{{- /* What is rendered has other lines than the template. */}}
apiVersion: v1
kind: Service
metadata: {name: {{ .Values.service }}}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, labels: {team: "a b"}}
spec:
  parentRefs:
  - {group: "", kind: Service, name: {{ .Values.service }}, port: {{ .Values.port }}}
  hostnames: [{{ .Values.prefix }}.example.com]
  rules:
  - timeouts: {request: "{{ .Values.timeout }}"}
    backendRefs:
    - {name: {{ .Values.service }}, port: 80, weight: {{ .Values.weight | int }}}
    {{- toYaml .Values.mirrors | nindent 4 }}
    {{- if .Values.experimental }}
    - {name: cart, port: -7}
    {{- end }}
`,
		"charts/sub/Chart.yaml":  strings.ReplaceAll(chart, "shop", "sub"),
		"charts/sub/values.yaml": "\nweight: -2\n",
		"charts/sub/templates/route.yaml": `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: sub}
spec:
  parentRefs: [{group: "", kind: Service, name: cart, port: 80}]
  rules: [{backendRefs: [{name: cart, port: 80, weight: {{ .Values.weight }}}]}]
`,
	})
	for _, values := range [][]string{nil, {"--values", filepath.Join(folder, "ci", "port.yaml")}} {
		r, got := checkJSON(t, "", append([]string{"--helm", folder}, values...)...)
		if len(r.Routes) != 2 {
			t.Fatalf("%+v", got)
		}
		want := map[place]bool{
			{"metadata.labels", "", 9}:                      true,
			{"spec.hostnames[0]", "", 13}:                   true,
			{"spec.hostnames", "", 13}:                      true,
			{"spec.parentRefs[0].port", "", 12}:             true,
			{"spec.rules[0].timeouts.request", "", 15}:      true,
			{"spec.rules[0].backendRefs[0].weight", "", 17}: true,
			{"spec.rules[0].backendRefs[1].port", "", 17}:   true, // made by toYaml on line 18
			{"spec.rules[0].backendRefs[2].port", "", 20}:   true,
		}
		if diff := cmp.Diff(want, places(folder, &r.Routes[1]), cmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("%v (-want +got)\n%s", values, diff)
		}
		sub := place{"spec.rules[0].backendRefs[0].weight", "", 6}
		if found := places(folder, &r.Routes[0]); !found[sub] || r.Routes[0].File != filepath.Join(folder, "charts", "sub", "templates", "route.yaml") {
			t.Errorf("%v: want %v, got %v in %s", values, sub, found, r.Routes[0].File)
		}
	}
}

// TestCheckBrokenInChart: an object in a chart that cannot be read is blamed on its
// line of the template.
func TestCheckBrokenInChart(t *testing.T) {
	folder := written(t, map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"templates/service.yaml": "\n\napiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{port: http}]}\n",
	})
	r, got := checkJSON(t, "", "--helm", folder)
	if len(r.Broken) != 1 || r.Broken[0].Line != 3 || filepath.Base(r.Broken[0].File) != "service.yaml" {
		t.Errorf("%+v %+v", r.Broken, got)
	}
}

// TestCheckBrokenInRendering: what some renderings of a chart have broken names their values files.
func TestCheckBrokenInRendering(t *testing.T) {
	files := map[string]string{
		"x/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"x/values-prod.yaml": "canary: true\n",
		"x/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n{{- if .Values.canary }}\n   labels: {}\n{{- end }}\n",
	}
	if got := runIn(t, written(t, files), "check", "-o", "github"); !strings.Contains(got.stdout, "file=x/templates/a.yaml,line=") || !strings.Contains(got.stdout, "(broken-document) (with values-prod.yaml)\n") {
		t.Errorf("%+v", got)
	}
	files["x/templates/a.yaml"] = strings.ReplaceAll(files["x/templates/a.yaml"], "if .Values.canary", "if true")
	if got := runIn(t, written(t, files), "check", "-o", "github"); !strings.Contains(got.stdout, "(broken-document) (in 2 sets)\n") {
		t.Errorf("%+v", got)
	}
}

// TestCheckRefusedValue: a value of an environment's file that the schema refuses breaks its rendering, which Helm refuses.
func TestCheckRefusedValue(t *testing.T) {
	folder := written(t, map[string]string{
		"x/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "x/values.yaml": "a: 1\n", "x/values-prod.yaml": "\na: 75\n",
		"x/values.schema.json": `{"properties": {"a": {"maximum": 50}}}`,
	})
	if got := runIn(t, folder, "check", "-o", "github"); got.code != ExitFindings || !strings.Contains(got.stdout, "::error file=x/values-prod.yaml,line=2,title=broken-document::") {
		t.Errorf("%+v", got)
	}
}

// TestCheckTemplateAtFault: what is wrong with a template is reported in it, where the error of Helm names one of the chart,
// and on one line.
func TestCheckTemplateAtFault(t *testing.T) {
	const chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"
	sub := strings.ReplaceAll(chart, "shop", "sub")
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no template":                  {map[string]string{"templates/a.yaml": "a: b\n\nc: {{ if }}\n"}, "::error file=x/templates/a.yaml,line=3,title=broken-document::"},
		"not closed":                   {map[string]string{"templates/a.yaml": "a: b\nc: {{ .Values.a\n"}, "::error file=x/templates/a.yaml,line=2,title=broken-document::"},
		"fails":                        {map[string]string{"templates/a.yaml": "a: b\nc: {{ .Values.a.b }}\n"}, "::error file=x/templates/a.yaml,line=2,title=broken-document::"},
		"demands values by its schema": {map[string]string{"values.schema.json": `{"required": ["a"]}`}, "::warning file=x/Chart.yaml,line=1,title=not-checked::"},
		"misfits its schema by a name": {
			map[string]string{"values.schema.json": `{"required": ["a"], "additionalProperties": false}`, "values.yaml": "\nb: 1\n"}, "::error file=x/values.yaml,line=2,title=broken-document::",
		},
		"misfits its schema by a type": {map[string]string{"values.schema.json": `{"properties": {"a": {"type": "integer"}}}`, "values.yaml": "\na: '1'\n"}, "::error file=x/values.yaml,line=2,title=broken-document::"},
		"misfits the schema of a chart in it": {
			map[string]string{"charts/sub/Chart.yaml": sub, "charts/sub/values.schema.json": `{"properties": {"a": {"type": "integer"}}}`, "values.yaml": "a: 1\nsub: {\n a: b}\n"},
			"::error file=x/values.yaml,line=3,title=broken-document::",
		},
		"has a value that stands for none": {
			map[string]string{"values.schema.json": `{"properties": {"a": {"type": "string", "minLength": 1}}}`, "values.yaml": "a: ''\n"}, "::warning file=x/Chart.yaml,line=1,title=not-checked::",
		},
		"has a schema that is no JSON": {map[string]string{"values.schema.json": "{\n\"a\": 1,\n}"}, "::error file=x/values.schema.json,line=3,title=broken-document::"},
		"may have one of several types": {
			map[string]string{"values.schema.json": `{"properties": {"a": {"anyOf": [{"type": "integer"}, {"minLength": 1}]}}}`, "values.yaml": "a: ''\n"}, "::warning file=x/Chart.yaml,line=1,title=not-checked::",
		},
		"in a chart": {map[string]string{"charts/sub/Chart.yaml": sub, "charts/sub/templates/a.yaml": "\n{{ if }}"}, "::error file=x/charts/sub/templates/a.yaml,line=2,title=broken-document::"},
		"in a chart in another directory": {
			map[string]string{"charts/s/Chart.yaml": sub, "charts/s/templates/a.yaml": "\n{{ if }}"}, "::error file=x/Chart.yaml,line=1,title=broken-document::",
		},
		"values": {map[string]string{"values.yaml": "a: [\n"}, "::error file=x/values.yaml,line=1,title=broken-document::"},
		"what a template says": {
			map[string]string{"templates/a.yaml": "\n{{ fail `\nshop/Chart.yaml:1:1\n` }}\n"}, "::warning file=x/templates/a.yaml,line=2,title=not-checked::",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"x/Chart.yaml": chart}
			for path, text := range test.files {
				files["x/"+path] = text
			}
			folder := written(t, files)
			if got := runIn(t, folder, "check", "-o", "github"); !strings.HasPrefix(got.stdout, test.want) || got.stderr != "" {
				t.Errorf("want %s: %+v", test.want, got)
			}
			for _, args := range []string{"check --strict", "check --helm x"} {
				got := runIn(t, folder, strings.Fields(args)...)
				if args == "check --strict" && strings.Contains(test.want, "broken-document") { // as without the flag
					if got != runIn(t, folder, "check") {
						t.Errorf("%s: %+v", args, got)
					}
					continue
				}
				if strings.Contains(got.stderr, `\n`) || !strings.HasPrefix(got.stderr, "error: chart x: ") || strings.Count(got.stderr, "\n") != 1 {
					t.Errorf("%s: %+v", args, got)
				}
			}
		})
	}
}

// TestCheckRenderings: what not all renderings of a chart have names the values files with which it is found.
func TestCheckRenderings(t *testing.T) {
	folder := written(t, map[string]string{
		"x/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"x/values.yaml": "weight: 1\n", "x/ci/odd.yaml": "weight: -1\n", "x/ci/even.yaml": "weight: 2\n",
		"x/templates/a.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a, labels: {team: \"a b\"}}\n" +
			"spec: {parentRefs: [{group: '', kind: Service, name: a, port: 80}], rules: [{backendRefs: [{name: a, port: 80, weight: {{ .Values.weight }}}]}]}\n",
	})
	for format, want := range map[string]string{"text": "\n     4  deny ", "github": "::error file=x/templates/a.yaml,line=4,", "junit": "<failure message=\"metadata.labels: ", "sarif": `weight`} {
		got := runIn(t, folder, "check", "-o", format).stdout
		var odd, others int
		for line := range strings.Lines(got) {
			switch {
			case strings.Contains(line, ".weight") && strings.Contains(line, " (with ci/odd.yaml)"):
				odd++
			case strings.Contains(line, " (with "), strings.Contains(line, ".weight: "):
				others++
			}
		}
		if odd == 0 || others > 0 || !strings.Contains(got, want) {
			t.Errorf("%s: %d named, %d others: %s", format, odd, others, got)
		}
	}
}
