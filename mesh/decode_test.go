package mesh

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	sigsjson "sigs.k8s.io/json"
)

// everyRoute is a route that has every field that is read, and others.
const everyRoute = `{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "status": {"parents": []},
		"metadata": {"namespace": "shop", "name": "web", "generateName": "w-", "uid": "u-1", "generation": 9007199254740993,
			"creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:05.678+02:00", "labels": {"a": "b"},
			"annotations": {"a": "b", "gammaguard.dev/ignore": "no-catch-all, \"x\""},
			"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": false}, null,
				{"apiVersion": "flagger.app/v1beta1", "kind": "Canary", "name": "web", "uid": "u", "controller": true, "blockOwnerDeletion": true}]},
		"spec": {
			"parentRefs": [
				{"group": "", "kind": "Service", "namespace": "shop", "name": "cart", "sectionName": "http", "port": 80},
				{"group": null, "name": "edge", "port": null}, null, {}],
			"hostnames": ["a.example", "b.example"], "useDefaultGateways": "All",
			"rules": [
				{"name": "r", "matches": [
					{"path": {"type": "PathPrefix", "value": "/v1"}, "method": "GET",
						"headers": [{"type": "Exact", "name": "x-a", "value": "1"}, {"name": "x-b", "value": "2"}],
						"queryParams": [{"type": "RegularExpression", "name": "q", "value": ".*"}]},
					{"path": null, "method": {"type": "Exact", "service": "s", "method": "m", "other": [[]]}}, {"method": null}],
				"filters": [
					{"type": "RequestMirror", "requestMirror": {"percent": 5, "backendRef": {"group": "g", "kind": "k", "namespace": "n", "name": "m", "port": 1}}},
					{"requestMirror": {"fraction": {"numerator": 1, "denominator": 3}, "backendRef": {}}},
					{"type": "URLRewrite", "urlRewrite": {"hostname": "h", "path": {"type": "ReplaceFullPath", "replaceFullPath": "/"}}, "requestMirror": null},
					{"requestRedirect": {"scheme": "https", "hostname": "h", "port": 443, "statusCode": 301, "path": {"replacePrefixMatch": ""}}},
					{"cors": {"maxAge": 5}}, {"externalAuth": {"protocol": "HTTP"}, "extensionRef": {"group": "g", "kind": "k", "name": "n"}},
					{"requestHeaderModifier": {"set": [{"name": "a", "value": "1"}, null], "add": [{"name": "b"}], "remove": ["c", null]}},
					{"responseHeaderModifier": {"set": [], "add": null, "remove": []}}],
				"backendRefs": [
					{"group": "", "kind": "Service", "namespace": "lab", "name": "cart", "port": 65535, "weight": 0,
						"filters": [{"requestMirror": {"backendRef": {"name": "deep", "filters": []}}}]},
					{"name": "spare", "weight": null}]},
				{"timeouts": {"request": "1s", "backendRequest": "500ms"}, "retry": {"attempts": 2}, "sessionPersistence": {},
					"matches": null, "backendRefs": []}, null]}}`

