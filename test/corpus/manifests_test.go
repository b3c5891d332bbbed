package corpus

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/internal/definitions"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
	"github.com/gammaguard/gammaguard/test/conformance"
)

// manifest is an object in a file.
type manifest struct {
	// folder is where it was found; place is the file's base name with the object's
	// kind and name.
	folder, place string
	// text is the object as written, and sent what kubectl makes of it, in JSON.
	text, sent []byte
	object     *unstructured.Unstructured
}

const invalidExamples = "invalid-examples"

// ofGatewayAPI returns the objects that come with the Gateway API: its examples, those
// that are meant to be refused, and its conformance suite's.
func ofGatewayAPI(t *testing.T) []manifest {
	t.Helper()
	module, err := bed.ModuleDir(t.Context(), "sigs.k8s.io/gateway-api/apis/v1")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(read(t, filepath.Join(module, "examples")), read(t, filepath.Join(module, "hack", invalidExamples)), read(t, conformance.Dir(t)))
}

// TestManifests compares the answers to the routes that come with the Gateway API.
func TestManifests(t *testing.T) {
	t.Parallel()
	manifests := ofGatewayAPI(t)
	for _, c := range channels {
		t.Run(string(c.channel), func(t *testing.T) {
			set, err := definitions.Embedded(c.channel)
			if err != nil {
				t.Fatal(err)
			}
			api, admitted, refused := newServer(t, c.plane), 0, 0
			for _, m := range manifests {
				if !isRoute(m.object) {
					continue
				}
				object := inDefault(t, m.object)
				said := defined(t, set, &definitions.Write{Object: object, Namespace: "default"})
				compare(t, m.place, object, api.dryRun(t, http.MethodPost, object), said)
				if len(said.Refusals) > 0 {
					refused++
				} else {
					admitted++
				}
			}
			if admitted < 200 || refused < 20 {
				t.Errorf("%d routes were admitted and %d refused, want at least 200 and 20", admitted, refused)
			}
		})
	}
}

func isRoute(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().Group == mesh.GatewayGroup && mesh.IsRouteKind(object.GetKind())
}

// inDefault returns the object, in JSON, in the namespace default.
func inDefault(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	object = object.DeepCopy()
	object.SetNamespace("default")
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// read returns the objects in the YAML files of the folder, as kubectl reads them. What
// is not YAML is passed over.
func read(t *testing.T, folder string) []manifest {
	t.Helper()
	var manifests []manifest
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			text, err := documents.Read()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			found, err := decode(text)
			if err != nil {
				t.Logf("%s is passed over: %v", path, err)
				continue
			}
			for i := range found {
				found[i].folder, found[i].place = folder, filepath.Base(path)+" "+found[i].place
			}
			manifests = append(manifests, found...)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

// decode returns the object in the document, or those in the List that it is.
func decode(text []byte) ([]manifest, error) {
	sent, err := sigsyaml.YAMLToJSON(text)
	if err != nil || bytes.Equal(sent, []byte("null")) {
		return nil, err
	}
	object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, sent)
	if err != nil {
		return nil, err
	}
	items := &unstructured.UnstructuredList{}
	switch object := object.(type) {
	case *unstructured.Unstructured:
		items.Items = append(items.Items, *object)
	case *unstructured.UnstructuredList:
		items = object
	}
	var manifests []manifest
	for i := range items.Items {
		item := &items.Items[i]
		m := manifest{place: item.GetKind() + " " + item.GetName() + item.GetGenerateName(), text: text, object: item}
		if m.sent, err = item.MarshalJSON(); err != nil {
			return nil, err
		}
		if len(items.Items) > 1 {
			m.text = m.sent
		}
		manifests = append(manifests, m)
	}
	return manifests, nil
}
