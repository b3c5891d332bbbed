package corpus

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/bed"
)

// compareGenerated compares the answers to 1,000 mesh routes of all kinds and versions,
// two thirds of them with one or two faults, and some with parents that gammaguard
// refuses. Each fault of each field is in TestGenerated.
func compareGenerated(t *testing.T, o *oracle) {
	const routes, most, notServed = 1000, 5, 20
	random := rand.New(rand.NewPCG(newSeed(t), 2))
	served, others := generators(t, random)
	for i := range routes {
		from := served
		if random.IntN(notServed) == 0 {
			from = others
		}
		g := from[random.IntN(len(from))]
		faults := g.faults()
		var planted []fault
		for range random.IntN(3) {
			planted = append(planted, faults[random.IntN(len(faults))])
		}
		object := g.plantInMesh(random, planted...)
		o.compare(t, fmt.Sprintf("%s %s %d: %v", g.kind, g.apiVersion, i, planted), object, object)
	}
	o.budget(t, most)
}

// generators returns a generator for each version of each kind.
func generators(t *testing.T, random *rand.Rand) (served, others []*generator) {
	t.Helper()
	crds, err := bed.CustomResourceDefinitions(t.Context(), standard.options)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		for i := range crd.Spec.Versions {
			if !mesh.IsRouteKind(crd.Spec.Names.Kind) {
				continue
			}
			version := &crd.Spec.Versions[i]
			g := newGenerator(crd, version, random.Uint64())
			g.share = 0.05 // each field more is one more that a rule may refuse
			if version.Served {
				served = append(served, g)
			} else {
				others = append(others, g)
			}
		}
	}
	return served, others
}

// parents are the parentRefs of generated mesh routes in the namespace default.
var parents = []map[string]any{
	{"group": "", "kind": "Service", "name": "cart", "port": int64(80)},
	{"group": "", "kind": "Service", "name": "cart"},
	{"group": "", "kind": "Service", "name": "web", "sectionName": "http"},
	{"kind": "Service", "name": "web"},
	{"group": "core", "kind": "service", "name": "web", "port": int64(80)},
	{"group": "", "kind": "Service", "name": "front", "namespace": "store", "port": int64(80)},
	{"group": "", "kind": "Service", "name": "vault", "namespace": "private"},
	{"group": "", "kind": "Service", "name": "names", "port": int64(53)},
	{"group": "", "kind": "Service", "name": "headless"},
	{"group": "", "kind": "Service", "name": "external", "port": int64(80)},
	{"group": "", "kind": "Service", "name": "gone"},
	{"group": "", "kind": "Service", "name": "cart", "port": int64(82)},
	{"group": "kuma.io", "kind": "MeshService", "name": "cart"},
}

// plantInMesh returns a route, in JSON, with mesh parents before what else it has of
// them, and the faults planted then.
func (g *generator) plantInMesh(random *rand.Rand, faults ...fault) []byte {
	var path []string
	if len(faults) > 0 {
		path = faults[0].Path
	}
	route := g.with(path)
	spec := route["spec"].(map[string]any) //nolint:forcetypeassert // it is made so
	var refs []any
	for range 1 + random.IntN(2) {
		ref := map[string]any{}
		for name, value := range parents[random.IntN(len(parents))] {
			ref[name] = value
		}
		refs = append(refs, ref)
	}
	if own, is := spec["parentRefs"].([]any); is && len(own) > 0 && random.IntN(4) == 0 {
		refs = append(refs, own[0])
	}
	if len(path) > 2 && path[0] == "parentRefs" {
		own := spec["parentRefs"].([]any)[0].(map[string]any) //nolint:forcetypeassert // the path is there
		refs[0].(map[string]any)[path[2]] = own[path[2]]      //nolint:forcetypeassert // as above
	}
	spec["parentRefs"] = refs
	if len(path) == 0 || path[0] != "rules" {
		givePorts(spec["rules"], random)
	}
	return encode(withFaults(route, faults))
}

// givePorts gives most backends of the rules a port, without which a Service is refused.
func givePorts(rules any, random *rand.Rand) {
	list, _ := rules.([]any)
	for _, rule := range list {
		backends, _ := rule.(map[string]any)["backendRefs"].([]any) //nolint:forcetypeassert // a rule is an object
		for _, backend := range backends {
			if random.IntN(8) > 0 {
				backend.(map[string]any)["port"] = int64(80) //nolint:forcetypeassert // as above
			}
		}
	}
}
