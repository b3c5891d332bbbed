package check

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/cli/source"
	"github.com/gammaguard/gammaguard/mesh"
)

// keyed reports whether labels and annotations of gammaguard have an effect on objects of the kind.
func keyed(d *source.Document) bool {
	switch d.Key.Kind {
	case mesh.NamespaceKind, mesh.ServiceKind:
		return d.Key.Group == ""
	case mesh.ServiceImportKind:
		return d.Key.Group == mesh.MulticlusterGroup
	}
	return d.IsRoute()
}

// noted returns what is probably a slip in the object, though nothing reads it: a kind or an apiVersion that is almost that of a
// route, or one of both that is missing, or a version of a ReferenceGrant that is not served, which a strict check must not pass over, and labels and annotations of gammaguard's domain that have no effect there, or a
// value that it does not know.
func noted(file string, d *source.Document) (notices []report.Notice) {
	note := func(field, text string, fails bool) {
		notices = append(notices, report.Notice{Path: filepath.ToSlash(file), Line: d.Line(field), Message: text, Fails: fails})
	}
	switch kind, lacks := d.MeantRoute(), d.Lacks(); {
	case lacks != "" && bytes.HasPrefix(d.JSON, []byte(`{"//`)): // the parser has sorted the names
		note("", "// begins no comment in YAML or JSON, but a name of a field, so "+lacks+" cannot be read, and the object is not checked; remove the comment", true)
	case lacks != "" && kind == "":
		is := "is"
		if strings.Contains(lacks, " ") {
			is = "are"
		}
		note("", lacks+" "+is+" missing, so the object is not checked; no API server takes it", true)
	case lacks != "":
		note("", fmt.Sprintf("apiVersion is missing, so the object is not checked; if a route is meant, write one of %s, such as %[1]s/v1", mesh.GatewayGroup), true)
	case kind == "":
		if meant := d.MeantOther(); meant != "" {
			note("kind", fmt.Sprintf("kind %s does not exist in v1, so the object is not read; if a %s is meant, write %[2]s", d.Key.Kind, meant), true)
		}
	case d.Key.Group != mesh.GatewayGroup:
		note("apiVersion", fmt.Sprintf("apiVersion %s has no kind %s, so the object is not checked; if a route is meant, write one of %s, such as %[3]s/v1",
			d.APIVersion(), d.Key.Kind, mesh.GatewayGroup), true)
	default:
		note("kind", fmt.Sprintf("kind %s does not exist, so the object is not checked; if a route is meant, write %s", d.Key.Kind, kind), true)
	}
	if field, wrong := d.RefusedGrant(); field != "" {
		note(field, fmt.Sprintf("%s: %s", d.Key, wrong), true)
	}
	if keyed(d) {
		for key := range mesh.IneffectiveKeys(d.Key.Kind, d.JSON) {
			note("metadata."+string(key.Field)+"["+key.Key+"]", fmt.Sprintf("%s: %s", d.Key, key), false)
		}
		if !d.IsRoute() {
			for value := range mesh.UnknownValues(d.Key.Kind, d.JSON) {
				text := fmt.Sprintf("%s: %s", d.Key, value.Sentence)
				if d.Key.Kind == mesh.NamespaceKind && value.Field == mesh.LabelKeys {
					text += "; where gammaguard is installed, the API server refuses it"
				}
				note("metadata."+string(value.Field)+"["+value.Key+"]", text, false)
			}
		}
	}
	return notices
}
