package mesh_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func ptr[T any](v T) *T { return &v }

func raw(text string) *jsontext.Value { return ptr(jsontext.Value(text)) }

// meta is the metadata that the API server gives a stored route, with all that
// gammaguard does not read.
const meta = `"metadata": {
	"name": "cart", "namespace": "shop", "uid": "6e1a", "resourceVersion": "812", "generation": 3,
	"creationTimestamp": "2024-05-06T07:08:09Z", "selfLink": null, "labels": {"app": "cart"},
	"annotations": {"gammaguard.dev/ignore": "no-catch-all", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
	"managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}], "finalizers": ["x.dev/y"]}`

func wantMeta() mesh.Metadata {
	return mesh.Metadata{
		Namespace: "shop", Name: "cart", UID: "6e1a", Generation: 3,
		CreationTimestamp: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
		Annotations:       mesh.Annotations{Ignore: "no-catch-all"},
	}
}

// Every kind, in its full shape: the same in every version that is served or was.
func TestDecodeRouteKinds(t *testing.T) {
	parent := mesh.ParentRef{Group: ptr(""), Kind: "Service", Name: "cart", Port: 80}
	backend := mesh.BackendRef{Kind: "Service", Name: "cart-v2", Port: 80, Weight: ptr[int32](0)}
	const refs = `"parentRefs": [{"group": "", "kind": "Service", "name": "cart", "port": 80}]`
	const backendRefs = `"backendRefs": [{"group": "", "kind": "Service", "name": "cart-v2", "port": 80, "weight": 0}]`
	for _, test := range []struct {
		kind     mesh.RouteKind
		versions []string
		spec     string
		want     mesh.RouteSpec
	}{
		{
			mesh.HTTPRoute,
			[]string{"v1", "v1beta1", "v1alpha2"},
			`{` + refs + `, "hostnames": ["cart.example"], "useDefaultGateways": "All", "rules": [{
				"name": "r", "timeouts": {"request": "10s"}, "retry": {"codes": [500]}, "sessionPersistence": {"type": "Cookie"},
				"matches": [{"path": {"type": "Exact", "value": "/v2"}, "method": "GET",
					"headers": [{"type": "Exact", "name": "X", "value": "y"}], "queryParams": [{"name": "q", "value": "1"}]}],
				"filters": [
					{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "a", "value": "b"}]}},
					{"type": "RequestMirror", "requestMirror": {"percent": 5, "backendRef": {"name": "shadow", "namespace": "lab", "port": 81}}}],
				` + backendRefs + `}]}`,
			mesh.RouteSpec{
				ParentRefs: []mesh.ParentRef{parent},
				Hostnames:  []string{"cart.example"}, UseDefaultGateways: "All",
				Rules: []mesh.RouteRule{{
					Name: "r", Timeouts: &mesh.Timeouts{Request: "10s"}, Retry: raw(`{"codes": [500]}`), SessionPersistence: raw(`{"type": "Cookie"}`),
					Matches: []mesh.RouteMatch{{
						Path:        &mesh.PathMatch{Type: "Exact", Value: "/v2"},
						Headers:     []mesh.ValueMatch{{Type: "Exact", Name: "X", Value: "y"}},
						QueryParams: []mesh.ValueMatch{{Name: "q", Value: "1"}},
						Method:      &mesh.MethodMatch{HTTP: "GET"},
					}},
					Filters: []mesh.Filter{
						{Type: "RequestHeaderModifier", RequestHeaderModifier: &mesh.HeaderModifier{Set: []mesh.Header{{Name: "a", Value: "b"}}}},
						{Type: "RequestMirror", RequestMirror: &mesh.RequestMirror{BackendRef: mesh.BackendRef{Name: "shadow", Namespace: "lab", Port: 81}, Percent: ptr[int32](5)}},
					},
					BackendRefs: []mesh.BackendRef{backend},
				}},
			},
		},
		{
			mesh.GRPCRoute,
			[]string{"v1", "v1alpha2"},
			`{` + refs + `, "rules": [{
				"matches": [{"method": {"type": "Exact", "service": "shop.Cart", "method": "Add"}}, {"headers": [{"name": "X", "value": "y"}]}],
				` + backendRefs + `}]}`,
			mesh.RouteSpec{
				ParentRefs: []mesh.ParentRef{parent},
				Rules: []mesh.RouteRule{{
					Matches: []mesh.RouteMatch{
						{Method: &mesh.MethodMatch{Type: "Exact", Service: "shop.Cart", Method: "Add"}},
						{Headers: []mesh.ValueMatch{{Name: "X", Value: "y"}}},
					},
					BackendRefs: []mesh.BackendRef{backend},
				}},
			},
		},
		{
			mesh.TLSRoute,
			[]string{"v1", "v1alpha3", "v1alpha2"},
			`{` + refs + `, "hostnames": ["cart.example"], "rules": [{` + backendRefs + `}]}`,
			mesh.RouteSpec{
				ParentRefs: []mesh.ParentRef{parent},
				Hostnames:  []string{"cart.example"},
				Rules:      []mesh.RouteRule{{BackendRefs: []mesh.BackendRef{backend}}},
			},
		},
		{
			mesh.TCPRoute,
			[]string{"v1", "v1alpha2"},
			`{` + refs + `, "rules": [{` + backendRefs + `}]}`,
			mesh.RouteSpec{ParentRefs: []mesh.ParentRef{parent}, Rules: []mesh.RouteRule{{BackendRefs: []mesh.BackendRef{backend}}}},
		},
		{
			mesh.UDPRoute,
			[]string{"v1", "v1alpha2"},
			`{` + refs + `, "rules": [{` + backendRefs + `}]}`,
			mesh.RouteSpec{ParentRefs: []mesh.ParentRef{parent}, Rules: []mesh.RouteRule{{BackendRefs: []mesh.BackendRef{backend}}}},
		},
	} {
		for _, version := range test.versions {
			t.Run(string(test.kind)+" "+version, func(t *testing.T) {
				got, err := mesh.DecodeRoute(fmt.Appendf(nil, `{"apiVersion": "gateway.networking.k8s.io/%s", "kind": %q, %s, "spec": %s,
					"status": {"parents": [{"parentRef": 7, "conditions": "no matter"}]}}`, version, test.kind, meta, test.spec))
				if err != nil {
					t.Fatal(err)
				}
				want := &mesh.Route{Kind: test.kind, Metadata: wantMeta(), Spec: test.want}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("route (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestDecodeRouteEdges(t *testing.T) {
	for name, test := range map[string]struct {
		json string
		want mesh.Route
	}{
		"nothing but a kind":    {`{"kind": "TCPRoute"}`, mesh.Route{Kind: mesh.TCPRoute}},
		"null fields":           {`{"kind": "TCPRoute", "metadata": null, "spec": null}`, mesh.Route{Kind: mesh.TCPRoute}},
		"null lists":            {`{"kind": "TCPRoute", "spec": {"parentRefs": null, "rules": null}}`, mesh.Route{Kind: mesh.TCPRoute}},
		"unknown fields":        {`{"kind": "TCPRoute", "tomorrow": {"deep": [[1]]}, "spec": {"new": 1}}`, mesh.Route{Kind: mesh.TCPRoute}},
		"names are case bound":  {`{"kind": "TCPRoute", "SPEC": {"parentRefs": 3}, "Kind": "HTTPRoute"}`, mesh.Route{Kind: mesh.TCPRoute}},
		"null method":           {`{"kind": "HTTPRoute", "spec": {"rules": [{"matches": [{"method": null}]}]}}`, mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{Rules: []mesh.RouteRule{{Matches: []mesh.RouteMatch{{}}}}}}},
		"empty group":           {`{"kind": "TCPRoute", "spec": {"parentRefs": [{"group": "", "name": "a"}]}}`, mesh.Route{Kind: mesh.TCPRoute, Spec: mesh.RouteSpec{ParentRefs: []mesh.ParentRef{{Group: ptr(""), Name: "a"}}}}},
		"omitted group":         {`{"kind": "TCPRoute", "spec": {"parentRefs": [{"name": "a"}]}}`, mesh.Route{Kind: mesh.TCPRoute, Spec: mesh.RouteSpec{ParentRefs: []mesh.ParentRef{{Name: "a"}}}}},
		"a mirror with nothing": {`{"kind": "HTTPRoute", "spec": {"rules": [{"filters": [{"requestMirror": {}}]}]}}`, mesh.Route{Kind: mesh.HTTPRoute, Spec: mesh.RouteSpec{Rules: []mesh.RouteRule{{Filters: []mesh.Filter{{RequestMirror: &mesh.RequestMirror{}}}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := mesh.DecodeRoute([]byte(test.json))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("route (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRouteRefuses(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "not a route: ",
		`null`:                              `not a route: kind "" is not one of`,
		`[]`:                                "not a route: ",
		`{`:                                 "not a route: ",
		`{}`:                                `not a route: kind "" is not one of`,
		`{"kind": "Gateway"}`:               `not a route: kind "Gateway" is not one of [GRPCRoute HTTPRoute TLSRoute TCPRoute UDPRoute]`,
		`{"kind": "tcproute"}`:              `not a route: kind "tcproute" is not one of`,
		`{"kind": 3}`:                       "not a route: ",
		`{"kind": "TCPRoute"} trailing`:     "not a route: ",
		`{"kind": "TCPRoute", "spec": "x"}`: "not a route: ",
		`{"kind": "TCPRoute", "spec": {"parentRefs": {}}}`:                                           "not a route: ",
		`{"kind": "TCPRoute", "spec": {"parentRefs": [{"port": "80"}]}}`:                             "not a route: ",
		`{"kind": "TCPRoute", "spec": {"parentRefs": [{"port": 4294967376}]}}`:                       "not a route: ",
		`{"kind": "TCPRoute", "spec": {"parentRefs": [{"port": 80.5}]}}`:                             "not a route: ",
		`{"kind": "TCPRoute", "spec": {"rules": [{"backendRefs": [{"weight": true}]}]}}`:             "not a route: ",
		`{"kind": "HTTPRoute", "spec": {"rules": [{"matches": [{"method": 7}]}]}}`:                   "not a route: ",
		`{"kind": "HTTPRoute", "spec": {"rules": [{"matches": [{"method": ["GET"]}]}]}}`:             "not a route: ",
		`{"kind": "TCPRoute", "metadata": {"creationTimestamp": "yesterday"}}`:                       "not a route: ",
		`{"kind": "TCPRoute", "metadata": {"annotations": {"gammaguard.dev/ignore": ["no-catch"]}}}`: "not a route: ",
	} {
		route, err := mesh.DecodeRoute([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || route != nil {
			t.Errorf("DecodeRoute(%s) = %v, %v; want no route and an error that begins with %q", text, route, err, want)
		}
	}
}

func TestRouteString(t *testing.T) {
	route := mesh.Route{Kind: mesh.HTTPRoute, Metadata: mesh.Metadata{Namespace: "shop", Name: "cart"}}
	if got := route.String(); got != "HTTPRoute shop/cart" {
		t.Errorf("got %q", got)
	}
	route.Metadata.Name, route.Metadata.GenerateName = "", "cart-"
	if got := route.String(); got != "HTTPRoute shop/cart-*" {
		t.Errorf("got %q for a route without a name", got)
	}
}

func TestDeletingAndHasMeshParent(t *testing.T) {
	gateway := mesh.ParentRef{Name: "edge"}
	service := mesh.ParentRef{Group: ptr(""), Kind: "Service", Name: "cart"}
	misgrouped := mesh.ParentRef{Kind: "Service", Name: "cart"}
	for _, test := range []struct {
		parents []mesh.ParentRef
		want    bool
	}{
		{nil, false},
		{[]mesh.ParentRef{gateway}, false},
		{[]mesh.ParentRef{misgrouped}, false},
		{[]mesh.ParentRef{gateway, service}, true},
	} {
		route := mesh.Route{Spec: mesh.RouteSpec{ParentRefs: test.parents}}
		if got := route.HasMeshParent(nil); got != test.want {
			t.Errorf("HasMeshParent with %+v = %v", test.parents, got)
		}
		if route.Deleting() {
			t.Error("a route without deletionTimestamp is being deleted")
		}
	}
	route, err := mesh.DecodeRoute([]byte(`{"kind": "TCPRoute", "metadata": {"deletionTimestamp": "2024-05-06T07:08:09Z"}}`))
	if err != nil || !route.Deleting() {
		t.Errorf("a route with deletionTimestamp is not being deleted (%v)", err)
	}
}

// Whatever can be decoded can be looked at, and comes out the same each time.
func FuzzDecodeRoute(f *testing.F) {
	f.Add([]byte(`{"kind": "HTTPRoute", ` + meta + `, "spec": {"parentRefs": [{"group": "", "kind": "Service", "name": "cart"}],
		"rules": [{"matches": [{"path": {"value": "/a/"}, "method": "GET"}], "backendRefs": [{"name": "cart", "port": 80}]}]}}`))
	f.Add([]byte(`{"kind": "GRPCRoute", "spec": {"rules": [{"matches": [{"method": {"service": "a.B"}}]}]}}`))
	f.Add([]byte(`{"kind": "TLSRoute", "spec": {"hostnames": ["a.example"], "rules": [{}]}}`))
	f.Add([]byte(`{"kind": "UDPRoute", "spec": {"rules": [{"filters": [{"requestMirror": null}]}]}}`))
	f.Add([]byte(`{"kind": "Service"}`))
	f.Add([]byte(`nonsense`))
	f.Fuzz(func(t *testing.T, data []byte) {
		route, err := mesh.DecodeRoute(data)
		if err != nil {
			return
		}
		for i := range route.Spec.ParentRefs {
			route.Spec.ParentRefs[i].Class(nil)
		}
		for backend := range route.Backends() {
			if backend.Path() == "" || backend.Ref == nil {
				t.Error("a backend without path or reference")
			}
			backend.Ref.IsService(nil)
		}
		keys := route.MatchKeys(nil)
		attached := route.Attached(nil)
		if len(attached.Matches) != len(keys) {
			t.Errorf("the route and what others see of it differ: %+v, %+v", route, attached)
		}
		again, err := mesh.DecodeRoute(data)
		if err != nil || !cmp.Equal(route, again) {
			t.Errorf("the same bytes are another route the second time: %v\n%s", err, cmp.Diff(route, again))
		}
	})
}
