package kube

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

// FuzzDecode: whatever is stored under a name can be kept or counts as absent, and
// then it can be taken away again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"namespace":"shop","name":"web","labels":{"a":"b","gammaguard.dev/consumer-routes":"deny"}},"spec":{"type":"ClusterIP","clusterIP":"None","ports":[{"port":80}]}}`,
		`{"metadata":{"namespace":"shop","name":"web","labels":{"kubernetes.io/service-name":"cart"}},"endpoints":[{"addresses":["10.0.0.1"]},null]}`,
		`{"metadata":{"namespace":"shop","name":"web"},"spec":{"from":[{"group":"g","kind":"k","namespace":"n"}],"to":[{"group":"","kind":"Service"}]}}`,
		`{"metadata":{"namespace":"shop","name":"web"},"status":{"parents":[{"controllerName":"us","parentRef":{"name":"x"},"conditions":[{"lastTransitionTime":"2020-01-01t00:00:00z"}]}]}}`,
		`{"metadata":{"namespace":"shop","name":"web"},"status":{"parents":[{"controllerName":"us","conditions":{}},null]},"spec":{"parentRefs":[{"kind":"Service","group":"","name":"cart"}]}}`,
		`{"metadata":{"name":"a","name":"b"},"spec":7}`, `{"metadata":null}`, `{"metadata":{"uid":"\u0000\ud800"}}`,
		routeJSON("shop", "web", "cart"),
	} {
		f.Add([]byte(seed))
	}
	cache := newCache(f, Options{ControllerName: "us"})
	f.Fuzz(func(t *testing.T, text []byte) {
		named, err := unreduced(text)
		sound := err == nil && jsontext.Value(text).Kind() == '{'
		for r, table := range cache.tables {
			i, err := cache.decode(r, text)
			if err != nil {
				if sound {
					t.Errorf("%s: %v", r, err)
				}
				continue
			}
			if i.key() != named.key() {
				t.Errorf("%s: %q is taken for %q", r, named.key(), i.key())
			}
			table.put(i.key(), i.value, false)
			if value, _ := table.Get(i.key()); (value == nil) != (i.value == nil) {
				t.Errorf("%s: holds %v, not %v", r, value, i.value)
			}
			if route, ok := i.value.(*Route); ok {
				for _, key := range route.Services() {
					if routes, err := mesh.AttachedRoutes(cache, key, ""); len(routes) != 1 || err != nil {
						t.Errorf("%d routes on %s, %v", len(routes), key, err)
					}
					if parents := cache.ParentsInNamespace(key.Namespace); len(parents) == 0 {
						t.Errorf("no parents in %q", key.Namespace)
					}
				}
			}
			table.empty()
			if keys := table.ListKeys(); len(keys) > 0 {
				t.Errorf("%s: still holds %q", r, keys)
			}
		}
		if _, err := mesh.FindNamespace(cache, named.Name); err == nil {
			t.Errorf("still a namespace %q", named.Name)
		}
	})
}

// TestOwnEntry: what cannot be read of an entry of ours makes it stale, and what
// others write is not looked at.
func TestOwnEntry(t *testing.T) {
	for text, want := range map[string]int{
		`null`: 0, `[]`: 0, `[{"type":"Accepted","status":"False","lastTransitionTime":"2020-01-01T00:00:00Z","observedGeneration":3}]`: 1,
		`[{"lastTransitionTime":"2020-01-01t00:00:00z"}]`: 0, `[{},{"observedGeneration":1.5}]`: 0, `"x"`: 0,
	} {
		entry := []byte(`{"controllerName":"us","parentRef":{"name":"x"},"conditions":` + text + `}`)
		got, err := OwnEntry(entry, "us", nil)
		if got == nil || len(got.Conditions) != want || got.ParentRef.Name != "x" || err != nil && want > 0 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got, err := OwnEntry(entry, "them", nil); got != nil || err != nil {
			t.Errorf("%s of others: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{}`, `null`, `7`, `{"controllerName":7}`} {
		if got, err := OwnEntry([]byte(text), "us", nil); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
