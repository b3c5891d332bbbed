package check_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/internal/cli/check"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/sets"
)

const (
	chartFile = "{apiVersion: v2, name: c, version: 1.0.0}\n"
	rights    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{apiGroups: [gateway.networking.k8s.io], resources: [httproutes], verbs: [get]}]\n"
	flagger   = "{apiVersion: flagger.app/v1beta1, kind: Canary, metadata: {name: f}, spec: {targetRef: {name: f}, service: {port: 80, gatewayRefs: [{group: '', kind: Service, name: f}]}}}\n"
	service   = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}\n"
)

// named is a route with that name.
func route(name string) string { return strings.ReplaceAll(evil, "{name: a}", "{name: "+name+"}") }

// conditional is a template of a route, and dependency another chart.
var (
	conditional = "{{ if .Values.use }}\n" + route("b") + "{{ end }}\n"
	helper      = "{{ define \"api\" }}gateway.networking.k8s.io/v1{{ end }}"
	helped      = strings.Replace(route("b"), "gateway.networking.k8s.io/v1", "{{ include \"api\" . }}", 1)
	dependency  = strings.Replace(chartFile, "name: c", "name: d", 1)
)

// gateway is a route of that name that is none of the mesh.
func gateway(name string) string {
	return strings.Replace(route(name), "kind: Service", "kind: Gateway", 1)
}

// origin is a patch that says of all routes that they are of the file b.yaml.
const origin = "- target: {kind: HTTPRoute}\n  patch: |\n    - op: add\n      path: /metadata/annotations\n      value:\n        config.kubernetes.io/origin: \"path: b.yaml\\n\"\n"

// nested is a list of a list of the routes.
func nested(routes ...string) string {
	text := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n"
	for _, route := range routes {
		text += "  - " + strings.ReplaceAll(strings.TrimSpace(route), "\n", "\n    ") + "\n"
	}
	return text
}

// deletes is a patch that deletes the route of the name.
func deletes(name string) string {
	return "patches: [{patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: " + name + "}, $patch: delete}'}]\n"
}

// TestHiddenByLinks: a base is followed as kustomize does, from the directory that a link leads to.
func TestHiddenByLinks(t *testing.T) {
	filesIn(t, ".", map[string]string{
		"l/kustomization.yaml": "resources: [lnk, s.yaml]\n", "l/s.yaml": service, "a/b/kustomization.yaml": "resources: [../k]\n",
		"a/k/kustomization.yaml": "resources: [a.yaml]\n", "a/k/a.yaml": evil, "l/k/kustomization.yaml": "resources: [b.txt]\n", "l/k/b.txt": route("b"), ".gitignore": "/l/k\n",
	})
	if err := os.Symlink("../a/b", filepath.Join("l", "lnk")); err != nil {
		t.Fatal(err)
	}
	if _, says := strictly(t); !strings.Contains(says, "l/k: a kustomization that may make or change routes") {
		t.Error(says)
	}
}

