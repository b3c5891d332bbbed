package traffic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

func TestSetTarget(t *testing.T) {
	key := func(kind, namespace, name string) mesh.ServiceKey {
		return mesh.ServiceKey{Kind: kind, Namespace: namespace, Name: name}
	}
	for text, want := range map[string]Request{
		"service/cart:80":        {Service: key(mesh.ServiceKind, "shop", "cart"), Port: 80},
		"svc/cart.faces:8080":    {Service: key(mesh.ServiceKind, "faces", "cart"), Port: 8080},
		"service/dns:53/udp":     {Service: key(mesh.ServiceKind, "shop", "dns"), Port: 53, Protocol: mesh.UDP},
		"ServiceImport/cards:80": {Service: key(mesh.ServiceImportKind, "shop", "cards"), Port: 80},
		"cart":                   {Service: key(mesh.ServiceKind, "shop", "cart")},
		"svc/cart":               {Service: key(mesh.ServiceKind, "shop", "cart")},
		"cart:http":              {Service: key(mesh.ServiceKind, "shop", "cart"), PortName: "http"},
		"dns:53/UDP":             {Service: key(mesh.ServiceKind, "shop", "dns"), Port: 53, Protocol: mesh.UDP},
		"cart.faces.svc:80":      {Service: key(mesh.ServiceKind, "faces", "cart"), Port: 80},
		"http://cart.faces/v2?x=1": {
			Service: key(mesh.ServiceKind, "faces", "cart"), Port: 80, Protocol: mesh.TCP, Host: "cart.faces", Path: "/v2", Query: map[string]string{"x": "1"}, RawQuery: "x=1",
		},
		"http://cart:8080": {Service: key(mesh.ServiceKind, "shop", "cart"), Port: 8080, Protocol: mesh.TCP, Host: "cart:8080", Path: "/"},
		"http://Cart.faces.svc.cluster.local./": {
			Service: key(mesh.ServiceKind, "faces", "cart"), Port: 80, Protocol: mesh.TCP, Host: "Cart.faces.svc.cluster.local.", Path: "/",
		},
		"http://cart.faces.svc.clusterset.local/": {
			Service: key(mesh.ServiceImportKind, "faces", "cart"), Port: 80, Protocol: mesh.TCP, Host: "cart.faces.svc.clusterset.local", Path: "/",
		},
	} {
		var got Request
		if err := got.SetTarget(text, "shop"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{
		"", "service/cart:0", "service/cart:70000", "service/:80", "service/cart:", "pod/cart:80", "service/cart:80/SCTP", "cart:-", "http://", "http://cart:0/",
		"https://cart.shop/", "ftp://cart.shop/", "http://cart.shop.example.com/", "http://10.0.0.1/", "http://[::1]/", "http://a@cart.shop/", "http://cart.shop/?%zz",
	} {
		if err := new(Request).SetTarget(text, "shop"); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	for text, want := range map[string]bool{"shop/cart:http/UDP": true, "shop/cart": true, "shop/cart.x": false, "/cart": false, "shop/": false, "a/shop/cart": false} {
		err := new(Request).SetTarget(text, "")
		if hint := "; if shop is the namespace, service/cart.shop" + strings.TrimPrefix(text, "shop/cart"); err == nil || strings.HasSuffix(err.Error(), hint) != want || strings.Contains(err.Error(), "the namespace") != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRequestArguments(t *testing.T) {
	var got Request
	for _, err := range []error{
		got.SetPath("/v2/items?color=blue&color=red&size=a+b"), got.AddHeader("Tenant: gold"), got.AddHeader("tenant:silver"), got.AddHeader("HOST: a.example"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := Request{
		Path: "/v2/items", Host: "a.example",
		Headers: map[string]string{"tenant": "gold,silver"}, Query: map[string]string{"color": "blue", "size": "a b"}, RawQuery: "color=blue&color=red&size=a+b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var r Request
	for name, err := range map[string]error{
		"a path without a slash": r.SetPath("v2"), "a broken query": r.SetPath("/?%zz"),
		"a header without a value": r.AddHeader("tenant"), "a header without a name": r.AddHeader(": x"),
		"a gRPC service alone": r.SetGRPC("a.B"), "more than a gRPC method": r.SetGRPC("a.B/Do/It"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRequestString: what a request is written as is read as the same request.
func TestRequestString(t *testing.T) {
	var r Request
	for _, err := range []error{r.SetTarget("service/dns:53/UDP", "shop"), r.SetPath("/it's?a=b"), r.AddHeader("who: it's me")} {
		if err != nil {
			t.Error(err)
		}
	}
	r.From = "faces"
	if got, want := r.String(), `service/dns.shop:53/UDP --from faces --path '/it'\''s?a=b' -H 'who: it'\''s me'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRequestStringOfACall: --grpc has no place for a query.
func TestRequestStringOfACall(t *testing.T) {
	var r Request
	for _, err := range []error{r.SetTarget("service/cart:80", "shop"), r.SetGRPC("items/x")} {
		if err != nil {
			t.Error(err)
		}
	}
	r.From = "shop"
	if got, want := r.String(), `service/cart.shop:80 --from shop --grpc items/x`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Query = map[string]string{"debug": "1"}
	if got, want := r.String(), `service/cart.shop:80 --from shop --method POST --path '/items/x?debug=1' -H 'content-type: application/grpc'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestExample(t *testing.T) {
	for text, want := range map[string]string{
		"/v[0-9]+": "/v0", "/(a|b)/?": "/a", "gold.*": "gold", "[A-Z]{3}": "AAA", `\d+\.\d`: "0.0", "(?=x)y": "(?=x)y", `a\b`: "a", `\Ba`: "",
	} {
		c := newCondition(mesh.Condition{Type: mesh.RegularExpression, Text: text})
		if got := c.example(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
