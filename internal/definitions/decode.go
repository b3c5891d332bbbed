package definitions

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/mesh"
)

// parse reads a JSON object, and reports duplicate fields. It returns no object if
// it cannot be read.
func parse(data []byte) (object map[string]any, problems []Finding) {
	strict, err := json.UnmarshalStrict(data, &object)
	if err == nil && object == nil {
		err = errors.New("not an object")
	}
	if err != nil {
		return nil, []Finding{{ID: Schema, Message: err.Error()}}
	}
	for _, err := range strict {
		problem := Finding{ID: Schema, Message: err.Error()}
		var at json.FieldError
		if errors.As(err, &at) {
			problem.Field = at.FieldPath()
		}
		problems = append(problems, problem)
	}
	return object, problems
}

// coerce makes of the object what the API server decodes: fields that the
// definition does not know are removed and reported, and defaults are filled in.
// Metadata of a wrong type are malformed: there is nothing to go on with.
func (v *version) coerce(object map[string]any) (unknown []Finding, malformed *Finding) {
	metadata, found, paths, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, malformedMetadata(err)
	}
	paths = append(paths, pruning.PruneWithOptions(object, v.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, v.structural)
	invalid, embedded := objectmeta.CoerceWithOptions(nil, object, v.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true})
	if invalid != nil {
		return nil, &Finding{ID: Schema, Field: invalid.Field, Message: invalid.ErrorBody()}
	}
	for _, path := range append(paths, embedded...) {
		list, field := v.meant(path)
		unknown = append(unknown, Finding{ID: Schema, Field: path, Message: fmt.Sprintf("unknown field %q", path), Meant: field, List: list})
	}
	if found {
		if err := objectmeta.SetObjectMeta(object, metadata); err != nil {
			return nil, malformedMetadata(err)
		}
	}
	defaulting.Default(object, v.structural)
	return unknown, nil
}

// metadataFields are those that people write; definitions have none.
var metadataFields = []string{"annotations", "finalizers", "generateName", "labels", "name", "namespace", "ownerReferences"}

// meant returns what is probably meant by the unknown field at the path: the field of that object that is nearest, or, if it is in what must be a
// list, the path of that.
func (v *version) meant(path string) (list, field string) {
	parts := strings.Split(path, ".")
	last := parts[len(parts)-1]
	if len(parts) == 2 && parts[0] == "metadata" {
		return "", mesh.Nearest(last, metadataFields)
	}
	in := v.structural
	for i, part := range parts[:len(parts)-1] {
		name, _, isEntry := strings.Cut(part, "[")
		next, known := in.Properties[name]
		switch {
		case !known:
			return "", ""
		case isEntry && next.Items != nil:
			next = *next.Items
		case next.Items != nil:
			return strings.Join(parts[:i+1], "."), ""
		}
		in = &next
	}
	return "", mesh.Nearest(last, slices.Sorted(maps.Keys(in.Properties)))
}

func malformedMetadata(err error) *Finding {
	path := "metadata"
	var mismatch *stdjson.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		path += "." + mismatch.Field
	}
	return &Finding{ID: Schema, Field: path, Message: err.Error()}
}
