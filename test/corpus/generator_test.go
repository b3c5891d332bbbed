package corpus

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type props = apiextensionsv1.JSONSchemaProps

// generator makes routes of one kind and version at random, by their schema. The
// same seed makes the same routes.
type generator struct {
	apiVersion, kind string
	spec             *props
	rand             *rand.Rand
	patterns         map[string]*regexp.Regexp
	// share is how many of the optional fields are there, from 0 to 1.
	share float64
}

// newGenerator returns a generator of the definition's kind in one of its versions.
func newGenerator(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, seed uint64) *generator {
	spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
	return &generator{
		apiVersion: crd.Spec.Group + "/" + version.Name, kind: crd.Spec.Names.Kind, spec: &spec,
		rand: rand.New(rand.NewPCG(seed, uint64(len(crd.Name)))), patterns: map[string]*regexp.Regexp{}, share: 0.35,
	}
}

// with returns a route that its structural schema admits, with the field at the path
// in its spec. CEL rules may refuse it.
func (g *generator) with(path []string) map[string]any {
	return map[string]any{
		"apiVersion": g.apiVersion, "kind": g.kind,
		"metadata": map[string]any{"name": "generated", "namespace": "default"},
		"spec":     g.value(g.spec, path),
	}
}

// value returns a value of the schema, with the field at the path in it.
func (g *generator) value(s *props, path []string) any {
	if len(s.Enum) > 0 {
		var value any
		if err := json.Unmarshal(s.Enum[g.rand.IntN(len(s.Enum))].Raw, &value); err != nil {
			panic(err) // the API server has taken the definition
		}
		return value
	}
	switch s.Type {
	case "object":
		return g.object(s, path)
	case "array":
		return g.list(s, path)
	case "integer":
		return g.number(s)
	case "boolean":
		return g.rand.IntN(2) == 0
	}
	return g.text(s)
}

func (g *generator) object(s *props, path []string) any {
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		switch {
		case len(path) > 0 && path[0] == name:
			object[name] = g.value(&field, path[1:])
		case slices.Contains(s.Required, name), g.rand.Float64() < g.share:
			object[name] = g.value(&field, nil)
		}
	}
	return object
}

func (g *generator) list(s *props, path []string) any {
	const long = 3
	least, most := int64(0), int64(long)
	if s.MinItems != nil {
		least = *s.MinItems
	}
	if s.MaxItems != nil {
		most = min(most, *s.MaxItems)
	}
	if len(path) > 0 {
		least = max(least, 1)
	}
	list := make([]any, least+g.rand.Int64N(most-least+1))
	for i := range list {
		list[i] = g.value(s.Items.Schema, nil)
		if i > 0 && g.rand.IntN(3) == 0 {
			g.resemble(list[i], list[0])
		}
	}
	if len(path) > 0 {
		list[0] = g.value(s.Items.Schema, path[1:])
	}
	return list
}

// resemble gives the object most of what the other one has: some rules are about
// items that are nearly the same.
func (g *generator) resemble(item, other any) {
	to, is := item.(map[string]any)
	from, too := other.(map[string]any)
	if !is || !too {
		return
	}
	const most = 0.8
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if g.rand.Float64() < most {
			to[name] = from[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if _, has := from[name]; !has && g.rand.Float64() < most {
			delete(to, name)
		}
	}
}

func (g *generator) number(s *props) any {
	candidates := []int64{0, 1, 80, 301}
	if s.Minimum != nil {
		candidates = append(candidates, int64(*s.Minimum))
	}
	if s.Maximum != nil {
		candidates = append(candidates, int64(*s.Maximum))
	}
	candidates = slices.DeleteFunc(candidates, func(n int64) bool {
		return s.Minimum != nil && n < int64(*s.Minimum) || s.Maximum != nil && n > int64(*s.Maximum)
	})
	return candidates[g.rand.IntN(len(candidates))]
}

// texts are what strings are taken from: those that a schema admits, and of these
// some that rules refuse.
var texts = []string{
	"", "cart", "web", "Service", "Gateway", "gateway.networking.k8s.io", "example.com", "*.example.com", "10.0.0.1", "a.*.com", "*", "*.*.com",
	"/", "/a", "a", "/a//b", "/a/./b", "/a/../b", "/a/..", "/a/.", "/a%2Fb", "/a%2fb", "/a#b", "/ü", "0s", "1s", "500ms", "10s",
	"GET", "X-Header", "https://example.com", "https://*.example.com", "shop.Cart", ".9cart", "9cart",
}

func (g *generator) text(s *props) any {
	var fit []string
	for _, text := range texts {
		if g.fits(s, text) {
			fit = append(fit, text)
		}
	}
	// Longer ones, in lists in lists, would make a request that is too large.
	const long = 1024
	if longest := longest(s); longest != "" && len(longest) <= long && g.fits(s, longest) {
		fit = append(fit, longest)
	}
	return fit[g.rand.IntN(len(fit))]
}

// longest returns a string as long as the schema admits, or "" for no limit.
func longest(s *props) string {
	if s.MaxLength == nil {
		return ""
	}
	return strings.Repeat("a", int(*s.MaxLength))
}

func (g *generator) fits(s *props, text string) bool {
	if s.MinLength != nil && int64(len(text)) < *s.MinLength || s.MaxLength != nil && int64(len(text)) > *s.MaxLength {
		return false
	}
	if s.Pattern == "" {
		return true
	}
	if g.patterns[s.Pattern] == nil {
		g.patterns[s.Pattern] = regexp.MustCompile(s.Pattern)
	}
	return g.patterns[s.Pattern].MatchString(text)
}