// archive is a chart in an archive.
func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	var text bytes.Buffer
	zipped := gzip.NewWriter(&text)
	packed := tar.NewWriter(zipped)
	for name, content := range files {
		if err := packed.WriteHeader(&tar.Header{Name: "d/" + name, Mode: 0o600, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := packed.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(packed.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestHiddenBehindCharts: a template of a chart inside a chart has Helm's name, which may be that of a file that
// Helm never reads. What is made of it is not made of that file.
func TestHiddenBehindCharts(t *testing.T) {
	other := gateway("b")
	for name, test := range map[string]struct {
		files, links map[string]string
		hidden       bool
	}{
		"an archive": {map[string]string{
			".helmignore": "charts/d/\n", "charts/d-1.0.0.tgz": archive(t, map[string]string{"Chart.yaml": dependency, "templates/b.yaml": other}), "charts/d/templates/b.yaml": route("b"),
		}, nil, true},
		"an archive and links": {map[string]string{
			".helmignore": "charts/d/\n", "charts/d-1.0.0.tgz": archive(t, map[string]string{"Chart.yaml": dependency, "templates/b.yaml": other}),
			"m/b.yaml": route("b"), "m/kustomization.yaml": "configMapGenerator: [{name: z, literals: [a=b]}]\n",
		}, map[string]string{"charts/d/templates": "../../m"}, true},
		"an archive with what is broken": {map[string]string{
			".helmignore": "charts/d/\n", "charts/d-1.0.0.tgz": archive(t, map[string]string{"Chart.yaml": dependency, "templates/b.yaml": other + "---\n{\n"}), "charts/d/templates/b.yaml": route("b"),
		}, nil, true},
		"another directory": {map[string]string{
			".helmignore": "charts/d/\n", "charts/x/Chart.yaml": dependency, "charts/x/o.txt": other, "charts/x/templates/b.yaml": "{{ .Files.Get \"o.txt\" }}",
			"m/b.yaml": route("b"), "m/kustomization.yaml": "configMapGenerator: [{name: z, literals: [a=b]}]\n",
		}, map[string]string{"charts/d/templates": "../../m"}, true},
		"two of a name": {map[string]string{
			"charts/x/Chart.yaml": dependency, "charts/x/templates/b.yaml": route("b"), "charts/d/Chart.yaml": dependency, "charts/d/templates/b.yaml": other,
		}, nil, true},
		"a directory that is not its name": {map[string]string{"charts/x/Chart.yaml": dependency, "charts/x/templates/b.yaml": route("b")}, nil, false},
		"a directory that is its name":     {map[string]string{"charts/d/Chart.yaml": dependency, "charts/d/templates/b.yaml": route("b")}, nil, false},
		"an alias":                         {map[string]string{"Chart.yaml": strings.Replace(chartFile, "1.0.0", "1.0.0, dependencies: [{name: d, version: 1.0.0, alias: y}]", 1), "charts/x/Chart.yaml": dependency, "charts/x/templates/b.yaml": route("b")}, nil, false},
		"a definition":                     {map[string]string{"charts/x/Chart.yaml": dependency, "charts/x/crds/b.yaml": route("b")}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"Chart.yaml": chartFile, "templates/s.yaml": service}
			maps.Copy(files, test.files)
			filesIn(t, ".", files)
			for from, to := range test.links {
				if err := errors.Join(os.MkdirAll(filepath.Dir(from), 0o750), os.Symlink(to, from)); err != nil {
					t.Fatal(err)
				}
			}
			all, says := strictly(t)
			if hidden := strings.Contains(says, "that no set has") || strings.Contains(says, "no set has made one"); hidden != test.hidden || all.Summary.Routes != 1 {
				t.Errorf("says %q, %d routes", says, all.Summary.Routes)
			}
		})
	}
}

// TestLinkedKustomizations: links that lead back to a kustomization are followed once.
func TestLinkedKustomizations(t *testing.T) {
	filesIn(t, ".", map[string]string{"k/kustomization.yaml": "resources: [a, b, s.yaml]\n", "k/s.yaml": service, "m/a.yaml": evil})
	for _, name := range []string{"a", "b"} {
		if err := os.Symlink(".", filepath.Join("k", name)); err != nil {
			t.Fatal(err)
		}
	}
	if all, says := strictly(t); all.Summary.Routes != 1 || !strings.Contains(says, "cannot be built: ") {
		t.Errorf("%s: %+v", says, all.Summary)
	}
}

// strictly returns the report of a strict check of the working directory, and what fails it, one a line.
func strictly(t *testing.T, paths ...string) (*report.CheckReport, string) {
	t.Helper()
	options := &check.Options{Strict: true, Config: config.Default()}
	project, err := sets.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	found, err := check.FindSets(t.Context(), options, paths, project)
	if err != nil {
		t.Fatal(err)
	}
	all, err := check.RunSets(t.Context(), options, found)
	var says []string
	if err != nil {
		says = append(says, err.Error())
	}
	for i := range all.Broken {
		says = append(says, all.Broken[i].Message)
	}
	return all, strings.Join(says, "\n")
}

// TestHiddenRoutes: whatever a repository adds to manifests that hold a route, the route is judged, or the
// check is not clean: a strict one fails, and says where the route is.
func TestHiddenRoutes(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		// says is what fails the strict check; empty where the route is judged.
		says string
	}{
		"nothing":                   {map[string]string{}, ""},
		"a chart":                   {map[string]string{"m/Chart.yaml": chartFile}, ""},
		"a chart above":             {map[string]string{"Chart.yaml": chartFile}, ""},
		"a chart around templates":  {map[string]string{"Chart.yaml": chartFile, "templates/b.yaml": "# {{ if false }}\n" + route("b") + "# {{ end }}\n"}, "templates/b.yaml: holds routes that no set has"},
		"a chart that ignores":      {map[string]string{"Chart.yaml": chartFile, ".helmignore": "b.yaml\n", "templates/b.yaml": route("b")}, "templates/b.yaml: holds routes that no set has"},
		"a partial":                 {map[string]string{"Chart.yaml": chartFile, "templates/_b.yaml": route("b")}, "templates/_b.yaml: holds routes that no set has; add a file with the values"},
		"a chart of a chart":        {map[string]string{"Chart.yaml": chartFile, ".helmignore": "charts\n", "charts/d/Chart.yaml": chartFile, "charts/d/templates/b.yaml": "{{ if true }}\n" + route("b") + "{{ end }}"}, "charts/d: a chart that may make routes, and that no set has"},
		"a generator beside":        {map[string]string{"m/kustomization.yaml": "configMapGenerator: [{name: a, files: [a.yaml]}]\n"}, "m/a.yaml: holds routes that no set has"},
		"an annotation":             {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\ncommonAnnotations: {a: ../m/a.yaml}\n", "k/s.yaml": service}, ""},
		"a kustomization":           {map[string]string{"m/kustomization.yaml": "resources: [s.yaml]\n", "m/s.yaml": service}, "m/a.yaml: holds routes that no set has; add it to resources or patches in kustomization.yaml, check with -f, or list in .gammaguardignore"},
		"a patch of nothing":        {map[string]string{"m/Kustomization": "resources: [s.yaml]\npatches: [{path: a.yaml, target: {kind: Nothing}}]\n", "m/s.yaml": service}, "m/a.yaml: holds routes that no set has; check with -f, or list in .gammaguardignore"},
		"a patch that deletes":      {map[string]string{"m/kustomization.yaml": "resources: [a.yaml]\npatches: [{patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, $patch: delete}'}]\n"}, "m/a.yaml: holds routes that no set has"},
		"a circle":                  {map[string]string{"m/kustomization.yaml": "resources: [a.yaml, ../n]\n", "n/kustomization.yaml": "resources: [../m]\n"}, "cycle"},
		"a misspelled name":         {map[string]string{"m/kustomization.yaml": "resources: [a.yaml]\n", "n/kustomisation.yaml": "resources: [../m]\nnamePrefix: b\n"}, "n/kustomisation.yaml: a kustomization under a name that kustomize does not read; rename it to kustomization.yaml, or list in .gammaguardignore"},
		"another name":              {map[string]string{"n/dev.json": `{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": ["b.txt"]}`, "n/b.txt": route("b")}, "n/dev.json: a kustomization under a name"},
		"a route behind it":         {map[string]string{"n/dev.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n---\n" + route("b")}, "JUDGED b"},
		"a component":               {map[string]string{"m/kustomization.yaml": "kind: Component\nresources: [a.yaml]\n"}, "m/a.yaml: holds routes that no set has"},
		"a patch of a component":    {map[string]string{"n/kustomization.yaml": "kind: Component\npatches: [{path: b.yaml}]\n", "n/b.yaml": route("b")}, "n/b.yaml: holds routes that no set has; use its component in a kustomization, or list in .gammaguardignore"},
		"a component that uses":     {map[string]string{"m/kustomization.yaml": "resources: [a.yaml]\n", "n/kustomization.yaml": "kind: Component\nresources: [../m]\n"}, ""},
		"named elsewhere":           {map[string]string{"m/kustomization.yaml": "resources: [a.yaml]\n", "n/kustomization.yaml": "resources: [s.yaml]\ncommonAnnotations: {a: ../m}\n", "n/s.yaml": service}, ""},
		"a template":                {map[string]string{"m/b.yaml": "# {{\n" + route("b") + "---\n{\n"}, "BROKEN"},
		"nothing but a template":    {map[string]string{"m/b.yaml": "# apiVersion: kind:\n" + strings.Replace(route("b"), "name: b", "name: {{ b }}", 1)}, "m/b.yaml: a template outside a chart"},
		"a context":                 {map[string]string{".gammaguard.yaml": projectHeader + "context: [c]\nsets: [{files: [m]}]\n", "c/b.yaml": route("b")}, "c/b.yaml: holds routes that no set has"},
		"a context that is a set":   {map[string]string{".gammaguard.yaml": projectHeader + "context: [c]\n", "c/b.yaml": route("b")}, "JUDGED b"},
		"sets that are named":       {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [p]}]\n", "p/b.yaml": route("b")}, "m/a.yaml: holds routes that no set has; add it to sets in .gammaguard.yaml, check with -f, or list in .gammaguardignore"},
		"a kustomization not named": {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}]\n", "n/kustomization.yaml": "resources: [../m/a.yaml]\nnamePrefix: b\n"}, "n: a kustomization that may make or change routes, and that no set has; add it to sets in .gammaguard.yaml, or list in .gammaguardignore"},
		"a base not named":          {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}]\n", "n/kustomization.yaml": "resources: [b.yaml]\n", "n/b.yaml": route("b"), "o/kustomization.yaml": "resources: [../n]\n"}, "n: a kustomization that may make or change routes, and that no set has\nn/b.yaml: holds routes that no set has; check with -f, or list in .gammaguardignore\no: a kustomization that may make or change routes, and that no set has; add it to sets in .gammaguard.yaml"},
		"a patch not named":         {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{kustomization: m}]\n", "m/kustomization.yaml": "resources: [a.yaml]\n", "n/kustomization.yaml": "resources: [../m]\npatches: [{path: a.yaml}]\n", "n/a.yaml": route("a")}, "n/a.yaml: holds routes that no set has; check with -f, or list in .gammaguardignore"},
		"node_modules":              {map[string]string{"node_modules/x/b.yaml": route("b")}, "node_modules/x/b.yaml: in a hidden directory"},
		"vendor":                    {map[string]string{"vendor/x/b.yaml": route("b"), ".gitignore": "vendor\n"}, "vendor/x/b.yaml: in a hidden directory"},
		"a hidden directory":        {map[string]string{".x/b.yaml": route("b"), ".x/c.yaml": route("c")}, ".x: 2 files: .x/b.yaml, .x/c.yaml: in a hidden directory"},
		"a Canary of no set":        {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}]\n", "p/b.yaml": flagger}, "p/b.yaml: holds routes that no set has"},
		"a Canary beside":           {map[string]string{"m/kustomization.yaml": "resources: [a.yaml]\n", "m/b.yaml": flagger}, "m/b.yaml: holds routes that no set has"},
		"a Canary of Istio":         {map[string]string{"m/kustomization.yaml": "resources: [a.yaml]\n", "m/b.yaml": strings.Replace(flagger, "spec: {", "spec: {provider: istio, ", 1)}, ""},
		"a hidden Canary":           {map[string]string{"node_modules/x/b.yaml": flagger}, "node_modules/x/b.yaml: in a hidden directory"},
		"a Canary that is off":      {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}, {chart: c, values: [off.yaml]}]\n", "off.yaml": "use: false\n", "c/Chart.yaml": chartFile, "c/values.yaml": "use: true\n", "c/templates/b.yaml": "{{ if .Values.use }}\n" + flagger + "{{ end }}\n"}, "c/templates/b.yaml: may hold routes, and no set has made one"},
		"a chart with a Canary":     {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}]\n", "c/Chart.yaml": chartFile, "c/templates/b.yaml": "{{ if .Values.use }}\n" + flagger + "{{ end }}\n"}, "c: a chart that may make routes, and that no set has"},
		"a patch of no Canary":      {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches: [{path: b.yaml, target: {kind: Nothing}}]\n", "k/s.yaml": service, "k/b.yaml": flagger}, "k/b.yaml: holds routes that no set has"},
		"a hidden chart":            {map[string]string{".x/Chart.yaml": chartFile, ".x/templates/b.yaml": "{{ if true }}\n" + route("b") + "{{ end }}"}, ".x: a chart that may make routes"},
		"a vendored base":           {map[string]string{"vendor/x/kustomization.yaml": "resources: [b.yaml]\n", "vendor/x/b.yaml": route("b"), "k/kustomization.yaml": "resources: [../vendor/x]\n"}, ""},
		"a hidden kustomization":    {map[string]string{".x/kustomization.yaml": "resources: [../m]\nnamePrefix: b\n", "m/kustomization.yaml": "resources: [a.yaml]\n"}, ".x: a kustomization that may make or change routes"},
		"a large hidden file":       {map[string]string{"node_modules/b.yaml": route("b") + strings.Repeat("#\n", 8<<20)}, "node_modules/b.yaml: cannot be read: "},
		"a base that is used twice": {map[string]string{
			"m/a.yaml": evil + "---\n" + route("b"), "m/kustomization.yaml": "resources: [a.yaml]\n", "k/kustomization.yaml": "resources: [x1, y1]\n",
			"k/x1/kustomization.yaml": "resources: [../../m]\nnamePrefix: x1\npatches: [{path: p.yaml}]\n", "k/x1/p.yaml": strings.Replace(evil, "metadata", "$patch: delete, metadata", 1),
			"k/y1/kustomization.yaml": "resources: [../../m]\nnamePrefix: y1\npatches: [{path: p.yaml}]\n", "k/y1/p.yaml": strings.Replace(evil, "metadata", "$patch: delete, metadata", 1),
		}, "m/a.yaml: holds routes that no set has"},
		"a template that values turn off":        {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}, {chart: c, values: [off.yaml]}]\n", "off.yaml": "use: false\n", "c/Chart.yaml": chartFile, "c/values.yaml": "use: true\n", "c/templates/b.yaml": conditional}, "c/templates/b.yaml: may hold routes, and no set has made one; add the chart with values that make it to sets in .gammaguard.yaml, or list in .gammaguardignore"},
		"a chart above a chart":                  {map[string]string{"Chart.yaml": chartFile, "values.yaml": "d: {use: false}\n", "charts/d/Chart.yaml": dependency, "charts/d/values.yaml": "use: true\n", "charts/d/templates/b.yaml": conditional}, "charts/d/templates/b.yaml: may hold routes"},
		"a chart above a chart, a condition":     {map[string]string{"Chart.yaml": strings.Replace(chartFile, "1.0.0", "1.0.0, dependencies: [{name: d, version: 1.0.0, condition: d.use}]", 1), "values.yaml": "d: {use: false}\n", "charts/d/Chart.yaml": dependency, "charts/d/templates/b.yaml": "{{ if true }}\n" + route("b") + "{{ end }}\n"}, "charts/d/templates/b.yaml: may hold routes"},
		"a patch of another kind":                {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches: [{path: b.yaml, target: {kind: Service}}]\n", "k/s.yaml": service, "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a patch of another route":               {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches: [{path: b.yaml, target: {kind: HTTPRoute, name: s}}]\n", "k/s.yaml": route("s"), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a patch of a longer name":               {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches: [{path: b.yaml, target: {kind: HTTPRoute}}]\n", "k/s.yaml": route("xbx"), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a patch that deletes nothing":           {map[string]string{"k/kustomization.yaml": "resources: [s.yaml]\npatches: [{path: b.yaml, target: {kind: Service}}]\n", "k/s.yaml": service, "k/b.yaml": strings.Replace(route("b"), "metadata", "$patch: delete, metadata", 1)}, "k/b.yaml: holds routes that no set has"},
		"an origin that is another file":         {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{target: {kind: HTTPRoute}, patch: '[{op: add, path: /metadata/annotations, value: {config.kubernetes.io/origin: \"path: b.yaml\"}}]'}]\n", "k/s.txt": route("s"), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a generator of what is not read":        {map[string]string{"k/kustomization.yaml": "configMapGenerator: [{name: a, files: [b.yaml]}]\n", "k/b.yaml": strings.Repeat("{kind: List, apiVersion: v1, items: [", 2000) + route("b") + strings.Repeat("]}", 2000)}, "k/b.yaml: may hold routes, and no set has made one"},
		"a base that is no manifest":             {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}]\n", "k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b")}, "k: a kustomization that may make or change routes"},
		"a base below that is no manifest":       {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}]\n", "k/kustomization.yaml": "resources: [l]\n", "k/l/kustomization.yaml": "resources: [b.txt, ../../k]\n", "k/l/b.txt": route("b")}, "k: a kustomization that may make or change routes"},
		"a kustomization that is data":           {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}, {kustomization: .}]\n", "kustomization.yaml": "configMapGenerator: [{name: a, files: [k/kustomization.yaml]}]\n", "k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b")}, "k: a kustomization that may make or change routes"},
		"a vendored base that is no manifest":    {map[string]string{"vendor/x/kustomization.yaml": "resources: [b.yaml.in]\n", "vendor/x/b.yaml.in": route("b")}, "vendor/x: a kustomization that may make or change routes"},
		"an ignored chart with a helper":         {map[string]string{".gitignore": "c\n", "c/Chart.yaml": chartFile, "c/templates/_h.tpl": helper, "c/templates/b.yaml": helped}, "c: a chart that may make routes, and that no set has"},
		"a chart that ignores with a helper":     {map[string]string{"Chart.yaml": chartFile, ".helmignore": "charts\n", "charts/d/Chart.yaml": dependency, "charts/d/templates/_h.tpl": helper, "charts/d/templates/b.yaml": helped}, "charts/d: a chart that may make routes, and that no set has"},
		"a chart above with a helper":            {map[string]string{"Chart.yaml": chartFile, "charts/d/Chart.yaml": dependency, "charts/d/templates/_h.tpl": helper, "charts/d/templates/b.yaml": "{{ if .Values.use }}\n" + helped + "{{ end }}\n"}, "charts/d: a chart with templates that may make routes, and of which no set has made one"},
		"a patch whose route is not made":        {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{path: b.yaml, target: {kind: Nope}}]\n", "k/s.txt": strings.Replace(route("b"), "name: b", `name: b, annotations: {config.kubernetes.io/local-config: "true"}`, 1), "k/b.yaml": route("b")}, "k/b.yaml, k/s.txt: holds routes that no set has"},
		"a patch with a route elsewhere":         {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{path: b.yaml, target: {kind: Nope}}]\n", "k/s.txt": strings.Replace(gateway("b"), "name: b", "namespace: other, name: b", 1), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a patch with another route":             {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{path: b.yaml, target: {kind: Nope}}]\n", "k/s.txt": gateway("b"), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a patch of a route that is silenced":    {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{path: b.yaml, target: {kind: Nope}}]\n", "k/s.txt": strings.Replace(route("b"), "name: b", "name: b, annotations: {gammaguard.dev/ignore: all}", 1), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"a patch of another version":             {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{path: b.yaml, target: {kind: Nope}}]\n", "k/s.txt": strings.Replace(route("b"), "networking.k8s.io/v1", "networking.k8s.io/v1beta1", 1), "k/b.yaml": route("b")}, "k/b.yaml: holds routes that no set has"},
		"an origin that a patch sets":            {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches:\n- {path: b.yaml, target: {kind: Nope}}\n" + origin, "k/s.txt": gateway("b-edge"), "k/b.yaml": route("b")}, "k/b.yaml, k/s.txt: holds routes that no set has"},
		"an origin of a longer name":             {map[string]string{"k/kustomization.yaml": "resources: [s.txt, b.yaml]\npatches:\n- {patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}, $patch: delete}'}\n" + origin, "k/s.txt": gateway("b-edge"), "k/b.yaml": route("b")}, "k/b.yaml, k/s.txt: holds routes that no set has"},
		"a merge key that is overridden":         {map[string]string{"k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b"), "l/kustomization.yaml": "<<: {resources: [../k]}\nresources: [s.yaml]\n", "l/s.yaml": service}, "JUDGED b"},
		"a template that another set names":      {map[string]string{".gammaguard.yaml": projectHeader + "sets: [{files: [m]}, {chart: c, values: [off.yaml]}, {files: [c/templates/z.yaml]}]\n", "off.yaml": "use: false\n", "c/Chart.yaml": chartFile, "c/values.yaml": "use: true\n", "c/templates/_h.tpl": helper, "c/templates/b.yaml": "{{ if .Values.use }}\n" + helped + "{{ end }}\n", "c/templates/z.yaml": service}, "c: a chart with templates that may make routes, and of which no set has made one"},
		"a base that another field overrides":    {map[string]string{"k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b"), "l/kustomization.yaml": "Resources: [../k]\nresources: [s.yaml]\n", "l/s.yaml": service}, "k: a kustomization that may make or change routes"},
		"a base that is none":                    {map[string]string{"k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b"), "l/kustomization.yaml": "resources: [s.yaml]\nopenapi: {resources: ../k}\n", "l/s.yaml": service}, "k: a kustomization that may make or change routes"},
		"a kustomization in a chart":             {map[string]string{"c/Chart.yaml": chartFile, "c/templates/s.yaml": service, "c/templates/kustomization.yaml": "resources: [../../k]\nnamePrefix: x\n", "k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": gateway("b")}, "c/templates: a kustomization that may make or change routes"},
		"a directory for a kustomization":        {map[string]string{"vendor/x/Kustomization": "resources: [b.txt]\n", "vendor/x/b.txt": route("b"), "vendor/x/kustomization.yaml/.keep": ""}, "vendor/x: a kustomization that may make or change routes"},
		"a patch that makes a route":             {map[string]string{".gitignore": "k\n", "k/kustomization.yaml": "resources: [r.yaml]\npatches: [{path: p.yaml, target: {kind: Foo}}]\n", "k/r.yaml": strings.NewReplacer("gateway.networking.k8s.io", "foo", "HTTPRoute", "Foo").Replace(route("b")), "k/p.yaml": "- {op: replace, path: /apiVersion, value: gateway.networking.k8s.io/v1}\n- {op: replace, path: /kind, value: HTTPRoute}\n"}, "k: a kustomization that may make or change routes"},
		"a rest that cannot be read":             {map[string]string{"k/kustomization.yaml": "resources: [b.yaml, s.yaml]\npatches: [{patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}, $patch: delete}'}]\n", "k/s.yaml": service, "k/b.yaml": gateway("g") + "---\n" + route("b") + "items: {}\n"}, "k/b.yaml: holds routes that no set has"},
		"an inline patch in its place":           {map[string]string{"k/kustomization.yaml": "resources: [s.yaml, g.yaml]\npatches:\n- patch: |\n    {apiVersion: v1, kind: Service, metadata: {name: a, labels: {a: b}}}\n    ---\n    {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b, labels: {a: b}}}\n---\n" + route("b"), "k/s.yaml": service, "k/g.yaml": gateway("b")}, "k/kustomization.yaml: holds routes that no set has"},
		"lists in a list":                        {map[string]string{"k/kustomization.yaml": "resources: [b.yaml, s.yaml]\npatches: [{patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}, $patch: delete}'}]\n", "k/s.yaml": service, "k/b.yaml": nested(gateway("g"), route("b"))}, "k/b.yaml: holds routes that no set has"},
		"a definition that looks like a partial": {map[string]string{"c/Chart.yaml": chartFile, "c/templates/g.yaml": gateway("g"), "c/crds/_b.YAML": route("b")}, "JUDGED b"},
		"two definitions of a name":              {map[string]string{"c/Chart.yaml": chartFile, "c/charts/d-1.0.0.tgz": archive(t, map[string]string{"Chart.yaml": dependency, "crds/b.yaml": route("b")}), "c/charts/e-1.0.0.tgz": archive(t, map[string]string{"Chart.yaml": dependency, "crds/b.yaml": service})}, "JUDGED b"},
		"a base of which an overlay deletes":     {map[string]string{"k/kustomization.yaml": "resources: [b.txt]\n", "k/b.txt": route("b"), "l/kustomization.yaml": "resources: [../k, s.yaml]\npatches: [{patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}, $patch: delete}'}]\n", "l/s.yaml": service}, "k/b.txt: holds routes that no set has"},
		"a chart that is data":                   {map[string]string{".x/Chart.yaml": chartFile, ".x/values.yaml": "g: gateway.networking.k8s.io\n", ".x/templates/b.yaml": strings.Replace(route("b"), "gateway.networking.k8s.io", "{{ .Values.g }}", 1), "kustomization.yaml": "configMapGenerator: [{name: z, files: [.x/Chart.yaml]}]\n"}, ".x: a chart that may make routes, and that no set has"},
		"a prefix of another":                    {map[string]string{"k/s.txt": gateway("xb"), "k/b.yaml": route("b"), "k/yy/kustomization.yaml": "namePrefix: x\nconfigMapGenerator: [{name: z, literals: [a=b]}]\n", "k/kustomization.yaml": "resources: [s.txt, b.yaml, yy]\npatches:\n- {patch: '{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: b}, $patch: delete}'}\n" + origin}, "k/b.yaml, k/s.txt: holds routes that no set has"},
		"two names by two prefixes":              {map[string]string{"m/b.yaml": route("evil") + "---\n" + gateway("vil"), "m/kustomization.yaml": "resources: [b.yaml]\n", "k/x/kustomization.yaml": "resources: [../../m]\nnamePrefix: x-e\n" + deletes("evil"), "k/y/kustomization.yaml": "resources: [../../m]\nnamePrefix: x-\n" + deletes("evil"), "k/kustomization.yaml": "resources: [x]\n", "l/kustomization.yaml": "resources: [../k/y]\n"}, "m/b.yaml: holds routes that no set has"},
		"a helper of the chart around":           {map[string]string{"c/Chart.yaml": chartFile, "c/templates/_h.tpl": helper, "c/charts/d/Chart.yaml": dependency, "c/charts/d/templates/b.yaml": "{{ if .Values.use }}\n" + helped + "{{ end }}\n"}, "c/charts/d: a chart with templates that may make routes, and of which no set has made one"},
		"annotations of a patch":                 {map[string]string{"k/kustomization.yaml": "resources: [s.txt]\npatches: [{path: b.yaml, target: {kind: Nope}}]\n", "k/s.txt": route("b"), "k/b.yaml": strings.Replace(route("b"), "name: b", "name: b, annotations: {retry.linkerd.io/http: 5xx}", 1)}, "k/b.yaml: holds routes that no set has"},
		"a project file below":                   {map[string]string{"n/.gammaguard.yaml": route("b")}, ""},
		"behind a kustomization":                 {map[string]string{"k/kustomization.yaml": "resources: []\n---\n" + route("b")}, "k/kustomization.yaml: holds routes that no set has"},
		"escapes":                                {map[string]string{"m/a.yaml": strings.NewReplacer("gateway.networking.k8s.io/v1", `"gateway\x2enetworking.k8s.io/v1"`, "apiVersion", `? "api\x56ersion"`+"\n#\n", "kind", "? kind\n ").Replace(evil)}, ""},
		"base64":                                 {map[string]string{"m/a.yaml": strings.Replace(evil, "gateway.networking.k8s.io/v1", `!!binary Z2F0ZXdheS5uZXR3b3JraW5nLms4cy5pby92MQ==`, 1)}, ""},
		"Helm's documents":                       {map[string]string{"c/Chart.yaml": chartFile, "c/templates/b.txt": "a: {{ `b` }}\n---" + strings.Replace(route("b"), "\n", "", 1)}, "JUDGED b"},
		"no map":                                 {map[string]string{"m/a.yaml": "\u00a0" + evil}, "BROKEN"},
		"a second file's name":                   {map[string]string{"m/kustomization.yml": "resources: [a.yaml]\n", "m/kustomization.yaml": "resources: [a.yaml]\n"}, "multiple kustomization files"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.files["m/a.yaml"] == "" {
				test.files["m/a.yaml"] = evil
			}
			filesIn(t, ".", test.files)
			all, says := strictly(t)
			if name, is := strings.CutPrefix(test.says, "JUDGED "); is {
				if !slices.ContainsFunc(all.Routes, func(r report.Route) bool { return r.Name == name }) {
					t.Errorf("%s is not judged: %+v", name, all.Sets)
				}
				return
			}
			if test.says == "BROKEN" {
				if all.Summary.Broken == 0 {
					t.Errorf("no broken document: %+v", all)
				}
				return
			}
			if test.says != "" {
				if !strings.Contains(says, test.says) {
					t.Errorf("says %q, want %q", says, test.says)
				}
				return
			}
			routes := 0
			for path, text := range test.files {
				if strings.HasSuffix(path, ".yaml") {
					routes += strings.Count(text, "HTTPRoute")
				}
			}
			if says != "" || all.Summary.Routes < routes {
				t.Errorf("says %q, %d routes, want %d: %+v", says, all.Summary.Routes, routes, all.Sets)
			}
		})
	}
}

