package webhook

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsjson "sigs.k8s.io/json"
)

// everything is a review that has every field that is read, and others.
const everything = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
	"uid": "1-2", "name": "web", "namespace": "shop", "operation": "UPDATE", "subResource": "status", "dryRun": true,
	"kind": {"group": "g", "version": "v1", "kind": "HTTPRoute"}, "options": null, "oldObject": {"kind": "HTTPRoute", "spec": [1, 2.5e3, {"a": "\u00e9\n"}]},
	"userInfo": {"username": "dev", "groups": ["a", "b", "c"], "extra": {"x": ["y"]}},
	"object": {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "status": {"parents": []},
		"metadata": {"namespace": "shop", "name": "web", "generateName": "w-", "uid": "u-1", "generation": 9007199254740993,
			"creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:05.678+02:00", "labels": {"a": "b"},
			"annotations": {"a": "b", "gammaguard.dev/ignore": "no-catch-all, \"x\""}},
		"spec": {
			"parentRefs": [
				{"group": "", "kind": "Service", "namespace": "shop", "name": "cart", "sectionName": "http", "port": 80},
				{"group": null, "name": "edge", "port": null}, null, {}],
			"hostnames": ["a.example", "b.example"],
			"rules": [
				{"name": "r", "matches": [
					{"path": {"type": "PathPrefix", "value": "/v1"}, "method": "GET",
						"headers": [{"type": "Exact", "name": "x-a", "value": "1"}, {"name": "x-b", "value": "2"}],
						"queryParams": [{"type": "RegularExpression", "name": "q", "value": ".*"}]},
					{"path": null, "method": {"type": "Exact", "service": "s", "method": "m", "other": [[]]}}, {"method": null}],
				"filters": [
					{"type": "RequestMirror", "requestMirror": {"percent": 5, "backendRef": {"group": "g", "kind": "k", "namespace": "n", "name": "m", "port": 1}}},
					{"type": "URLRewrite", "urlRewrite": {"hostname": "h"}, "requestMirror": null}],
				"backendRefs": [
					{"group": "", "kind": "Service", "namespace": "lab", "name": "cart", "port": 65535, "weight": 0,
						"filters": [{"requestMirror": {"backendRef": {"name": "deep", "filters": []}}}]},
					{"name": "spare", "weight": null}]},
				{"matches": null, "backendRefs": []}, null]}}}}`

// TestDecode holds the decoder to the tags of the types, all of them.
func TestDecode(t *testing.T) {
	got, err := decode([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	var want envelope
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(everything), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-by the tags +got):\n%s", diff)
	}
	set := map[string]bool{}
	fieldsSet(reflect.ValueOf(want), set)
	for field, is := range set {
		if !is {
			t.Errorf("the test's review lacks a value for %s", field)
		}
	}
}

// fieldsSet notes for the fields of structs of this repository whether any value
// that is met has them set.
func fieldsSet(v reflect.Value, set map[string]bool) {
	switch v.Kind() { //nolint:exhaustive // the others hold no fields
	case reflect.Pointer:
		if !v.IsNil() {
			fieldsSet(v.Elem(), set)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fieldsSet(v.Index(i), set)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				name := v.Type().String() + "." + field.Name
				set[name] = set[name] || !v.Field(i).IsZero()
				fieldsSet(v.Field(i), set)
			}
		}
	}
}

// TestDecodeNamesThePlace: an error says where the fault is.
func TestDecodeNamesThePlace(t *testing.T) {
	const port = `"sectionName": "http", "port": 80`
	for _, test := range []struct{ name, old, by, want string }{
		{"a text for a number", port, `"port": "80"`, "request.object.spec.parentRefs[0].port: found string, want number"},
		{"a fraction", port, `"port": 80.5`, "request.object.spec.parentRefs[0].port: "},
		{"too large a number", port, `"port": 2147483648`, "request.object.spec.parentRefs[0].port: "},
		{"a number for a text", `"sectionName": "http"`, `"sectionName": 1`, "request.object.spec.parentRefs[0].sectionName: found number, want string"},
		{"a list for an object", `"path": {"type": "PathPrefix", "value": "/v1"}`, `"path": []`, "request.object.spec.rules[0].matches[0].path: found array, want object"},
		{"an object for a list", `"hostnames": ["a.example", "b.example"]`, `"hostnames": {}`, "request.object.spec.hostnames: found object, want array"},
		{"no time", `"2026-01-02T03:04:05Z"`, `"yesterday"`, "request.object.metadata.creationTimestamp: "},
		{"no boolean", `"dryRun": true`, `"dryRun": 1`, "request.dryRun: found number, want bool"},
		{"deep down", `"name": "deep"`, `"name": {}`, "request.object.spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.name: "},
		{"in what is passed over", `"x": ["y"]`, `"x": [nan]`, "request.userInfo.extra: "},
		{"a missing comma", `"value": "/v1"}, "method"`, `"value": "/v1"} "method"`, "request.object.spec.rules[0].matches[0]: "},
		{"more behind it", `[]}, null]}}}}`, `[]}, null]}}}} {}`, "there is more after the AdmissionReview"},
		{"no UTF-8", "/v1", "/\xff", "not UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := strings.Replace(everything, test.old, test.by, 1)
			if body == everything {
				t.Fatal("nothing was replaced")
			}
			got, err := decode([]byte(body))
			if err == nil {
				t.Fatalf("read as %+v", got)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %q, want %q first", err, test.want)
			}
		})
	}
}

// TestDecodeOtherTypes puts something else in the place of each value in turn. It
// is refused if and only if the types' tags refuse it, and else read alike.
func TestDecodeOtherTypes(t *testing.T) {
	var tree any
	if err := json.Unmarshal([]byte(everything), &tree); err != nil {
		t.Fatal(err)
	}
	tried := 0
	eachPlace(tree, func(other any) { tree = other }, func(was any, set func(any)) {
		for _, other := range []any{nil, true, 80, -1, 2.5, 1e300, "", "text", "2026-01-02T03:04:05Z", []any{}, []any{nil}, map[string]any{}, map[string]any{"Name": 1}} {
			set(other)
			body, err := json.Marshal(tree)
			set(was)
			if err != nil {
				t.Fatal(err)
			}
			var want envelope
			wantErr := sigsjson.UnmarshalCaseSensitivePreserveInts(body, &want)
			got, err := decode(body)
			if (err == nil) != (wantErr == nil) {
				t.Errorf("%s: error %v, by the tags %v", body, err, wantErr)
			} else if err == nil {
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Errorf("%s (-by the tags +got):\n%s", body, diff)
				}
			}
			tried++
		}
	})
	if tried < 1000 {
		t.Errorf("only %d reviews were tried", tried)
	}
}

// eachPlace calls f with a setter for each value in a tree of JSON.
func eachPlace(v any, set func(any), f func(was any, set func(any))) {
	f(v, set)
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			eachPlace(member, func(other any) { v[name] = other }, f)
		}
	case []any:
		for i, item := range v {
			eachPlace(item, func(other any) { v[i] = other }, f)
		}
	}
}
