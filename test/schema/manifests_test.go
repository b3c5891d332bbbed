package schema

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/gammaguard/gammaguard/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/conformance"
)

// TestManifests compares the answers to the routes that come with the Gateway API:
// its examples, those that are meant to be refused, and its conformance suite's.
func TestManifests(t *testing.T) {
	module, err := bed.ModuleDir(t.Context(), "sigs.k8s.io/gateway-api/apis/v1")
	if err != nil {
		t.Fatal(err)
	}
	manifests := map[string][]byte{}
	for _, folder := range []string{filepath.Join(module, "examples"), filepath.Join(module, "hack", "invalid-examples"), conformance.Dir(t)} {
		readRoutes(t, folder, manifests)
	}
	for _, c := range channels {
		t.Run(string(c.channel), func(t *testing.T) {
			set, err := definitions.Embedded(c.channel)
			if err != nil {
				t.Fatal(err)
			}
			api, refused := newServer(t, c.plane), 0
			for place, object := range manifests {
				said := offline(t, set, &definitions.Write{Object: object, Namespace: "default"})
				compare(t, place, object, api.dryRun(t, http.MethodPost, object), said)
				if len(said.Refusals) > 0 {
					refused++
				}
			}
			if admitted := len(manifests) - refused; admitted < 200 || refused < 20 {
				t.Errorf("%d routes were admitted and %d refused, want at least 200 and 20", admitted, refused)
			}
		})
	}
}

// readRoutes adds the routes of the folder, in the namespace default.
func readRoutes(t *testing.T, folder string, manifests map[string][]byte) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
		for {
			var object unstructured.Unstructured
			if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				t.Logf("%s is passed over: %v", path, err)
				return nil
			}
			if object.Object == nil || !mesh.IsRouteKind(object.GetKind()) {
				continue
			}
			object.SetNamespace("default")
			text, err := object.MarshalJSON()
			if err != nil {
				return err
			}
			manifests[filepath.Base(path)+" "+object.GetName()] = text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
