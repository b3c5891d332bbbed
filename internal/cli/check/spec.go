package check

import (
	stdjson "encoding/json"
	"fmt"

	"sigs.k8s.io/json"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// stored returns a route with the mutations, and as the API server stores it, with the
// defaults of its definition.
func (l *loader) stored(object *manifest.Object, changes []mutate.Change) (patched, text []byte, _ *mesh.Route, _ error) {
	patched, err := mutate.Apply(object.JSON, changes)
	if err != nil {
		return nil, nil, nil, err
	}
	var fields map[string]any
	if err := json.UnmarshalCaseSensitivePreserveInts(patched, &fields); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", object.Origin, err)
	}
	if err := l.defined.Default(fields); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", object.Origin, err)
	}
	if text, err = stdjson.Marshal(fields); err != nil {
		return nil, nil, nil, err
	}
	decoded, err := mesh.DecodeRoute(text)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", object.Origin, err)
	}
	route := *object.Route // whose metadata are complete
	route.Spec = decoded.Spec
	return patched, text, &route, nil
}
