package verify_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gammaguard/gammaguard/internal/cli/proxies"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/verify"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/test/worlds"
	"github.com/gammaguard/gammaguard/traffic"
)

var (
	seed   = flag.Uint64("seed", 1, "the first world's `seed`")
	number = flag.Int("worlds", 60, "how many worlds are made for each format")
)

// format is one of the formats, and how a world is rendered in it.
type format struct {
	name   proxies.Format
	mesh   mesh.ProfileName
	render func(w *worlds.World, from string, port int32) any
}

var formats = []format{
	{proxies.ConfigDump, mesh.Istio, func(w *worlds.World, from string, _ int32) any { return renderDump(w, from) }},
	{proxies.IstioRoutes, mesh.Istio, func(w *worlds.World, from string, _ int32) any { return renderIstio(w, from) }},
	{proxies.CiliumConfigs, mesh.Cilium, func(w *worlds.World, _ string, _ int32) any { return renderCilium(w) }},
	{proxies.KumaRoutes, mesh.Kuma, func(w *worlds.World, _ string, _ int32) any { return renderKuma(w) }},
	{proxies.LinkerdPolicy, mesh.Linkerd, renderLinkerd},
}

func (f *format) world(seed uint64) *worlds.World {
	w := worlds.Random(seed, worlds.Options{Profile: mesh.FindProfile(f.mesh)})
	tame(w, f.mesh)
	return w
}

// given renders what proxies are given in a world, for clients in a namespace and a port that follow from the seed.
func (f *format) given(t *testing.T, w *worlds.World) (_ *proxies.Given, from string) {
	t.Helper()
	from = []string{worlds.Namespace, worlds.Clients}[w.Seed/2%2]
	given, err := proxies.Read("given", []byte(jsonOf(f.render(w, from, worlds.Ports[w.Seed%2]))))
	if err != nil {
		t.Fatal(err)
	}
	if given.Format != f.name || given.Mesh != f.mesh {
		t.Fatalf("got %s of %s, want %s", given.Format, given.Mesh, f.name)
	}
	if f.name == proxies.ConfigDump && given.Client != from {
		t.Fatalf("the proxy is in %q, want %s", given.Client, from)
	}
	if given.Everywhere {
		from = ""
	}
	return given, from
}

// compare compares what proxies are given with the routes of a world.
func (f *format) compare(t *testing.T, w *worlds.World, given *proxies.Given, from string) *report.Verification {
	t.Helper()
	table, err := w.Table()
	if err != nil {
		t.Fatal(err)
	}
	got, err := verify.Compare(t.Context(), &verify.Options{Given: given, Table: table, Reader: readerOf(t, w), Profile: mesh.FindProfile(f.mesh), From: from})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func readerOf(t *testing.T, w *worlds.World) mesh.Reader {
	t.Helper()
	set := manifest.NewSet(manifest.Options{Complete: true})
	objects, errs := manifest.Read("world", []byte(w.YAML()), worlds.Namespace)
	for _, err := range errs {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := set.Put(object); err != nil {
			t.Fatal(err)
		}
	}
	return set
}

// TestAgree: there is no difference where there is none.
func TestAgree(t *testing.T) {
	for _, f := range formats {
		t.Run(string(f.name), func(t *testing.T) {
			requests := 0
			for i := range *number {
				w := f.world(*seed + uint64(i))
				if len(w.HTTP) == 0 {
					continue
				}
				given, from := f.given(t, w)
				got := f.compare(t, w, given, from)
				requests += got.Summary.Requests
				if got.Summary.Differ > 0 {
					var text strings.Builder
					if err := got.Text(&text, false); err != nil {
						t.Fatal(err)
					}
					t.Fatalf("seed %d:\n%s%s", w.Seed, &text, w)
				}
			}
			if requests < 20**number {
				t.Errorf("only %d requests were compared", requests)
			}
		})
	}
}

// plant changes a world, so that what is rendered of it is not what the routes say.
func plant(w *worlds.World, r *rand.Rand) string {
	route := w.HTTP[r.IntN(len(w.HTTP))]
	at := r.IntN(len(route.Spec.Rules))
	rule := &route.Spec.Rules[at]
	match := &rule.Matches[r.IntN(len(rule.Matches))]
	switch kind := r.IntN(8); {
	case kind == 0:
		route.Spec.Rules = slices.Delete(route.Spec.Rules, at, at+1)
		return "a rule is gone"
	case kind == 1 && len(rule.BackendRefs) > 0:
		ref := &rule.BackendRefs[r.IntN(len(rule.BackendRefs))]
		ref.Name, ref.Namespace = worlds.Service+"-elsewhere", nil
		return "another backend"
	case kind == 2 && len(rule.BackendRefs) > 1:
		weight := *rule.BackendRefs[0].Weight + 7
		rule.BackendRefs[0].Weight = &weight
		return "another weight"
	case kind == 3 && len(match.Headers) > 0:
		match.Headers[0].Value = "other"
		return "another header"
	case kind == 4:
		path := *match.Path.Value + "/other"
		match.Path.Value = &path
		return "another path"
	case kind == 5:
		method := gatewayv1.HTTPMethodDelete
		match.Method = &method
		return "another method"
	case kind == 6:
		match.Headers, match.QueryParams, match.Method = nil, nil, nil
		return "fewer conditions"
	}
	rule.Filters = append(rule.Filters, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{
		Set: []gatewayv1.HTTPHeader{{Name: "planted", Value: theSecret}},
	}})
	return "another filter"
}

