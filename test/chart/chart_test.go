// Package chart compares the Helm chart of charts/gammaguard with the kustomize tree of
// config: with the values of a page, or of a component, both are the same objects.
package chart

import (
	"encoding/json"
	"fmt"
	"maps"
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
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/config"
	"github.com/gammaguard/gammaguard/test/kustomize"
)

const folder = "../../charts/gammaguard"

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
		for _, document := range releaseutil.SplitManifests(text) {
			manifest := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(document), &manifest); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			if manifest["kind"] == nil {
				t.Fatalf("%s: no object: %q", name, document)
			}
			manifests = append(manifests, manifest)
		}
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
	manifests, err := kustomize.Build(folder, components...)
	if err != nil {
		t.Fatal(err)
	}
	all := index(t, manifests)
	delete(all, "Namespace/gammaguard-system")
	return all
}

// TestOverlays: with the values of docs/helm.md, the chart is what each overlay is.
func TestOverlays(t *testing.T) {
	page := read(t, "../../docs/helm.md")
	entries, err := config.Manifests.ReadDir("overlays")
	if err != nil {
		t.Fatal(err)
	}
	const failOpen = "default` with the components `policies` and `fail-open"
	folders := []string{"default", failOpen}
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
		var components []string
		if folder == failOpen {
			folder, components = "default", []string{"policies", "fail-open"}
		}
		if diff := cmp.Diff(kustomized(t, folder, components...), got); diff != "" {
			t.Errorf("%s (-kustomize +chart):\n%s", folder, diff)
		}
	}
}

// TestComponents: each component that is not an overlay's is a value, alone and with all
// others, and with each source of certificates.
func TestComponents(t *testing.T) {
	all := components(t)
	for _, name := range all {
		names := []string{name}
		if name == "monitoring" {
			names = []string{"metrics", name} // which it needs
		}
		compare(t, kustomized(t, "default", names...), "cert-manager", names...)
	}
	compare(t, kustomized(t, "default", all...), "cert-manager", all...)
	compare(t, kustomized(t, "overlays/self-managed", all...), "self-managed", all...)
	compare(t, kustomized(t, "base", append([]string{"high-availability"}, all...)...), "external", all...)
}

// compare compares what the chart is with a source of certificates and components.
func compare(t *testing.T, want objects, source string, components ...string) {
	t.Helper()
	values := "certificates: {source: " + source + "}\ncomponents:\n"
	for _, component := range components {
		words := strings.Split(component, "-")
		for i, word := range words[1:] {
			words[i+1] = strings.ToUpper(word[:1]) + word[1:]
		}
		values += "  " + strings.Join(words, "") + ": true\n"
	}
	got, err := render(t, "gammaguard-system", values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, %v (-kustomize +chart):\n%s", source, components, diff)
	}
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

// TestNamespace: in another namespace, also in one that YAML takes for a boolean, nothing
// speaks of the kustomize tree's.
func TestNamespace(t *testing.T) {
	for _, source := range []string{"cert-manager", "self-managed", "external"} {
		values := "certificates: {source: " + source + "}\ncomponents: {metrics: true, monitoring: true, openreports: true}"
		want, err := render(t, "gammaguard-system", values)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(slices.Collect(maps.Values(want)))
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"mesh", "on"} {
			var moved []map[string]any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "gammaguard-system", namespace)), &moved); err != nil {
				t.Fatal(err)
			}
			got, err := render(t, namespace, values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(index(t, moved), got); diff != "" {
				t.Errorf("%s (-moved +got):\n%s", source, diff)
			}
		}
	}
}
