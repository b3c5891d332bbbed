package traffic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// TestDiffOfChangedExpressions: an expression that matches less or more than before is a change, on whatever it is.
func TestDiffOfChangedExpressions(t *testing.T) {
	const note = "note: regular expressions of HTTPRoute shop/re are compared as text, and by examples of what they match: changes within what they match may be missing\n"
	const first = "note: HTTPRoute shop/re rule[1] match[0] matches too: the precedence of a RegularExpression is implementation-specific\n"
	const part = "note: the regular expression \"%s\" matches a part of the %s \"%s\", not all of it: implementations differ in whether that is a match\n"
	path := func(text string) string {
		return http("shop/re", onCart+`, rules: [{matches: [{path: {type: RegularExpression, value: '`+text+`'}}], `+toV2+`}, {`+toV1+`}]`)
	}
	header := func(text string) string {
		return http("shop/re", onCart+`, rules: [{matches: [{headers: [{type: RegularExpression, name: v, value: '`+text+`'}]}], `+toV2+`}, {`+toV1+`}]`)
	}
	exactAnd := func(text string) string {
		return http("shop/re", onCart+`, rules: [{matches: [{path: {type: RegularExpression, value: '`+text+`'}}], `+toV2+`}, {`+toV1+`}, {matches: [{path: {type: Exact, value: /b}}], `+toV1+`}]`)
	}
	for _, test := range []struct{ name, before, after, want string }{
		{"a path, narrower", path("/items/[0-9]+"), path("/items/[0-9]"), `service shop/cart port 80, producer
  any  ~ /items/[0-9]+ such as /items/00 (except ~ /items/[0-9])  cart-v2:8080 100 %  →  cart-v1:8080 100 %
` + note + first + fmt.Sprintf(part, "/items/[0-9]", "path", "/items/00") + `1 Service, 1 change; 4 other request classes unchanged
`},
		{"a path, wider", path("/items/[0-9]{1,4}"), path("/items/[0-9]+"), `service shop/cart port 80, producer
  any  ~ /items/[0-9]+ such as /items/00000 (except ~ /items/[0-9]{1,4})  cart-v1:8080 100 %  →  cart-v2:8080 100 %
` + note + fmt.Sprintf(part, "/items/[0-9]{1,4}", "path", "/items/00000") + first + `1 Service, 1 change; 4 other request classes unchanged
`},
		{"a path, narrower, without the shortest example", path("/items/[0-9]+"), path("/items/[1-9][0-9]{5}"), `service shop/cart port 80, producer
  any  ~ /items/[0-9]+ such as /items/0 (except ~ /items/[1-9][0-9]{5})  cart-v2:8080 100 %  →  cart-v1:8080 100 %
` + note + first + `1 Service, 1 change; 4 other request classes unchanged
`},
		{"a path, wider, with a shorter example", path("/items/[0-9]+/returns"), path("/items/[0-9a-f]+/(returns|refunds)"), `service shop/cart port 80, producer
  any  ~ /items/[0-9a-f]+/(returns|refunds) such as /items/a/refunds (except ~ /items/[0-9]+/returns)  cart-v1:8080 100 %  →  cart-v2:8080 100 %
` + note + first + `1 Service, 1 change; 4 other request classes unchanged
`},
		{"a path, moved in part", path("/[a-m]"), path("/[g-z]"), `service shop/cart port 80, producer
  any  ~ /[a-m] such as /a (except ~ /[a-m] and ~ /[g-z])  cart-v2:8080 100 %  →  cart-v1:8080 100 %
  any  ~ /[g-z] such as /n (except ~ /[a-m] and ~ /[g-z])  cart-v1:8080 100 %  →  cart-v2:8080 100 %
` + note + first + `1 Service, 2 changes; 4 other request classes unchanged
`},
		{"a path, beside one that is matched as a whole", exactAnd("/[0-9]"), exactAnd("/[0-9a-f]"), `service shop/cart port 80, producer
  any  ~ /[0-9a-f] such as /a (except ~ /[0-9], /b)  cart-v1:8080 100 %  →  cart-v2:8080 100 %
` + note + first + `1 Service, 1 change; 5 other request classes unchanged
`},
		{"a header, narrower", header("[0-9]+"), header("[0-9]"), `service shop/cart port 80, producer
  any  v~[0-9]+ (except v~[0-9])  cart-v2:8080 100 %  →  cart-v1:8080 100 %
` + note + fmt.Sprintf(part, "[0-9]", "header v", "00") + `1 Service, 1 change; 2 other request classes unchanged
`},
		{"none that tells them apart", path(`/items/[0-9]`), path(`/items/\d`), `note: HTTPRoute shop/re rule[0] match[0]: the regular expression on the path was "/items/[0-9]" and is now "/items/\\d"; no example tells them apart, so it is not known which requests go somewhere else
` + note + `1 regular expression changed; 4 request classes unchanged
`},
		{"the same", path(`/items/[0-9]`), path(`/items/[0-9]`), "no change; 4 request classes unchanged\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Diff(newTable(t, Options{}, test.before), newTable(t, Options{}, test.after))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("%s\n%s", got, diff)
			}
		})
	}
}

