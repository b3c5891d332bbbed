package manifest_test

import (
	"testing"

	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
)

// TestObject: objects of other implementations are there or not; of kinds, a set knows
// only what was put into it.
func TestObject(t *testing.T) {
	const entry = "{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {namespace: shop, name: a}}"
	there := mesh.ObjectKey{Group: "networking.istio.io", Kind: "ServiceEntry", Namespace: "shop", Name: "a"}
	kind := mesh.ObjectKey{Group: there.Group, Kind: there.Kind}
	missing := there
	missing.Name = "b"
	serves := func(_, kind string) bool { return kind != "ServiceEntry" }
	other := mesh.ObjectKey{Group: "kuma.io", Kind: "MeshService"}
	for _, test := range []struct {
		name    string
		options manifest.Options
		key     mesh.ObjectKey
		want    error
	}{
		{"there", manifest.Options{}, there, nil},
		{"unknown", manifest.Options{}, missing, mesh.ErrUnknown},
		{"missing", manifest.Options{Complete: true}, missing, mesh.ErrNotFound},
		{"a kind", manifest.Options{Complete: true}, kind, mesh.ErrUnknown},
		{"a kind that is not served", manifest.Options{Serves: serves}, kind, mesh.ErrNotServed},
		{"a kind that is served", manifest.Options{Serves: serves}, other, nil},
	} {
		if got := mesh.FindObject(set(t, test.options, entry), test.key); got != test.want { //nolint:errorlint // the very values
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
