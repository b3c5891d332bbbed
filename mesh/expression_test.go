package mesh_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestExpressions: every value of type RegularExpression is found, with its place, and no other.
func TestExpressions(t *testing.T) {
	http := decodeRule(t, mesh.HTTPRoute, `{"matches": [{"path": {"type": "Exact", "value": "/a"}}, {
		"path": {"type": "RegularExpression", "value": "/b"},
		"headers": [{"name": "x", "value": "c"}, {"type": "RegularExpression", "name": "y", "value": "d"}],
		"queryParams": [{"type": "RegularExpression", "name": "z", "value": "e"}], "method": "GET"}]}`)
	grpc := decodeRule(t, mesh.GRPCRoute, `{"matches": [{"method": {"type": "RegularExpression", "service": "f", "method": "g"}},
		{"method": {"type": "RegularExpression", "service": "h"}}, {"method": {"service": "i"}}]}`)
	want := []mesh.Expression{
		{Path: "spec.rules[0].matches[1].path.value", Subject: "path", Text: "/b"},
		{Path: "spec.rules[0].matches[1].headers[1].value", Subject: "header y", Text: "d"},
		{Path: "spec.rules[0].matches[1].queryParams[0].value", Subject: "query parameter z", Text: "e"},
		{Path: "spec.rules[0].matches[0].method.service", Subject: "gRPC service", Text: "f"},
		{Path: "spec.rules[0].matches[0].method.method", Subject: "gRPC method", Text: "g"},
		{Path: "spec.rules[0].matches[1].method.service", Subject: "gRPC service", Text: "h"},
	}
	got := append(http.Expressions(), grpc.Expressions()...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInvalidExpression: what Envoy's RE2 refuses, and what Linkerd's engine does.
func TestInvalidExpression(t *testing.T) {
	linkerd := mesh.FindProfile(mesh.Linkerd)
	for text, want := range map[string]struct{ envoy, linkerd bool }{
		"/v[0-9]+/.*":              {},
		`(?i)^/Admin(/.*)?$`:       {},
		`(?P<tenant>[a-z]+)\.a`:    {},
		`(?<tenant>[a-z]+)\.a`:     {},
		"a{1000}":                  {},
		"a{2000}":                  {envoy: true},
		`\Qa.b\E`:                  {linkerd: true},
		`a\123`:                    {linkerd: true},
		`\\Q`:                      {},
		"":                         {true, true},
		"*.example.com":            {true, true},
		"/[a":                      {true, true},
		"/(?<x>":                   {true, true},
		"/(?!admin).*":             {true, true},
		`(a)\1`:                    {true, true},
		"(":                        {true, true},
		"a)(b":                     {true, true}, // valid in parentheses only
		"((a{100}){100}){100}":     {envoy: true},
		"(a|b|c){900}(a|b|c){900}": {},
	} {
		for profile, want := range map[*mesh.Profile]bool{nil: want.envoy, mesh.FindProfile(mesh.Istio): want.envoy, linkerd: want.linkerd} {
			if err := profile.InvalidExpression(text); (err != nil) != want {
				t.Errorf("%q in %s: %v", text, profile.Dialect(), err)
			}
		}
		if _, _, err := mesh.CompileExpression(text); (err != nil) != want.envoy {
			t.Errorf("%q: compiled with %v", text, err)
		}
	}
}

// TestExpressionCost: what passes the bound takes no longer than the bound says, whatever is
// written, with room for a slow machine.
func TestExpressionCost(t *testing.T) {
	for _, unit := range []string{
		`\pL`, `(?i)\pL`, `[\pL\PL]`, `\pL|`, "a|", "ab|", "a{2}", "(a", "[a-z]", "(?i)[a-z]", "(?i)[B-\U0001e942]", `(?i)[B-\x{1e942}]`, `[^B-\x{1e942}]`,
		"(?i)é", "é-ü", `[\000-\777]`,
	} {
		for _, flags := range []string{"", "(?i)", "(?i)["} {
			text := flags + strings.Repeat(unit, 4096/len(unit))
			if strings.HasSuffix(flags, "[") {
				text += "]"
			}
			best := time.Hour
			for range 3 {
				start := time.Now() //nolint:forbidigo // the clock of the test
				_ = mesh.ParseExpression(text)
				best = min(best, time.Since(start)) //nolint:forbidigo // as above
			}
			if most := 4 * mesh.MaxExpressionCost * time.Microsecond; best > most {
				t.Errorf("%s%s...: %s, want at most %s", flags, unit, best, most)
			}
		}
	}
}

// TestNotPortable: the examples of GEP-4359, and what it leaves out.
func TestNotPortable(t *testing.T) {
	for text, want := range map[string]string{
		`^(https?://)?www\.example\.(com|org)$`: "",
		"a*":                                    "",
		"^colo(u|)r$":                           "",
		"^colou{0,1}r$":                         "",
		`\*+`:                                   "",
		"[a-zA-Z0-9.]":                          "",
		"^[^^]$":                                "",
		"^[-a]$":                                "",
		`^[-.*(){}|^$\\]$`:                      "",
		`^[\-\.\*\(\)\{\}\|\^\$\\]$`:            "",
		`^[\-Z]$`:                               "",
		`a{2}b{2,}`:                             "",
		`(a)\1`:                                 `\1`,
		"(?i)a":                                 "(?i",
		`\d+`:                                   `\d`,
		`[\w]`:                                  `[\w]`,
		`\xFF`:                                  `\x`,
		"a*?":                                   "?",
		"a**":                                   "*",
		"a{1,2}?":                               "?",
		"a{,2}":                                 "{",
		"[[:alpha:]]":                           "[[:alpha:]",
		"[]]":                                   "[]",
		"*a":                                    "*",
		"(+a)":                                  "+",
		"é":                                     "é",
		`a\`:                                    `\`,
		"a\nb":                                  "\n",
		"[a":                                    "[a]",
	} {
		if got := mesh.NotPortable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestValidCorpus: expressions as charts, documentation, and manifests have them are valid
// for each mesh.
func TestValidCorpus(t *testing.T) {
	data, err := os.ReadFile("testdata/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) < 110 {
		t.Fatalf("%d expressions", len(lines))
	}
	for _, text := range lines {
		for _, profile := range append(mesh.Profiles(), nil) {
			if err := profile.InvalidExpression(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if cost := mesh.ExpressionCost(text); cost > mesh.MaxExpressionCost/100 {
			t.Errorf("%s costs %d", text, cost)
		}
	}
}

// TestModifiedHeaders: each header of each modifier is found, with its place.
func TestModifiedHeaders(t *testing.T) {
	route := decodeRule(t, mesh.HTTPRoute, `{"filters": [{"type": "URLRewrite"}, {"requestHeaderModifier": {
		"set": [{"name": "a", "value": "1"}], "add": [{"name": "b", "value": "2"}], "remove": ["c"]}}],
		"backendRefs": [{"name": "x"}, {"name": "y", "filters": [{"responseHeaderModifier": {"remove": ["d", "e"]}}]}]}`)
	var got []string
	for _, header := range route.ModifiedHeaders() {
		got = append(got, fmt.Sprintf("%s %s=%s %t %d", header.NamePath(), header.Name, header.Value, header.Response, header.Modifier))
	}
	want := []string{
		"spec.rules[0].filters[1].requestHeaderModifier.set[0].name a=1 false 0",
		"spec.rules[0].filters[1].requestHeaderModifier.add[0].name b=2 false 0",
		"spec.rules[0].filters[1].requestHeaderModifier.remove[0] c= false 0",
		"spec.rules[0].backendRefs[1].filters[0].responseHeaderModifier.remove[0] d= true 1",
		"spec.rules[0].backendRefs[1].filters[0].responseHeaderModifier.remove[1] e= true 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