// TestDiffOfExpressionsBesidePrefixes: where a mesh ranks expressions after prefixes, what is below a
// prefix is no part of their change.
func TestDiffOfExpressionsBesidePrefixes(t *testing.T) {
	istio := by(t, validate.Policy{Mesh: mergingMesh()})
	side := func(backend string) *Table {
		return newTable(t, istio, http("shop/re", onCart+`, rules: [{matches: [{path: {type: RegularExpression, value: '/b.*'}}], `+backend+`},
			{matches: [{path: {type: PathPrefix, value: /b/c}}, {path: {type: PathPrefix, value: /d}}], `+toV1+`}]`))
	}
	got, err := Diff(side(toV1), side(toV2))
	if err != nil {
		t.Fatal(err)
	}
	const want = "any  ~ /b.* such as /b (except /b/c*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %\n"
	if !strings.Contains(got.String(), want) {
		t.Errorf("%s: want %s", got, want)
	}
}

// TestDiffOfPrefixAndExpression: an expression in the place of a prefix is compared by what it matches in the prefix, and beyond it.
func TestDiffOfPrefixAndExpression(t *testing.T) {
	route := func(match string) string {
		return http("shop/re", onCart+`, rules: [{matches: [{path: {`+match+`}}], `+toV2+`}, {`+toV1+`}]`)
	}
	prefix := route("value: /api")
	for text, want := range map[string][]string{
		"/api.*":            {"any  ~ /api.* such as /apia (except /api*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %"},
		"/apis?(/.*)?":      {"any  ~ /apis?(/.*)? such as /apis (except /api*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %"},
		"/(pub|api).*":      {"any  ~ /(pub|api).* such as /pub (except /api*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %"},
		"/api.+":            {"any  /api* (except ~ /api.+)                             cart-v2:8080 100 %  →  cart-v1:8080 100 %", "any  ~ /api.+ such as /apia (except ~ /api.+ and /api*)  cart-v1:8080 100 %  →  cart-v2:8080 100 %"},
		"/api/.*":           {"any  /api* (except ~ /api/.*)  cart-v2:8080 100 %  →  cart-v1:8080 100 %"},
		"/api(/v[0-9]+/.*)": {"any  /api* (except ~ /api(/v[0-9]+/.*))  cart-v2:8080 100 %  →  cart-v1:8080 100 %"},
		"/api(/.*)?":        nil, // the same
	} {
		for _, back := range []bool{false, true} {
			before, after := prefix, route("type: RegularExpression, value: '"+text+"'")
			if back {
				before, after = after, before
			}
			got, err := Diff(newTable(t, Options{}, before), newTable(t, Options{}, after))
			if err != nil {
				t.Fatal(err)
			}
			if got.Changes() != len(want) || !strings.Contains(got.String(), "note: regular expressions of HTTPRoute shop/re are compared") {
				t.Errorf("%s, back %v: %s", text, back, got)
			}
			for _, row := range want {
				if !back && !strings.Contains(got.String(), row+"\n") {
					t.Errorf("%s: want %s, got %s", text, row, got)
				}
			}
		}
	}
}