// TestOrdinaryRepositories: nothing is hidden in a repository as people have them.
func TestOrdinaryRepositories(t *testing.T) {
	overlays := map[string]string{
		"base/kustomization.yaml": "resources: [route.yaml, service.yaml]\n", "base/route.yaml": evil, "base/service.yaml": service,
		"overlays/a/kustomization.yaml": "resources: [../../base]\nnamePrefix: x-\npatches: [{path: patch.yaml}]\nconfigMapGenerator: [{name: c, files: [settings.yaml, k=other.json]}]\n",
		"overlays/a/patch.yaml":         evil, "overlays/a/settings.yaml": "a: b\n", "overlays/a/other.json": "{}",
		"overlays/b/kustomization.yaml": "resources: [../../base]\ncomponents: [../../components/c]\npatches: [{path: patch.yaml, target: {kind: HTTPRoute, name: .*}}]\n",
		"overlays/b/patch.yaml":         "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: any, labels: {a: b}}}\n",
		"overlays/d/kustomization.yaml": "resources: [../../base]\npatches: [{path: patch.yaml, target: {kind: HTTPRoute}}]\n", "overlays/d/patch.yaml": evil,
		"overlays/c/kustomization.yaml":   "resources: [../../base]\npatches: [{path: delete.yaml}]\n",
		"overlays/c/delete.yaml":          strings.Replace(evil, "metadata: {name: a}", "metadata: {name: a}, $patch: delete", 1),
		"components/c/kustomization.yaml": "kind: Component\nlabels: [{pairs: {a: b}}]\n", "components/unused/kustomization.yaml": "kind: Component\nlabels: [{pairs: {a: b}}]\n",
	}
	chart := map[string]string{
		"chart/Chart.yaml": chartFile, "chart/values.yaml": "# apiVersion: gateway.networking.k8s.io/v1\n# kind: HTTPRoute\nenabled: false\nextra: []\n", "chart/ci/on-values.yaml": "enabled: true\n",
		"chart/templates/route.yaml": "{{ if .Values.enabled }}\n" + evil + "{{ end }}\n", "chart/templates/_helpers.tpl": "{{ define \"x\" }}{{ end }}", "chart/templates/NOTES.txt": "gateway.networking.k8s.io",
		"chart/docs/values.yaml": "on: true\n", "chart/README.md": "apiVersion: gateway.networking.k8s.io\nkind: HTTPRoute", "chart/tests/route_test.yaml": "suite: s\ntests: [{asserts: [{isKind: {of: HTTPRoute}, isAPIVersion: {of: gateway.networking.k8s.io/v1}}]}]\n",
		"chart/charts/d/Chart.yaml": strings.Replace(chartFile, "name: c", "name: d", 1), "chart/charts/d/templates/route.yaml": "{{ with .Values.x }}\n" + route("d") + "{{ end }}\n",
		"chart/ci/dependency-values.yaml": "d: {x: true}\n", "chart/templates/named.yaml": strings.Replace(route("b"), "{name: b}", "{name: \"{{ .Chart.Name }}-b\", namespace: \"{{ .Release.Namespace }}\"}", 1),
		"chart/charts/e/Chart.yaml": strings.Replace(chartFile, "name: c", "name: e", 1), "chart/charts/e/templates/rights.yaml": "{{ if .Values.x }}\n" + rights + "{{ end }}\n", "chart/charts/e/templates/_a.tpl": "{{ define \"e\" }}a{{ end }}",
	}
	for name, files := range map[string]map[string]string{
		"plain":    {"a/route.yaml": evil, "a/service.yaml": service, "b/deployment.yaml": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n", "README.md": evil, ".github/workflows/ci.yaml": "on: push\n"},
		"overlays": overlays, "chart": chart,
		"canaries": {
			"base/kustomization.yaml": "resources: [route.yaml, canary.yaml]\n", "base/route.yaml": evil, "base/canary.yaml": flagger,
			"a/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n", "a/patch.yaml": strings.Replace(flagger, "port: 80, ", "timeout: 5s, ", 1),
			"b/kustomization.yaml": "resources: [canary.yaml]\npatches: [{path: off.yaml}]\n", "b/canary.yaml": flagger, "b/off.yaml": "{apiVersion: flagger.app/v1beta1, kind: Canary, metadata: {name: f}, spec: {service: {gatewayRefs: null}}}\n",
			"c/Chart.yaml": chartFile, "c/templates/canary.yaml": strings.Replace(flagger, "{name: f}", `{name: "{{ .Release.Name }}-f"}`, 1),
		},
		"one name in two namespaces": {
			"base/kustomization.yaml": "resources: [r.yaml]\n", "o/kustomization.yaml": "resources: [../base]\nnameSuffix: -x\n",
			"base/r.yaml": strings.Replace(evil, "{name: a}", "{name: a, namespace: x}", 1) + "---\n" + strings.Replace(evil, "{name: a}", "{name: a, namespace: z}", 1),
		},
		"monorepo": {
			"go.mod": "module x\n", "vendor/sigs.k8s.io/x/crd.yaml": "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x.gateway.networking.k8s.io}}\n",
			"node_modules/a/package.json": "{\"description\": \"gateway.networking.k8s.io \\u00e9\"}", "web/tsconfig.json": "{ // comment\n}", "web/package.json": "{\"a\": \"\\u0041\"}",
			"deploy/route.yaml": evil, "deploy/service.yaml": service, ".gitignore": "node_modules/\n/out\n", "out/x.json": "{}",
			"mkdocs.yml": "a: !!python/name:x.y '%'\nb: gateway.networking.k8s.io\n", "dashboards/a.json": "{\"kind\": \"x\", \"apiVersion\": \"y\", \"a\": \"\\\\u\"}",
			"vendor/charts/x/Chart.yaml": chartFile, "vendor/charts/x/templates/a.yaml": service,
		},
	} {
		t.Run(name, func(t *testing.T) {
			filesIn(t, ".", files)
			all, says := strictly(t)
			for _, s := range all.Skipped {
				if s.Hides {
					t.Errorf("hides %+v", s)
				}
			}
			if says != "" || all.Summary.Routes == 0 || all.Summary.Broken > 0 {
				t.Errorf("says %q: %+v, %+v", says, all.Summary, all.Broken)
			}
		})
	}
}

// TestHiddenAreGrouped: many files that hold routes and that no set has make few lines.
func TestHiddenAreGrouped(t *testing.T) {
	files := map[string]string{"m/kustomization.yaml": "resources: [s.yaml]\n", "m/s.yaml": service}
	for i := range 2000 {
		files[fmt.Sprintf("m/%d.yaml", i)] = evil
		files[fmt.Sprintf(".x/%d/a.yaml", i)] = evil
	}
	filesIn(t, ".", files)
	all, says := strictly(t)
	if lines := len(all.Skipped); lines > 1001 || !strings.Contains(says, "2000 files: ") && !strings.Contains(says, "as 1000 more such files or directories") {
		t.Errorf("%d lines: %s", lines, says)
	}
}

// TestForeignDefinitions: a definition in the repository that is not ours is named, and fails a strict check unless --crds
// names it. Its CEL rules do not run.
func TestForeignDefinitions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "definitions", "generated", "standard", "HTTPRoute.json"))
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.Replace(string(text), `"openAPIV3Schema":{`, `"openAPIV3Schema":{"description":"d",`, 1)
	endless := strings.Repeat("[1,2,3,4,5,6,7,8,9,0].all(x, ", 5) + "true" + strings.Repeat(")", 5)
	foreign := strings.Replace(ours, `"spec":{"properties"`, `"spec":{"x-kubernetes-validations":[{"rule":"`+endless+` && false","message":"its rule"}],"properties"`, 1)
	other, err := os.ReadFile(filepath.Join("..", "..", "definitions", "generated", "experimental", "HTTPRoute.json"))
	if err != nil {
		t.Fatal(err)
	}
	unique := strings.Replace(ours, `"parentRefs":{`, `"parentRefs":{"uniqueItems":true,`, 1)
	for name, test := range map[string]struct {
		definition, crds string
		notice, broken   bool
	}{
		"ours":                 {ours, "", false, false},
		"of the other channel": {string(other), "", false, false},
		"foreign":              {foreign, "", true, false},
		"named":                {foreign, "m/crd.json", false, false},
		"quadratic":            {unique, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			filesIn(t, ".", map[string]string{"m/crd.json": test.definition, "m/a.yaml": strings.Replace(evil, "kind: Service", "group: '', kind: Service", 1), "m/s.yaml": service})
			options := &check.Options{Strict: true, Config: config.Default()}
			if test.crds != "" {
				options.CRDs = []string{test.crds}
			}
			found, err := check.FindSets(t.Context(), options, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			all, err := check.RunSets(t.Context(), options, found)
			if (err != nil) != test.notice || (len(all.Notices) == 1) != test.notice || (all.Summary.Broken > 0) != test.broken {
				t.Errorf("%v: %+v, %+v", err, all.Notices, all.Broken)
			}
			said, err := json.Marshal(all.Routes)
			if runs := strings.Contains(string(said), "its rule"); err != nil || runs != (test.crds != "") {
				t.Errorf("its rule runs: %t, %v: %s", runs, err, said)
			}
			options.Files = []string{"m"}
			if _, err := check.Run(t.Context(), options); (err != nil) != test.notice {
				t.Errorf("by hand: %v", err)
			}
		})
	}
}
