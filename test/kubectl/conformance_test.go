package kubectl

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gammaguard/gammaguard/test/conformance"
)

// document is one object of a manifest, and where it stands.
type document struct {
	place  string
	object *unstructured.Unstructured
}

// documents reads the manifests that match the patterns, in their order.
func documents(t *testing.T, dir fs.FS, patterns ...string) []document {
	t.Helper()
	var found []document
	for _, pattern := range patterns {
		files, err := fs.Glob(dir, pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no manifests (%v)", pattern, err)
		}
		for _, file := range files {
			data, err := fs.ReadFile(dir, file)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(data), "{GATEWAY_CLASS_NAME}", "conformance")
			decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
			for i := 0; ; i++ {
				object := &unstructured.Unstructured{}
				if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s, document %d: %v", file, i, err)
				}
				if len(object.Object) > 0 {
					found = append(found, document{fmt.Sprintf("%s#%d", path.Base(file), i), object})
				}
			}
		}
	}
	return found
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	c, err := plane.Client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verdict is what the API server says to the creation of an object, in short.
func verdict(t *testing.T, c client.Client, object *unstructured.Unstructured, options ...client.CreateOption) string {
	t.Helper()
	err := c.Create(t.Context(), object.DeepCopy(), options...)
	switch {
	case err == nil:
		return "admitted"
	case meta.IsNoMatchError(err):
		return "unknown kind"
	}
	return err.Error()
}

// TestMeshConformanceManifests creates the mesh manifests of the conformance suite
// with gammaguard in front: all of them are good, and none is refused.
func TestMeshConformanceManifests(t *testing.T) {
	start(t, "grants: {default: all}")
	c := newClient(t)
	routes := 0
	dir := conformance.Dir(t)
	for _, d := range documents(t, os.DirFS(dir), "mesh/manifests.yaml", "tests/mesh/*.yaml") {
		if got := verdict(t, c, d.object); got != "admitted" {
			t.Errorf("%s: %s %s: %s", d.place, d.object.GetKind(), d.object.GetName(), got)
			continue
		}
		if strings.HasSuffix(d.object.GetKind(), "Route") {
			routes++
			if err := c.Delete(t.Context(), d.object); err != nil { // the tests use some names again
				t.Error(err)
			}
		}
	}
	if routes < 15 {
		t.Errorf("only %d routes were among the manifests", routes)
	}
}

// TestNorthSouthConformanceManifests compares the verdicts on the conformance
// suite's other manifests with and without gammaguard.
func TestNorthSouthConformanceManifests(t *testing.T) {
	c := newClient(t)
	dir := conformance.Dir(t)
	all := documents(t, os.DirFS(dir), "base/*.yaml", "tests/*.yaml")
	made := map[string]bool{}
	for _, d := range all { // dry runs need their namespaces
		for _, name := range []string{d.object.GetNamespace(), namespaceName(d.object)} {
			if name != "" && name != "default" && !made[name] {
				made[name] = true
				ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
				if got := verdict(t, c, ns); got != "admitted" {
					t.Fatalf("namespace %s: %s", name, got)
				}
			}
		}
	}
	judge := func() []string {
		var verdicts []string
		for _, d := range all {
			if d.object.GetKind() == "Namespace" {
				continue
			}
			verdicts = append(verdicts, fmt.Sprintf("%s %s %s: %s", d.place, d.object.GetKind(), d.object.GetName(), verdict(t, c, d.object, client.DryRunAll)))
		}
		return verdicts
	}
	without := judge()
	start(t, "") // no grants: a mesh route would be refused
	if diff := cmp.Diff(without, judge()); diff != "" {
		t.Errorf("verdicts (-without gammaguard +with):\n%s", diff)
	}
	if routes := slices.DeleteFunc(slices.Clone(without), func(v string) bool {
		return !strings.Contains(v, "Route ") || !strings.HasSuffix(v, "admitted")
	}); len(routes) < 100 {
		t.Errorf("only %d routes were admitted", len(routes))
	}
}

func namespaceName(object *unstructured.Unstructured) string {
	if object.GetKind() == "Namespace" {
		return object.GetName()
	}
	return ""
}