// TestDiffOfCalls: expressions on the service and the method of a gRPC request are compared by what each of them has beyond the other, and by names that
// are matched as a whole.
func TestDiffOfCalls(t *testing.T) {
	const note = "note: regular expressions of GRPCRoute shop/re are compared"
	route := func(match string) string {
		return object("GRPCRoute shop/re", onCart+`, rules: [{matches: [{method: {`+match+`}}], `+toV2+`}, {`+toV1+`}]`)
	}
	regular := func(service, method string) string {
		return route("type: RegularExpression, service: '" + service + "', method: '" + method + "'")
	}
	exact := route("service: a.B, method: Get")
	for _, test := range []struct {
		before, after string
		want          []string
	}{
		{regular(`a[.]B`, "Get"), regular(`a[.]B`, "Get|List"), []string{"grpc a.B/~ Get|List such as a.B/List (except grpc a.B/Get)"}},
		{regular("a[.]B", "Get"), regular("a[.]B", "Get|Getter"), []string{"grpc a.B/~ Get|Getter such as a.B/Getter (except grpc a.B/Get)"}},
		{regular("a[.]B", "Get"), regular("a[.]B", "Get.*"), []string{"grpc a.B/~ Get.* such as a.B/Geta (except grpc a.B/Get)"}},
		{regular("a[.]B", "Get.*"), regular("a[.]B", "(Get|List).*"), []string{"grpc a.B/~ (Get|List).* such as a.B/List (except grpc a.B/~ Get.*)"}},
		{regular("a[.]B", "Get"), regular("a[.]B|a[.]C", "Get"), []string{"grpc ~ a[.]B|a[.]C/Get such as a.C/Get (except grpc a.B/Get)"}},
		{exact, regular("a[.]B", "Get|List"), []string{"grpc a.B/~ Get|List such as a.B/List (except grpc a.B/Get)"}},
		{exact, route("type: RegularExpression, service: a.B, method: Get|List"), []string{
			"grpc ~ a.B/~ Get|List such as aaB/Get (except grpc a.B/Get)", "grpc a.B/~ Get|List such as a.B/List (except grpc a.B/Get)",
		}},
		{route("method: Get"), route("type: RegularExpression, method: Get|List"), []string{"grpc */~ Get|List such as x/List (except grpc */Get)"}},
		{route("service: a.B"), route("type: RegularExpression, service: 'a[.].*'"), []string{"grpc ~ a[.].*/* such as a./x (except grpc a.B/*)"}},
		{exact, regular("a[.]B", "G(et)"), nil}, // the same
	} {
		for _, back := range []bool{false, true} {
			before, after := test.before, test.after
			if back {
				before, after = after, before
			}
			got, err := Diff(newTable(t, Options{}, before), newTable(t, Options{}, after))
			if err != nil {
				t.Fatal(err)
			}
			if got.Changes() != len(test.want) || !strings.Contains(got.String(), note) {
				t.Errorf("%s -> %s: %s", before, after, got)
			}
			for _, row := range test.want {
				if !strings.Contains(got.String(), row+"  ") {
					t.Errorf("%s -> %s: want %s, got %s", before, after, row, got)
				}
			}
		}
	}
}

// TestExampleOfSeveral: an example meets all of some expressions, and none of others, if there is one.
func TestExampleOfSeveral(t *testing.T) {
	for _, test := range []struct {
		these, others []string
		want          string
		all           bool
	}{
		{[]string{"[0-9]+"}, []string{"[0-9]{1,4}"}, "00000", true},
		{[]string{"[0-9]"}, []string{`\d`}, "", true},
		{[]string{"a.*", ".*b"}, nil, "ab", true},
		{[]string{"(gold|silver)"}, []string{"g.*"}, "silver", true},
		{[]string{"(?i)gold"}, []string{"gold"}, "golD", true},
		{[]string{`.*\bb`}, []string{"b"}, "!b", true},
		{[]string{"(a|b)*a(a|b){16}"}, []string{"(a|b)*"}, "", false}, // it takes too long
	} {
		conditions := func(texts []string) (out []*condition) {
			for _, text := range texts {
				c := newCondition(mesh.Condition{Type: mesh.RegularExpression, Text: text})
				out = append(out, &c)
			}
			return out
		}
		budget := maxSearches
		if got, all := example(conditions(test.these), conditions(test.others), &budget); got != test.want || all != test.all {
			t.Errorf("%s without %s: %q, %v; want %q, %v", test.these, test.others, got, all, test.want, test.all)
		}
	}
}
