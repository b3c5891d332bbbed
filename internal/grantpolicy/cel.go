package grantpolicy

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/gammaguard/gammaguard/mesh"
)

// quoted returns a text as a string of CEL, in single quotes where that needs no escapes.
func quoted(text string) string {
	if plain := strconv.QuoteToASCII(text); len(plain) != len(text)+2 || strings.Contains(text, "'") {
		return plain
	}
	return "'" + text + "'"
}

// list returns a list of strings in CEL.
func list[T ~string](items []T) string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = quoted(string(item))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// either returns the disjunction of expressions, false where there are none.
func either(expressions ...string) string {
	if len(expressions) == 0 {
		return "false"
	}
	return strings.Join(expressions, " ||\n")
}

// selects returns the expression by which a namespace with the labels of the variable
// is selected. A requirement that cannot be written selects nothing: a grant must not come
// of a mistake.
func selects(selector labels.Selector) string {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return "false"
	}
	expressions := make([]string, len(requirements))
	for i, r := range requirements {
		key, value := quoted(r.Key()), "variables.labels["+quoted(r.Key())+"]"
		present := key + " in variables.labels"
		switch values := list(slices.Sorted(slices.Values(r.ValuesUnsorted()))); r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			expressions[i] = "(" + present + " && " + value + " in " + values + ")"
		case selection.NotIn, selection.NotEquals:
			expressions[i] = "!(" + present + " && " + value + " in " + values + ")"
		case selection.Exists:
			expressions[i] = present
		case selection.DoesNotExist:
			expressions[i] = "!(" + present + ")"
		default:
			return "false"
		}
	}
	if len(expressions) == 0 {
		return "true"
	}
	return strings.Join(expressions, " &&\n")
}

// SpecChanges is the CEL expression that reports whether a request changes the spec of a
// route, or creates one.
const SpecChanges = "oldObject == null || object.?spec != oldObject.?spec"

// maxKeys is how many labels or annotations are compared key by key: beyond, a change of any
// counts as one that shapes traffic.
const maxKeys = 100

// MeshKeysChange returns the CEL expression that reports whether an update changes labels or
// annotations under the meshes' domains. The cheap comparisons come first; beyond 100 labels
// or annotations no key is looked at, and a change of any counts.
func MeshKeysChange() string {
	domain := "key.matches('^([^/]*[.])?(" + strings.ReplaceAll(strings.Join(mesh.MeshDomains(), "|"), ".", "[.]") + ")/')"
	most := strconv.Itoa(maxKeys)
	return "[[" + metadata("labels", "object") + ",\n" + metadata("labels", "oldObject") + "],\n" +
		"[" + metadata("annotations", "object") + ",\n" + metadata("annotations", "oldObject") + "]].exists(keys,\n" +
		"keys[0] != keys[1] && (size(keys[0]) > " + most + " || size(keys[1]) > " + most + " ||\n" +
		"keys[0].exists(key, keys[0][?key] != keys[1][?key] && " + domain + ") ||\n" +
		"keys[1].exists(key, !(key in keys[0]) && " + domain + ")))"
}

// metadata returns the labels or annotations of an object.
func metadata(field, object string) string {
	return "has(" + object + ".metadata." + field + ") ? " + object + ".metadata." + field + " : {}"
}

// IgnoresChange is the CEL expression that reports whether an update changes the ignore
// annotation.
func IgnoresChange() string {
	key := quoted(mesh.IgnoreAnnotation)
	return "(" + metadata("annotations", "object") + ")[?" + key + "] !=\n(" + metadata("annotations", "oldObject") + ")[?" + key + "]"
}

// ChangesWhatCounts is the match condition of the webhooks: an update that leaves as they
// are the spec, the ignore annotation, and the labels and annotations under the meshes'
// domains is not sent to them.
func ChangesWhatCounts() string { return either(SpecChanges, IgnoresChange(), MeshKeysChange()) }

// HasMeshParent is a match condition of the webhooks and of the policy: a parentRef that is
// not a Gateway or ListenerSet of the Gateway API. Fields of the wrong type match nothing.
func HasMeshParent() string {
	group := quoted(mesh.GatewayGroup)
	return "has(object.spec) && type(object.spec) == map &&\n" +
		"has(object.spec.parentRefs) && type(object.spec.parentRefs) == list &&\n" +
		"object.spec.parentRefs.exists(ref, type(ref) == map && (\n" +
		"(has(ref.group) ? ref.group : " + group + ") != " + group + " ||\n" +
		"!((has(ref.kind) ? ref.kind : 'Gateway') in ['Gateway', 'ListenerSet'])))"
}
