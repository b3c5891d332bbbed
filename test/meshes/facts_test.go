package meshes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// writeFact writes a row of the table of a mesh for each value that the fact has in some release.
func writeFact[T any](b *strings.Builder, what string, fact mesh.Fact[T], text func(T) string) {
	for _, f := range slices.Concat([]mesh.Fact[T]{fact}, fact.Others) {
		value := text(f.Value)
		if releases := bounds(f.Since, f.Until); releases != "" {
			value += " (" + releases + ")"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", what, value, f.Source)
	}
}

// injection reads "annotation linkerd.io/inject", or the labels.
func injection(i mesh.Injection) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(i.Labels)) {
		text := "label " + key
		if values := i.Labels[key]; len(values) > 0 {
			text += "=" + strings.Join(values, " or ")
		}
		texts = append(texts, "`"+text+"`")
	}
	if i.Annotation {
		texts = append(texts, "`annotation linkerd.io/inject=enabled or ingress`")
	}
	if len(texts) == 0 {
		return "all"
	}
	return strings.Join(texts, ", ")
}

// bounds reads "since 1.19", "before 2.15", or nothing.
func bounds(since, until string) string {
	var texts []string
	if since != "" {
		texts = append(texts, "since "+since)
	}
	if until != "" {
		texts = append(texts, "before "+until)
	}
	return strings.Join(texts, ", ")
}

// writeFields writes the table of what the mesh does with fields and filters.
func writeFields(b *strings.Builder, p *mesh.Profile) {
	b.WriteString("\n## Fields and filters\n\n| Field | Routes | Treatment | Releases | Use instead | Source |\n|---|---|---|---|---|---|\n")
	type row struct{ text, kinds []string }
	var fields []mesh.Field
	for _, kind := range p.RouteKinds.Value {
		for _, field := range mesh.FieldsOf(kind) {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	for _, field := range fields {
		var rows []row
		for _, kind := range p.RouteKinds.Value {
			if !slices.Contains(mesh.FieldsOf(kind), field) {
				continue
			}
			for _, f := range factsOn(p, kind, field) {
				text := []string{string(f.Value), bounds(f.Since, f.Until), f.Instead, f.Source}
				i := slices.IndexFunc(rows, func(r row) bool { return slices.Equal(r.text, text) })
				if i < 0 {
					i, rows = len(rows), append(rows, row{text: text})
				}
				rows[i].kinds = append(rows[i].kinds, string(kind))
			}
		}
		for _, r := range rows {
			fmt.Fprintf(b, "| %s | %s | %s |\n", field, strings.Join(r.kinds, ", "), strings.Join(r.text, " | "))
		}
	}
}

// factsOn returns the facts about the field, the best first, without those that a better one
// covers; one that is unknown if there is none.
func factsOn(p *mesh.Profile, kind mesh.RouteKind, field mesh.Field) []mesh.FieldFact {
	var facts []mesh.FieldFact
	for _, f := range p.Fields {
		if f.Field == field && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, kind)) {
			facts = append(facts, f)
		}
	}
	slices.SortStableFunc(facts, func(a, b mesh.FieldFact) int { return int(b.Evidence) - int(a.Evidence) })
	for i := range facts {
		if covered := facts[i].Since == "" && facts[i].Until == ""; covered {
			facts = facts[:i+1]
			break
		}
	}
	if len(facts) == 0 {
		facts = append(facts, p.Does(kind, field))
	}
	return facts
}
