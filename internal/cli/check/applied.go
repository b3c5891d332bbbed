package check

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// lastApplied is the annotation in which kubectl apply keeps what it applied last.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// metadata are the labels and annotations of an object; nil for what cannot be read.
type metadata struct {
	Metadata struct {
		Labels      map[string]json.RawMessage `json:"labels"`
		Annotations map[string]json.RawMessage `json:"annotations"`
	} `json:"metadata"`
}

// applied returns the object of the input, in JSON, as kubectl apply stores it in the place of the stored one: with those
// stored labels and annotations that it does not set and that kubectl did not apply before.
func applied(object, stored []byte) ([]byte, error) {
	var is, was, last metadata
	var whole, meta map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(object, &is), json.Unmarshal(object, &whole), json.Unmarshal(stored, &was)); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole["metadata"], &meta); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(was.Metadata.Annotations[lastApplied], &text) == nil {
		_ = json.Unmarshal([]byte(text), &last) // anybody can write it
	}
	for field, of := range map[string][3]map[string]json.RawMessage{
		"labels":      {was.Metadata.Labels, last.Metadata.Labels, is.Metadata.Labels},
		"annotations": {was.Metadata.Annotations, last.Metadata.Annotations, is.Metadata.Annotations},
	} {
		kept := maps.Clone(of[0])
		maps.DeleteFunc(kept, func(key string, _ json.RawMessage) bool { _, before := of[1][key]; return before || key == lastApplied })
		if len(kept) == 0 {
			continue
		}
		maps.Copy(kept, of[2])
		text, err := json.Marshal(kept)
		if err != nil {
			return nil, err
		}
		meta[field] = text
	}
	var err error
	if whole["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// apply makes the objects of the input that the cluster stores what they are once they are applied. The routes are those
// that are stored.
func (l *loader) apply(ctx context.Context, routes []*manifest.Object) error {
	if l.options.Cluster == nil {
		return nil
	}
	stored := map[manifest.Key][]byte{}
	for _, route := range routes {
		stored[route.Key] = route.JSON
	}
	for _, f := range l.files {
		for i := range f.Documents {
			d := &f.Documents[i]
			switch (manifest.Key{Group: d.Key.Group, Kind: d.Key.Kind}) {
			case manifest.Key{Kind: "Namespace"}, manifest.Key{Kind: mesh.ServiceKind}, manifest.Key{Group: mesh.MulticlusterGroup, Kind: mesh.ServiceImportKind}:
				object, err := l.options.Cluster.Object(ctx, d.Key)
				switch {
				case errors.Is(err, mesh.ErrNotFound), errors.Is(err, mesh.ErrUnknown):
					continue
				case err != nil:
					return err
				}
				stored[d.Key] = object
			}
			if stored[d.Key] != nil {
				replace(d, stored[d.Key])
			}
		}
	}
	return nil
}

// replace makes the document what it is once it is applied. One that cannot be read stays as it is, and is reported.
func replace(d *source.Document, stored []byte) {
	text, err := applied(d.JSON, stored)
	if err != nil {
		return
	}
	object := *d.Object // its text may be that of others
	object.JSON, d.Object = text, &object
}