// everything are objects that have every field that is read, and others.
var everything = []struct {
	name, text string
	empty      func() any
}{
	{"route", everyRoute, func() any { return new(Route) }},
	{
		"Service", `{"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "cart", "resourceVersion": "7",
		"labels": {"app": "cart", "gammaguard.dev/consumer-routes": "deny", "istio.io/use-waypoint": "w"}, "deletionTimestamp": "2026-01-02T03:04:05Z",
		"annotations": {"a": "b", "gammaguard.dev/consumer-routes-from": "a=b", "gammaguard.dev/consumer-route-kinds": "HTTPRoute"}}, "status": {"loadBalancer": {}},
		"spec": {"externalName": "a.example", "type": "NodePort", "clusterIP": "None", "clusterIPs": ["None"], "selector": {"app": "cart"}, "ports": [
			{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP", "appProtocol": "http", "nodePort": 30080}, {"port": 53}, null]}}`,
		func() any { return new(ServiceObject) },
	},
	{
		"Namespace", `{"kind": "PartialObjectMetadata", "metadata": {"namespace": "-", "name": "shop", "resourceVersion": "7", "labels": {"a": "b"}, "deletionTimestamp": "2026-01-02T03:04:05Z",
		"annotations": {"gammaguard.dev/consumer-routes-from": "a in (", "gammaguard.dev/consumer-route-kinds": "HTTPRoute", "gammaguard.dev/grant-route-kinds": "TCPRoute, x", "linkerd.io/inject": "enabled"}}}`,
		func() any { return new(NamespaceObject) },
	},
	{
		"EndpointSlice", `{"kind": "EndpointSlice", "metadata": {"namespace": "shop", "name": "cart-1", "resourceVersion": "7",
		"labels": {"kubernetes.io/service-name": "cart", "x": "y"}}, "endpoints": [{"addresses": ["10.0.0.1"]}, {}, null], "ports": [{"port": 80}]}`,
		func() any { return new(EndpointSliceObject) },
	},
	{
		"ReferenceGrant", `{"kind": "ReferenceGrant", "metadata": {"namespace": "shop", "name": "g", "resourceVersion": "7"}, "spec": {
		"from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "web"}], "to": [{"group": "g", "kind": "Service", "name": "cart"}]}}`,
		func() any { return new(ReferenceGrantObject) },
	},
}

// UnmarshalJSON is UnmarshalJSONFrom for the API server's decoder.
func (m *MethodMatch) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &m.HTTP)
	}
	type object MethodMatch
	return sigsjson.UnmarshalCaseSensitivePreserveInts(data, (*object)(m))
}

// UnmarshalJSON is UnmarshalJSONFrom for the API server's decoder.
func (c *Controllers) UnmarshalJSON(data []byte) error {
	var all []Controller
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(data, &all); err != nil {
		return err
	}
	*c = nil
	if i := slices.IndexFunc(all, func(owner Controller) bool { return owner.Controls }); i >= 0 {
		*c = all[i : i+1 : i+1]
	}
	return nil
}

// everyField has unexported fields compared too.
var everyField = cmp.Exporter(func(reflect.Type) bool { return true })

// TestDecode holds the decoder to the API server's, for every field.
func TestDecode(t *testing.T) {
	for _, test := range everything {
		t.Run(test.name, func(t *testing.T) {
			got, want := test.empty(), test.empty()
			if err := Decode([]byte(test.text), got); err != nil {
				t.Fatal(err)
			}
			if err := sigsjson.UnmarshalCaseSensitivePreserveInts([]byte(test.text), want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, everyField); diff != "" {
				t.Errorf("(-API server's +got):\n%s", diff)
			}
			set := map[string]bool{}
			fieldsSet(reflect.ValueOf(got), set)
			for field, is := range set {
				if !is {
					t.Errorf("the test's object lacks a value for %s", field)
				}
			}
		})
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
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
				name := v.Type().String() + "." + field.Name
				set[name] = set[name] || !v.Field(i).IsZero()
				fieldsSet(v.Field(i), set)
			}
		}
	}
}

