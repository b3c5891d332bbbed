package runner

import (
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
)

// applied returns what kubectl apply makes of what is stored.
func applied(document *Document, old *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := document.object()
	if err != nil {
		return nil, err
	}
	if !document.ServerSide {
		annotate(object, lastApplied, string(document.JSON))
	}
	if old == nil {
		return object, nil
	}
	current, err := old.MarshalJSON()
	if err != nil {
		return nil, err
	}
	patch, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if !document.ServerSide { // fields that were applied before and are not any more go
		original := []byte(old.GetAnnotations()[lastApplied])
		if patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(original, patch, current); err != nil {
			return nil, err
		}
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, err
	}
	return decodeObject(merged)
}

// lastApplied is where kubectl apply keeps what it applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func annotate(object *unstructured.Unstructured, key, value string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	object.SetAnnotations(annotations)
}

// decodeObject reads an object from JSON.
func decodeObject(text []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(text, &object.Object)
}
