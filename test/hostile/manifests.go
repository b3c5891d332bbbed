package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type object = map[string]any

// Manifests are a Service and routes on it, as JSON documents of YAML, that hold the name
// wherever an object is named, and the value wherever a value is free, in the namespace.
func Manifests(namespace, name, value string) string {
	meta := func(name string) object {
		return object{"name": name, "namespace": namespace, "annotations": object{"gammaguard.dev/ignore": value}}
	}
	onCart := []any{
		object{"group": "", "kind": "Service", "name": "cart"},
		object{"group": "", "kind": "Service", "name": name, "sectionName": value},
		object{"group": value, "kind": "service", "name": name},
		object{"group": "", "kind": "Service", "name": "shy", "namespace": "other"},
	}
	filters := []any{
		object{"type": "RequestHeaderModifier", "requestHeaderModifier": object{"set": []any{object{"name": name, "value": value}}, "remove": []any{value}}},
		object{"type": "URLRewrite", "urlRewrite": object{"hostname": value, "path": object{"type": "ReplaceFullPath", "replaceFullPath": "/" + value}}},
		object{"type": "RequestMirror", "requestMirror": object{"backendRef": object{"name": name, "port": 80}}},
		object{"type": "ExtensionRef", "extensionRef": object{"group": value, "kind": value, "name": name}},
	}
	matches := func(path string) []any {
		return []any{object{
			"path": object{"type": path, "value": "/" + value}, "method": "POST",
			"headers":     []any{object{"name": name, "value": value}, object{"name": "tenant", "value": value}},
			"queryParams": []any{object{"name": value, "value": value}},
		}}
	}
	http := func(name string, spec object) object {
		all := object{"parentRefs": onCart}
		maps.Copy(all, spec)
		return object{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": meta(name), "spec": all}
	}
	rule := func(path string, rest object) object {
		rule := object{"matches": matches(path), "backendRefs": []any{object{"name": name, "port": 80}, object{"name": "cart", "port": 80}}}
		maps.Copy(rule, rest)
		return rule
	}
	return documents([]object{
		{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
			"name": namespace, "labels": object{"gammaguard.dev/grant": "all", "gammaguard.dev/mode": value}, "annotations": object{"gammaguard.dev/consumer-routes-from": value},
		}},
		{"apiVersion": "v1", "kind": "Namespace", "metadata": object{
			"name": "other", "annotations": object{"gammaguard.dev/consumer-route-kinds": value},
		}},
		{"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "shy", "namespace": "other"}, "spec": object{"ports": []any{object{"port": 80}}}},
		{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "cart", "namespace": namespace},
			"spec": object{"ports": []any{object{"name": value, "port": 80}, object{"name": "raw", "port": 90, "appProtocol": value}}},
		},
		{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": name, "namespace": namespace},
			"spec": object{"type": value, "clusterIP": "None", "ports": []any{object{"name": value, "port": 80}}},
		},
		http(name, object{"hostnames": []any{value}, "rules": []any{
			rule("RegularExpression", object{"name": value, "filters": filters, "timeouts": object{"request": value}}),
			rule("PathPrefix", object{"filters": []any{object{"type": "RequestRedirect", "requestRedirect": object{
				"scheme": value, "hostname": value, "path": object{"type": "ReplacePrefixMatch", "replacePrefixMatch": value},
			}}}}),
		}}),
		http("second", object{"rules": []any{rule("Exact", object{}), rule("RegularExpression", object{})}}),
		{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GRPCRoute", "metadata": meta("calls"), "spec": object{
			"parentRefs": []any{object{"group": "", "kind": "Service", "name": "cart", "port": 90}},
			"rules": []any{object{"matches": []any{object{
				"method": object{"type": "Exact", "service": value, "method": value}, "headers": []any{object{"name": "tenant", "type": "RegularExpression", "value": value}},
			}}}},
		}},
		{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "TCPRoute", "metadata": meta(name), "spec": object{
			"parentRefs": []any{object{"group": "", "kind": "Service", "name": "cart"}}, "rules": []any{object{"backendRefs": []any{object{"name": name, "port": 80}}}},
		}},
	}) + Stored(namespace, value, value)
}

// Stored are two routes that an API server admits, on the Service cart, with the value where
// it is free, and another one in headers, which the experimental channel limits to ASCII.
func Stored(namespace, value, inHeader string) string {
	path := func(kind string) object { return object{"type": kind, "value": "/" + value} }
	header := func(kind string) object { return object{"name": "tenant", "type": kind, "value": inHeader} }
	route := func(name string, matches []any, filter object) object {
		return object{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
			"metadata": object{"name": name, "namespace": namespace, "annotations": object{"gammaguard.dev/ignore": value}},
			"spec": object{
				"parentRefs": []any{object{"group": "", "kind": "Service", "name": "cart", "port": 80}},
				"rules": []any{object{
					"matches": matches, "filters": []any{filter},
				}},
			},
		}
	}
	matches := []any{
		object{"path": path("RegularExpression"), "headers": []any{header("Exact")}},
		object{"path": object{"type": "Exact", "value": "/"}, "headers": []any{header("RegularExpression")}},
		object{"queryParams": []any{object{"name": "q", "value": value}}},
	}
	return documents([]object{
		route("stored-a", matches, object{"type": "RequestHeaderModifier", "requestHeaderModifier": object{"set": []any{object{"name": "x-a", "value": inHeader}}}}),
		route("stored-b", matches, object{"type": "RequestRedirect", "requestRedirect": object{"path": object{"type": "ReplaceFullPath", "replaceFullPath": "/" + value}}}),
	})
}

// JSON writes a value in ASCII: YAML has no place for some characters as they are.
func JSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil { // plain data
		panic(err)
	}
	var text strings.Builder
	for _, r := range string(data) {
		if r < utf8.RuneSelf && r != '\x7f' {
			text.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&text, `\u%04x`, unit)
		}
	}
	return text.String()
}

// documents writes the objects as documents of YAML.
func documents(objects []object) string {
	var text strings.Builder
	for _, document := range objects {
		text.WriteString("---\n" + JSON(document) + "\n")
	}
	return text.String()
}
