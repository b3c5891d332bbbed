package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/grants"
	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/mesh"
)

// domain is that of the labels and annotations that gammaguard reads.
const domain = "gammaguard.dev/"

// keys are the labels and annotations of a kind of objects that have an effect.
type keys struct{ labels, annotations []string }

var (
	consumerAnnotations = []string{mesh.ConsumerRoutesFromAnnotation, mesh.ConsumerRouteKindsAnnotation}
	ofNamespaces        = keys{
		[]string{mesh.GrantLabel, mesh.ModeLabel, mesh.ConsumerRoutesLabel},
		append([]string{mesh.GrantRouteKindsAnnotation}, consumerAnnotations...),
	}
	ofServices = keys{[]string{mesh.ConsumerRoutesLabel}, consumerAnnotations}
	ofRoutes   = keys{nil, []string{mesh.IgnoreAnnotation}}
	// others are read by others than the rules.
	others = []string{domain + "scrape", grants.RequestAnnotation}
)

// keysOf returns the keys of the object's kind; false for a kind that has none.
func keysOf(d *source.Document) (keys, bool) {
	switch {
	case d.IsRoute():
		return ofRoutes, true
	case d.Key.Group == "" && d.Key.Kind == "Namespace":
		return ofNamespaces, true
	case d.Key.Kind == mesh.ServiceKind && d.Key.Group == "", d.Key.Kind == mesh.ServiceImportKind && d.Key.Group == mesh.MulticlusterGroup:
		return ofServices, true
	}
	return keys{}, false
}

// noted returns what is probably a slip in the object, though nothing reads it: a kind that differs from that of a route by case
// alone, and labels and annotations of gammaguard's domain that have no effect there.
func noted(file string, d *source.Document) (notices []report.Notice) {
	note := func(field, text string) {
		notices = append(notices, report.Notice{Path: filepath.ToSlash(file), Line: d.Line(field), Message: text})
	}
	if d.Key.Group == mesh.GatewayGroup && !d.IsRoute() {
		for _, kind := range mesh.RouteKinds() {
			if strings.EqualFold(d.Key.Kind, string(kind)) {
				note("kind", fmt.Sprintf("kind %s does not exist, so the object is not checked; if a route is meant, write %s", d.Key.Kind, kind))
			}
		}
	}
	known, ok := keysOf(d)
	if !ok || !bytes.Contains(d.JSON, []byte(domain)) {
		return notices
	}
	var object struct {
		Metadata struct {
			Labels      map[string]any `json:"labels"`
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(d.JSON, &object) != nil {
		return notices // that is reported elsewhere
	}
	effective := append(described("label", known.labels), described("annotation", known.annotations)...)
	for _, of := range []struct {
		what, field string
		given       map[string]any
		known       []string
	}{
		{"label", "metadata.labels", object.Metadata.Labels, known.labels},
		{"annotation", "metadata.annotations", object.Metadata.Annotations, known.annotations},
	} {
		for _, key := range slices.Sorted(maps.Keys(of.given)) {
			if strings.HasPrefix(key, domain) && !slices.Contains(of.known, key) && !slices.Contains(others, key) {
				note(of.field+"["+key+"]", fmt.Sprintf("%s: the %s %s has no effect here; these have: %s", d.Key, of.what, key, strings.Join(effective, ", ")))
			}
		}
	}
	return notices
}

// described returns the keys, each with what it is.
func described(what string, keys []string) (all []string) {
	for _, key := range keys {
		all = append(all, what+" "+strings.TrimPrefix(key, domain))
	}
	return all
}
