package sets

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/gammaguard/gammaguard/internal/cli/build"
	"github.com/gammaguard/gammaguard/internal/cli/rollout"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/internal/manifest"
	"github.com/gammaguard/gammaguard/internal/yaml"
	"github.com/gammaguard/gammaguard/mesh"
)

// looksLikeManifest reports whether the text has the fields of an object's kind and version,
// in YAML or JSON.
func looksLikeManifest(data []byte) bool {
	return hasField(data, "apiVersion") && hasField(data, "kind")
}

// isText reports whether a file that a PATH names is none of manifests, whatever it quotes: by its ending, and by what it is.
func isText(path string, data []byte) bool {
	switch {
	case source.IsManifest(path):
		return false
	case filepath.Ext(path) == ".md":
		return true
	case bytes.Contains(data, []byte("{{")): // a template
		return false
	}
	_, errs := manifest.ReadUndecoded(path, data, "")
	return len(errs) > 0
}

// mayLack reports whether the text has metadata, and may have an object without kind or apiVersion that bears on routes: it has one of the two
// fields, but not the other, or parentRefs, also of a route without either beside whole objects.
func mayLack(data []byte) bool {
	return hasField(data, "metadata") && (hasField(data, "parentRefs") || hasField(data, "apiVersion") != hasField(data, "kind"))
}

// hasField reports whether the name is followed by a colon somewhere in the text.
func hasField(data []byte, name string) bool {
	for found := true; found; {
		if _, data, found = bytes.Cut(data, []byte(name)); found && bytes.HasPrefix(bytes.TrimLeft(data, "\"' \t"), []byte(":")) {
			return true
		}
	}
	return false
}

// mayName reports whether the text may name the Gateway API's group: as it is, by an escape of YAML or JSON, or as
// a value in base64.
func mayName(data []byte) bool {
	return bytes.Contains(data, []byte(mesh.GatewayGroup)) || escapes(data)
}

// escapes reports whether a string in the text may stand for another one: \x2e, \u002e, a line break that is
// escaped, or !!binary, whose name may have escapes, too.
func escapes(data []byte) bool {
	for rest := data; ; rest = rest[2:] {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 == len(rest) {
			break
		}
		rest = rest[i:]
		if c := rest[1]; strings.IndexByte("xuU\r\n", c) >= 0 || c >= utf8.RuneSelf {
			return true
		}
	}
	return bytes.Contains(data, []byte("binary")) || bytes.IndexByte(data, '!') >= 0 && bytes.IndexByte(data, '%') >= 0
}

// kustomizeGroup is how the apiVersion of a kustomization begins.
const kustomizeGroup = "kustomize.config.k8s.io/"

// isMisnamed reports whether the text is that of a kustomization, where kustomize finds none: it reads no file of that name.
func isMisnamed(path string, data []byte) bool {
	folder := filepath.Dir(path)
	group := bytes.Contains(data, []byte(kustomizeGroup))
	stem := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	if build.KustomizationFile(folder) != folder || !group && mesh.Nearest(stem, []string{"kustomization", "kustomize"}) == "" {
		return false
	}
	var k struct {
		APIVersion, Kind             string
		Resources, Bases, Components []string
	}
	text, err := yaml.ToJSON(data)
	if err != nil || json.Unmarshal(text, &k) != nil {
		return false
	}
	switch k.Kind {
	case types.KustomizationKind, types.ComponentKind:
		return strings.HasPrefix(k.APIVersion, kustomizeGroup)
	}
	return k.Kind == "" && len(k.Resources)+len(k.Bases)+len(k.Components) > 0
}

// routesIn returns the routes that can be read in the file, Canaries with one among them, and whether it may hold routes: such ones, or others that
// cannot be read.
func routesIn(namespace, path string, data []byte) (h holder, may bool) {
	canary := hasCanary(data)
	named := canary || mayName(data)
	if !named && !hasRouteKind(data) && !mayLack(data) {
		return h, false
	}
	objects, errs := manifest.ReadUndecoded(path, data, cmp.Or(namespace, "default"))
	for _, object := range objects {
		h.misspelt = h.misspelt || object.MeantRoute() != "" || object.Lacks() != ""
		if rollout.HoldsRoute(object) {
			h.routes = append(h.routes, source.PlaceOf(object))
		}
	}
	h.path, h.unread = filepath.Clean(path), len(errs) > 0
	h.foreign = bytes.Contains(data, []byte("{{")) && !canary && (!hasVersion(data) || !hasRouteKind(data))
	return h, len(h.routes) > 0 || named && len(errs) > 0 && (looksLikeManifest(data) || escapes(data) && bytes.Contains(data, []byte("kind")))
}

// hasVersion reports whether the text has a version of the Gateway API: one with the group alone may be of rights, or of
// a policy.
func hasVersion(data []byte) bool { return bytes.Contains(data, []byte(mesh.GatewayGroup+"/")) }

// hasCanary reports whether the text has a Canary of Flagger of which Flagger makes a route.
func hasCanary(data []byte) bool {
	return bytes.Contains(data, []byte("flagger.app/")) && bytes.Contains(data, []byte("gatewayRefs"))
}

// hasRouteKind reports whether the text has a kind of routes.
func hasRouteKind(data []byte) bool {
	return slices.ContainsFunc(mesh.RouteKinds(), func(kind mesh.RouteKind) bool { return bytes.Contains(data, []byte(kind)) })
}
