package corpus

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gammaguard/gammaguard/internal/definitions"
)

// TestMetadata compares the answers to routes whose metadata, or whose outermost
// fields, have faults.
func TestMetadata(t *testing.T) {
	set, err := definitions.Embedded(definitions.Standard)
	if err != nil {
		t.Fatal(err)
	}
	api := newServer(t, standard.plane)
	for name, fields := range map[string]string{
		"good":                              `"metadata": {"name": "cart"}`,
		"no metadata":                       `"status": {"parents": []}`,
		"no name":                           `"metadata": {}`,
		"metadata null":                     `"metadata": null`,
		"metadata of the wrong type":        `"metadata": "cart"`,
		"upper case":                        `"metadata": {"name": "Cart"}`,
		"long name":                         `"metadata": {"name": "` + strings.Repeat("a", 254) + `"}`,
		"name of the wrong type":            `"metadata": {"name": 7}`,
		"label value":                       `"metadata": {"name": "cart", "labels": {"app": "a b"}}`,
		"label key":                         `"metadata": {"name": "cart", "labels": {"a/b/c": "x"}}`,
		"label of the wrong type":           `"metadata": {"name": "cart", "labels": {"app": 7}}`,
		"labels of the wrong type":          `"metadata": {"name": "cart", "labels": ["app"]}`,
		"annotation key":                    `"metadata": {"name": "cart", "annotations": {"": "x"}}`,
		"annotation of the wrong type":      `"metadata": {"name": "cart", "annotations": {"a": true}}`,
		"long annotations":                  `"metadata": {"name": "cart", "annotations": {"a": "` + strings.Repeat("a", 256<<10) + `"}}`,
		"finalizer":                         `"metadata": {"name": "cart", "finalizers": ["a b"]}`,
		"owner":                             `"metadata": {"name": "cart", "ownerReferences": [{"name": "x"}]}`,
		"creationTimestamp":                 `"metadata": {"name": "cart", "creationTimestamp": "yesterday"}`,
		"unknown field of metadata":         `"metadata": {"name": "cart", "color": "red", "ownerReferences": [{"color": "red"}]}`,
		"second name":                       `"metadata": {"name": "cart", "name": "cart"}`,
		"unknown field beside spec":         `"metadata": {"name": "cart"}, "color": "red"`,
		"unknown field of status":           `"metadata": {"name": "cart"}, "status": {"color": "red"}`,
		"fault in status, which is dropped": `"metadata": {"name": "cart"}, "status": {"parents": 7}`,
		"label, and unknown field":          `"metadata": {"name": "cart", "labels": {"app": "a b"}}, "color": "red"`,
		"label, and schema":                 `"metadata": {"name": "cart", "labels": {"app": "a b"}}, "spec": {"hostnames": ["A"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			object := []byte(`{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", ` + fields + `}`)
			said := defined(t, set, &definitions.Write{Object: object, Namespace: "default"})
			compare(t, name, object, api.dryRun(t, http.MethodPost, object), said)
		})
	}
}
