package config

import (
	"reflect"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// Schema returns the JSON schema of the configuration file. It has the fields and the
// words that Load takes; what else must hold, only Load knows.
func Schema() map[string]any {
	schema := schemaOf(reflect.TypeFor[GuardConfiguration]())
	properties, _ := schema["properties"].(map[string]any)
	properties["apiVersion"] = map[string]any{"const": APIVersion}
	properties["kind"] = map[string]any{"const": Kind}
	schema["required"] = []string{"apiVersion", "kind"}
	return schema
}

// HasField reports whether the configuration file has the field.
func HasField(name string) bool {
	properties, _ := Schema()["properties"].(map[string]any)
	return properties[name] != nil
}

// words are the values of the types that have a few. In YAML 1.1, an unquoted off is the
// boolean false, and on is true.
var words = map[reflect.Type]any{
	reflect.TypeFor[mesh.Mode]():           mesh.Modes(),
	reflect.TypeFor[mesh.RouteKind]():      mesh.RouteKinds(),
	reflect.TypeFor[mesh.Grant]():          mesh.Grants(),
	reflect.TypeFor[mesh.ConsumerRoutes](): []mesh.ConsumerRoutes{mesh.ConsumersAllowed, mesh.ConsumersDenied},
	reflect.TypeFor[mesh.Role]():           []mesh.Role{mesh.Producer, mesh.Consumer},
	reflect.TypeFor[RuleAction]():          []any{validate.Deny, validate.Warn, validate.Audit, validate.Off, false},
	reflect.TypeFor[Switch]():              []any{On, Off, true, false},
}

// meshSchema is the schema of mesh: a name, which a version may follow.
func meshSchema() map[string]any {
	names := make([]string, 0, len(mesh.ProfileNames()))
	for _, name := range mesh.ProfileNames() {
		names = append(names, string(name))
	}
	return map[string]any{"anyOf": []any{
		map[string]any{"enum": append(mesh.ProfileNames(), "")},
		map[string]any{"type": "string", "pattern": "^(" + strings.Join(names, "|") + ")@" + mesh.ReleasePattern + "$"},
	}}
}

func schemaOf(of reflect.Type) map[string]any {
	if of == reflect.TypeFor[mesh.ProfileName]() {
		return meshSchema()
	}
	if few, ok := words[of]; ok {
		return map[string]any{"enum": few}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return schemaOf(of.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(of.Elem())}
	case reflect.Map:
		names, ok := keys[of.Elem()]
		if !ok {
			return map[string]any{"type": "object", "additionalProperties": schemaOf(of.Elem())}
		}
		properties := map[string]any{} // not propertyNames: validators name any place for these, as Helm does
		for _, name := range names() {
			properties[name] = schemaOf(of.Elem())
		}
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	case reflect.Struct:
		properties := map[string]any{}
		for field := range of.Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
				properties[name] = schemaOf(field.Type)
			}
		}
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	default:
		return map[string]any{"type": "string"}
	}
}

// keys are the IDs that maps to these types have for keys.
var keys = map[reflect.Type]func() []string{
	reflect.TypeFor[Switch](): mutate.Names,
	reflect.TypeFor[RuleAction](): func() []string {
		var ids []string
		for _, rule := range rules.Catalog() {
			ids = append(ids, rule.ID)
		}
		return ids
	},
}
