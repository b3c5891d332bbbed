package status

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gammaguard/gammaguard/internal/kube"
	"github.com/gammaguard/gammaguard/mesh"
)

// document is a route as the API server returned it, reduced to what a write
// needs. What is to be written back unchanged is kept as it came.
type document struct {
	Metadata kube.RouteMetadata `json:"metadata"`
	Spec     struct {
		ParentRefs []json.RawMessage `json:"parentRefs"`
		Rules      json.RawMessage   `json:"rules"`
	} `json:"spec"`
	Status struct {
		Parents []json.RawMessage `json:"parents"`
	} `json:"status"`

	// refs are spec.parentRefs decoded, own the entries of status.parents that are
	// ours, nil in the place of all others, and answered the parentRefs of the others.
	refs     []mesh.ParentRef
	own      []*kube.Entry
	answered mesh.ParentSet
}

// decodeDocument reads a route of any kind and version, as the controller of that
// name, and of these former ones, sees it. Of entries of other controllers, only the
// controllerName and the parentRef are read; an entry of ours that cannot be read is stale.
func decodeDocument(data []byte, controller string, former []string) (*document, error) {
	doc := new(document)
	if err := mesh.Decode(data, doc); err != nil {
		return nil, fmt.Errorf("read the route: %w", err)
	}
	doc.refs = make([]mesh.ParentRef, len(doc.Spec.ParentRefs))
	for i, raw := range doc.Spec.ParentRefs {
		if err := mesh.Decode(raw, &doc.refs[i]); err != nil {
			return nil, fmt.Errorf("read spec.parentRefs[%d]: %w", i, err)
		}
	}
	doc.own = make([]*kube.Entry, len(doc.Status.Parents))
	for i, raw := range doc.Status.Parents {
		doc.own[i], _ = kube.OwnEntry(raw, controller, former) // the cache reports what cannot be read
		if doc.own[i] == nil {
			doc.answered |= kube.Answers(raw, doc.refs)
		}
	}
	return doc, nil
}

// route returns the document as the core sees a route, under the profile of the mesh.
func (d *document) route(key kube.RouteKey, profile *mesh.Profile) *mesh.AttachedRoute {
	route := &mesh.AttachedRoute{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Generation: d.Metadata.Generation}
	full := mesh.Route{Kind: key.Kind}
	if mesh.Decode(d.Spec.Rules, &full.Spec.Rules) != nil {
		full.Spec.Rules = nil // rules that cannot be read have no backends, as in the cache
	}
	if profile != nil {
		route.Dropped = full.DroppedBy(profile)
	}
	return route.WithParents(d.refs, profile).WithBackends(&full, profile)
}

// patch returns the JSON merge patch that replaces status.parents, if the route
// is still the one that was read.
func (d *document) patch(parents []json.RawMessage) ([]byte, error) {
	return encode(map[string]any{
		"metadata": map[string]string{"resourceVersion": d.Metadata.ResourceVersion},
		"status":   map[string]any{"parents": parents},
	})
}

// encode writes JSON without touching the text of raw messages.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
