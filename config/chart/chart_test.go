package chart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/config/chart"
)

var options = chart.Options{Version: "v1.2.3", Image: "gammaguard-webhook"}

// TestMain makes the chart.
func TestMain(m *testing.M) { os.Exit(inFolder(m)) }

var folder string

func inFolder(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "gammaguard-chart-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	if err := chart.Write(options, folder); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return m.Run()
}

// objects are manifests by kind and name.
type objects map[string]map[string]any

// render renders the chart as Helm does, for a release in the namespace.
func render(t *testing.T, namespace, values string) (objects, error) {
	t.Helper()
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	given, err := common.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	release := common.ReleaseOptions{Name: "gammaguard", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(loaded, given, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	var manifests []map[string]any
	for name, text := range rendered {
		if path.Ext(name) != ".yaml" || strings.TrimSpace(text) == "" {
			continue
		}
		manifest := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(text), &manifest); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		manifests = append(manifests, manifest)
	}
	return index(t, manifests), nil
}

var configMapName = regexp.MustCompile(`^gammaguard-config-[a-z0-9]{10}$`)

// index indexes manifests. The configuration file is compared by its content, not by its
// text, on which the name of the ConfigMap depends.
func index(t *testing.T, manifests []map[string]any) objects {
	t.Helper()
	all := objects{}
	for _, manifest := range manifests {
		plain(manifest)
		object := unstructured.Unstructured{Object: manifest}
		if text, is, _ := unstructured.NestedString(manifest, "data", "guard.yaml"); is {
			var content any
			if err := yaml.Unmarshal([]byte(text), &content); err != nil {
				t.Fatal(err)
			}
			manifest["data"] = content
		}
		key := object.GetKind() + "/" + object.GetName()
		if _, twice := all[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		all[key] = manifest
	}
	return all
}

// plain brings numbers to one type, ConfigMaps to one name, and volumes into one order,
// wherever they are.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = plain(value[key])
			if list, ok := value[key].([]any); ok && strings.HasPrefix(key, "volume") {
				slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
		}
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	case string:
		return configMapName.ReplaceAllString(value, "gammaguard-config")
	case int:
		return float64(value)
	case int64:
		return float64(value)
	}
	return value
}

// kustomized returns what kustomize builds, without the namespace, which Helm makes.
func kustomized(t *testing.T, folder string, components ...string) objects {
	t.Helper()
	manifests, err := chart.Build(folder, components...)
	if err != nil {
		t.Fatal(err)
	}
	all := index(t, manifests)
	delete(all, "Namespace/gammaguard-system")
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`"gammaguard-webhook:dev"`), []byte(`"gammaguard-webhook:v1.2.3"`)) // of the release
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOverlays: with the values of docs/helm.md, the chart is what each overlay is.
func TestOverlays(t *testing.T) {
	page, err := os.ReadFile("../../docs/helm.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := config.Manifests.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"default"}
	for _, entry := range entries {
		if entry.Name() != "policies" { // it has no Pod
			folders = append(folders, "overlays/"+entry.Name())
		}
	}
	for _, folder := range folders {
		row := regexp.MustCompile("(?m)^\\| `config/" + folder + "` \\| `(.*)` \\|$").FindSubmatch(page)
		if row == nil {
			t.Errorf("docs/helm.md has no values for %s", folder)
			continue
		}
		got, err := render(t, "gammaguard-system", string(row[1]))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kustomized(t, folder), got); diff != "" {
			t.Errorf("%s (-kustomize +chart):\n%s", folder, diff)
		}
	}
}

// TestComponents: each component that is not an overlay's is a value, alone and with all
// others.
func TestComponents(t *testing.T) {
	values := map[string]string{}
	for _, component := range components(t) {
		words := strings.Split(component, "-")
		for i := range words[1:] {
			words[i+1] = strings.ToUpper(words[i+1][:1]) + words[i+1][1:]
		}
		values[component] = strings.Join(words, "")
	}
	check := func(names ...string) {
		given := "components:\n"
		for _, name := range names {
			given += "  " + values[name] + ": true\n"
		}
		got, err := render(t, "gammaguard-system", given)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kustomized(t, "default", names...), got); diff != "" {
			t.Errorf("%v (-kustomize +chart):\n%s", names, diff)
		}
	}
	all := components(t)
	for _, name := range all {
		check(name)
	}
	check(all...)
}

// components returns the components that no overlay has.
func components(t *testing.T) []string {
	t.Helper()
	entries, err := config.Manifests.ReadDir("components")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if !slices.Contains([]string{"audit-only", "cert-manager", "fail-open", "high-availability", "self-managed"}, entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	if len(names) < 3 {
		t.Errorf("only %q", names)
	}
	return names
}

// TestNamespace: in another namespace, nothing speaks of the kustomize tree's.
func TestNamespace(t *testing.T) {
	for _, source := range []string{"cert-manager", "self-managed", "external"} {
		got, err := render(t, "mesh", "certificates: {source: "+source+"}")
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "gammaguard-system") || !strings.Contains(string(text), "mesh/gammaguard-webhook") {
			t.Errorf("%s: %s", source, text)
		}
	}
}