// TestPlanted: a difference is found wherever random requests meet it.
func TestPlanted(t *testing.T) {
	for _, f := range formats {
		t.Run(string(f.name), func(t *testing.T) {
			found := map[string]int{}
			for i := range *number {
				seed := *seed + uint64(i)
				w, changed := f.world(seed), f.world(seed)
				if len(w.HTTP) == 0 {
					continue
				}
				r := rand.New(rand.NewPCG(seed, 3))
				kind := plant(changed, r)
				changed.HTTP = slices.DeleteFunc(changed.HTTP, func(route *gatewayv1.HTTPRoute) bool { return len(route.Spec.Rules) == 0 })
				before, from := f.given(t, w)
				if len(changed.HTTP) == 0 {
					continue // some formats then have nothing
				}
				after, _ := f.given(t, changed)
				witness := f.differ(t, w, before, after, from)
				if witness == "" {
					continue // it cannot be seen
				}
				got := f.compare(t, w, after, from)
				if got.Summary.Differ == 0 {
					t.Fatalf("seed %d: %s is not found; %s meets it\n%s\nnot\n%s", seed, kind, witness, changed, w)
				}
				if text := jsonOf(got); strings.Contains(text, theSecret) {
					t.Fatalf("seed %d: a secret is printed: %s", seed, text)
				}
				found[kind]++
			}
			if len(found) < 5 {
				t.Errorf("only these were planted: %v", found)
			}
			t.Log(found)
		})
	}
}

// differ returns a random request that meets something else, and "" if there is none.
func (f *format) differ(t *testing.T, w *worlds.World, before, after *proxies.Given, from string) string {
	t.Helper()
	world := proxies.World{Reader: readerOf(t, w), Profile: mesh.FindProfile(f.mesh)}
	service, err := mesh.FindService(world.Reader, worlds.Key)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]*proxies.Port{}
	answer := func(name string, given *proxies.Given, r *traffic.Request) string {
		key := fmt.Sprint(name, r.Port, r.From)
		at, known := ports[key]
		if !known {
			port := service.Ports[slices.Index(worlds.Ports, r.Port)]
			var err error
			if at, err = given.At(world, service, port, r.From); err != nil {
				t.Fatal(err)
			}
			if at == nil && given.Everywhere {
				at = proxies.Direct(service, port)
			}
			ports[key] = at
		}
		if at == nil {
			return ""
		}
		out, err := at.Answer(r)
		if err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, r := range w.Requests(1000) {
		if (from == "" || r.From == from) && answer("before", before, &r) != answer("after", after, &r) {
			return r.String()
		}
	}
	return ""
}