// TestDecodeOtherTypes puts something else in the place of each value in turn. It
// is refused if and only if the API server's decoder refuses it, and else read alike.
func TestDecodeOtherTypes(t *testing.T) {
	tried := 0
	for _, test := range everything {
		var tree any
		if err := json.Unmarshal([]byte(test.text), &tree); err != nil {
			t.Fatal(err)
		}
		eachPlace(tree, func(other any) { tree = other }, func(was any, set func(any)) {
			for _, other := range []any{nil, true, 80, -1, 2.5, 1e300, "", "text", "2026-01-02T03:04:05Z", []any{}, []any{nil}, map[string]any{}, map[string]any{"Name": 1}} {
				set(other)
				text, err := json.Marshal(tree)
				set(was)
				if err != nil {
					t.Fatal(err)
				}
				got, want := test.empty(), test.empty()
				wantErr := sigsjson.UnmarshalCaseSensitivePreserveInts(text, want)
				err = Decode(text, got)
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s: error %v, the API server's %v", text, err, wantErr)
				} else if err == nil {
					if diff := cmp.Diff(want, got, everyField); diff != "" {
						t.Errorf("%s (-API server's +got):\n%s", text, diff)
					}
				}
				tried++
			}
		})
	}
	if tried < 1500 {
		t.Errorf("only %d objects were tried", tried)
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

// TestDecodeNamesTheField: an error says where the fault is.
func TestDecodeNamesTheField(t *testing.T) {
	const port = `"sectionName": "http", "port": 80`
	for _, test := range []struct{ name, old, by, want string }{
		{"a text for a number", port, `"port": "80"`, "spec.parentRefs[0].port: found string, want integer"},
		{"a fraction", port, `"port": 80.5`, "spec.parentRefs[0].port: 80.5 invalid syntax"},
		{"too large a number", port, `"port": 2147483648`, "spec.parentRefs[0].port: 2147483648 value out of range"},
		{"a number for a text", `"sectionName": "http"`, `"sectionName": 1`, "spec.parentRefs[0].sectionName: found number, want string"},
		{"a text for a status", `"statusCode": 301`, `"statusCode": "301"`, "spec.rules[0].filters[3].requestRedirect.statusCode: found string, want integer"},
		{"a list for an object", `"path": {"type": "PathPrefix", "value": "/v1"}`, `"path": []`, "spec.rules[0].matches[0].path: found array, want object"},
		{"an object for a list", `"hostnames": ["a.example", "b.example"]`, `"hostnames": {}`, "spec.hostnames: found object, want array"},
		{"a number for a method", `"method": "GET"`, `"method": true`, "spec.rules[0].matches[0].method: found true, want object"},
		{"no time", `"2026-01-02T03:04:05Z"`, `"yesterday"`, "metadata.creationTimestamp: "},
		{"deep down", `"name": "deep"`, `"name": {}`, "spec.rules[0].backendRefs[0].filters[0].requestMirror.backendRef.name: found object, want string"},
		{"in what is passed over", `"a": "b"`, `"a": nan`, "metadata.labels.a: "},
		{"a missing comma", `"value": "/v1"}, "method"`, `"value": "/v1"} "method"`, "spec.rules[0].matches[0]: "},
		{"more behind it", `[]}, null]}}`, `[]}, null]}} {}`, "invalid character"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(everyRoute, test.old, test.by, 1)
			if text == everyRoute {
				t.Fatal("nothing was replaced")
			}
			route, err := DecodeRoute([]byte(text))
			if err == nil {
				t.Fatalf("read as %+v", route)
			}
			if !strings.HasPrefix(err.Error(), "not a route: "+test.want) {
				t.Errorf("got %q, want %q first", err, test.want)
			}
		})
	}
}

// FuzzDecode: what is read is JSON, and the API server's decoder reads the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range everything {
		f.Add([]byte(seed.text))
	}
	f.Add([]byte(`{"spec": {"rules": [{"matches": [{"method": {}}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, as := range everything {
			got, want := as.empty(), as.empty()
			if Decode(text, got) != nil {
				continue
			}
			if !jsontext.Value(text).IsValid(Lenient) {
				t.Fatal("what is no JSON was read")
			}
			if !jsontext.Value(text).IsValid() {
				continue // the two differ in what they make of duplicate names and of what is not UTF-8
			}
			if err := sigsjson.UnmarshalCaseSensitivePreserveInts(text, want); err != nil {
				t.Fatalf("the API server's decoder does not take it: %v", err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), everyField); diff != "" {
				t.Errorf("(-API server's +got):\n%s", diff)
			}
		}
	})
}
