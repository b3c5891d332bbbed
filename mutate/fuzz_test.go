package mutate_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// seeds are routes that every mutation has something to say about.
var seeds = []string{
	newer,
	`
kind: HTTPRoute
metadata: {namespace: shop, name: foo-route}
spec:
  parentRefs: [{kind: Service, name: one}]
  rules: [{backendRefs: [{kind: Service, name: one, weight: 90}, {kind: Service, name: unnamed, weight: 10}]}]`,
	`
kind: GRPCRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{kind: Service, group: core/v1, name: two, port: 80}, {kind: Service, group: v1, name: two, port: 90}]
  rules: [{filters: [{requestMirror: {backendRef: {name: two, group: core}}}], backendRefs: [{name: one}, {name: two}, {name: dns}]}]`,
	`
kind: TCPRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs:
  - {kind: ServiceImport, name: two, port: 80}
  - {kind: ServiceImport, group: gateway.networking.k8s.io, name: two, sectionName: grpc}
  - {kind: ServiceEntry, group: networking.istio.io/v1beta1, name: one}
  - {group: "", kind: Service, name: mixed, sectionName: dns}
  rules: [{backendRefs: [{name: mixed}, {name: one, namespace: bar}]}]`,
	`
kind: UDPRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{group: "", kind: Service, name: dns, port: 53}, {group: "", kind: Service, name: dns, port: 53}, null]
  rules: [null, {backendRefs: [null, {name: dns}, {name: udp}, {name: ""}]}]`,
	`
kind: TLSRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{group: null, kind: Service, namespace: bar, name: two, sectionName: grpc, port: null}, {name: gateway}]
  rules: [{filters: [{requestMirror: {}}, null], backendRefs: [{name: two, namespace: bar, port: 0}]}]`,
}

// FuzzChanges holds the mutations to what they promise, whatever the object.
func FuzzChanges(f *testing.F) {
	for _, seed := range seeds {
		raw, err := yaml.YAMLToJSON([]byte(seed))
		if err != nil {
			f.Fatal(err)
		}
		for off := range byte(1 << len(mutate.Names())) {
			f.Add(raw, off, off%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, off byte, mayRead bool) {
		raw := canonical(input)
		if _, err := mesh.DecodeRoute(raw); err != nil {
			t.Skip("not a route")
		}
		checkPromises(t, raw, off, mayRead)
	})
}

// FuzzRoutes does the same for routes that are put together from the values that
// mutations look at, which random bytes seldom hit.
func FuzzRoutes(f *testing.F) {
	for i := range 200 {
		choices := make([]byte, 120)
		for j := range choices {
			choices[j] = byte((i + 1) * (j + 3) * (j + i + 7) >> 3)
		}
		f.Add(choices, byte(i%16), i%3 > 0)
	}
	f.Fuzz(func(t *testing.T, choices []byte, off byte, mayRead bool) {
		raw, err := json.Marshal((*chooser)(&choices).route())
		if err != nil {
			t.Fatal(err)
		}
		checkPromises(t, raw, off, mayRead)
	})
}

// checkPromises checks that one pass reaches the end, that the patch does to the
// object what Mutated does to the decoded route, and that nothing but the named
// members is touched.
func checkPromises(t *testing.T, raw []byte, off byte, mayRead bool) {
	t.Helper()
	route, err := mesh.DecodeRoute(raw)
	if err != nil {
		t.Fatal(err)
	}
	opts := mutate.Options{Off: map[string]bool{}, MayRead: func(string) bool { return mayRead }}
	for i, name := range mutate.Names() {
		opts.Off[name] = off>>i&1 == 1
	}
	w := &world{services: services()}

	changes := mutate.Changes(route, w, opts)
	after, err := mutate.Apply(raw, changes)
	if err != nil {
		t.Fatalf("%v: changes %+v", err, changes)
	}
	checkOnlyNamed(t, raw, after, changes)
	mutated, err := mesh.DecodeRoute(after)
	if err != nil {
		t.Fatalf("the mutated route cannot be decoded: %v\n%s", err, after)
	}
	if diff := cmp.Diff(mutated, mutate.Mutated(route, changes)); diff != "" {
		t.Errorf("the patched object and the mutated route differ (-patched +mutated):\n%s", diff)
	}
	if again := mutate.Changes(mutated, w, opts); len(again) > 0 {
		t.Errorf("a second pass changes more: %+v\nafter %+v\nin %s", again, changes, raw)
	}
	if !mayRead && len(w.read) > 0 {
		t.Errorf("%v are read without the grant", w.read)
	}
}

// canonical writes each member of an object once, as the API server does before it
// calls anyone; what is no JSON becomes nothing. Numbers stay as they are written.
func canonical(input []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}
