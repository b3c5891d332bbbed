package mesh_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/mesh"
)

// TestExample describes a request of each sort of match.
func TestExample(t *testing.T) {
	for kind, matches := range map[mesh.RouteKind]map[string]string{
		mesh.HTTPRoute: {
			`{}`: "GET /",
			`{"path": {"value": "/a/"}, "method": "PUT"}`:                                                                           "PUT /a",
			`{"path": {"type": "RegularExpression", "value": "/v[0-9]"}}`:                                                           "GET to a path that matches /v[0-9]",
			`{"headers": [{"name": "X", "value": "1"}], "queryParams": [{"name": "a", "value": "b"}, {"name": "c", "value": "d"}]}`: "GET / with header X: 1 and 2 more",
			`{"queryParams": [{"name": "a", "type": "RegularExpression", "value": "b+"}]}`:                                          "GET / with query parameter a that matches b+",
			`{"path": {"value": "/a-path-that-is-longer-than-what-a-warning-has-room-for-in-the-end"}}`:                             "GET /a-path-that-is-longer-than-what-a-warning-has-room-f...",
		},
		mesh.GRPCRoute: {
			`{"method": {"service": "a.B", "method": "Do"}}`:                                      "a gRPC call of a.B/Do",
			`{"method": {"method": "Do"}}`:                                                        "a gRPC call of example.Other/Do",
			`{"method": {"type": "RegularExpression", "service": "a[.]B", "method": "Get|List"}}`: "a gRPC call that matches a[.]B/Get|List",
		},
		mesh.TCPRoute: {`{}`: ""},
	} {
		for match, want := range matches {
			route := decodeRule(t, kind, `{"matches": [`+match+`]}`)
			if diff := gocmp.Diff(want, route.Example(mesh.PlacedMatch{})); diff != "" {
				t.Errorf("%s %s (-want +got)\n%s", kind, match, diff)
			}
		}
	}
}

// TestShadowsOfOtherKinds: their rules have no matches.
func TestShadowsOfOtherKinds(t *testing.T) {
	if got := decodeRule(t, mesh.TCPRoute, `{}, {}`).Shadows(nil, nil); got != nil {
		t.Errorf("%+v", got)
	}
}

// TestShadowsByRank: what is certain of a path by regular expression, where a mesh ranks it after every
// prefix, or before.
func TestShadowsByRank(t *testing.T) {
	type matches = []string
	path := func(value string) string { return `{"path": {"value": "` + value + `"}}` }
	expression := func(value string) string {
		return `{"path": {"type": "RegularExpression", "value": "` + value + `"}}`
	}
	call := func(kind, service, method string) string {
		return fmt.Sprintf(`{"method": {"type": %q, "service": %q, "method": %q}}`, kind, service, method)
	}
	const regular = "RegularExpression"
	for name, test := range map[string]struct {
		kind    mesh.RouteKind
		matches matches
		// by says of each mesh which match takes the requests of which, and = that it is not by rank.
		istio, cilium string
		// others is that of meshes of which it is not known, and of the specification.
		others string
	}{
		"below every path":                 {matches: matches{expression("/a/[0-9]+"), path("/")}, istio: "0<1"},
		"the other way round":              {matches: matches{path("/"), expression("/a/[0-9]+")}, istio: "1<0"},
		"all that is below a prefix":       {matches: matches{expression("^/a/(b|c)$"), path("/a")}, istio: "0<1"},
		"the prefix with a slash":          {matches: matches{expression("/a/b"), path("/a/")}, istio: "0<1"},
		"beside a prefix":                  {matches: matches{expression("/ab"), path("/a")}},
		"of the length of a prefix":        {matches: matches{expression("/a.?"), path("/a")}},
		"one of two is elsewhere":          {matches: matches{expression("/a/b|/c"), path("/a")}},
		"in any case":                      {matches: matches{expression("(?i)/A/b"), path("/A")}},
		"an expression for all":            {matches: matches{path("/a"), path("/"), expression("/.*")}, istio: "2<1", cilium: "0<2 1<2"},
		"without a slash":                  {matches: matches{path("/a"), path("/"), expression(".*")}, istio: "2<1", cilium: "0<2 1<2"},
		"one for a part":                   {matches: matches{path("/a/b"), expression("^/a/.*$"), path("/a")}, istio: "1<2", cilium: "0<1"},
		"an end within it":                 {matches: matches{path("/a"), expression("/a$.*")}},
		"the longer one":                   {matches: matches{expression("/a.*"), expression("/a/[0-9]")}},
		"the longer one for all":           {matches: matches{expression("/[a]"), expression("/[^a]"), expression("/.*()")}},
		"an expression for all of another": {matches: matches{expression("/a"), expression("^/.*")}, istio: "0<1", cilium: "0<1"},
		"equally long":                     {matches: matches{expression("/.*"), expression("/ab")}, istio: "1=0", cilium: "1=0"},
		"equal":                            {matches: matches{expression("/a"), expression("/a")}, istio: "1=0", cilium: "1=0", others: "1=0"},
		"an exact path":                    {matches: matches{expression("/.*"), `{"path": {"type": "Exact", "value": "/a"}}`}},
		"costly":                           {matches: matches{expression("/a/" + strings.Repeat("(a|b)*", 40)), path("/a")}},
		"costly below every path":          {matches: matches{expression("/a/" + strings.Repeat("(a|b)*", 40)), path("/")}, istio: "0<1"},
		"a method of the prefix":           {matches: matches{expression("/a"), `{"path": {"value": "/"}, "method": "GET"}`}},
		"a method of both":                 {matches: matches{`{"path": {"type": "RegularExpression", "value": "/a"}, "method": "GET"}`, `{"path": {"value": "/"}, "method": "GET"}`}, istio: "0<1"},
		"more headers":                     {matches: matches{`{"path": {"type": "RegularExpression", "value": "/a"}, "headers": [{"name": "x", "value": "1"}, {"name": "y", "value": "1"}]}`, `{"headers": [{"name": "Y", "type": "RegularExpression", "value": "[12]"}]}`}, istio: "0<1"},
		"a header of another value":        {matches: matches{`{"path": {"type": "RegularExpression", "value": "/a"}, "headers": [{"name": "x", "value": "1"}]}`, `{"headers": [{"name": "x", "value": "2"}]}`}},
		"a call by expression":             {mesh.GRPCRoute, matches{call(regular, "a[.]B", ""), call("Exact", "a.B", "")}, "0<1", "", ""},
		"a call of any service":            {mesh.GRPCRoute, matches{call("Exact", "", "Do"), call("Exact", "a.B", ""), `{}`}, "", "", ""},
		"a call that ranks by its path":    {mesh.GRPCRoute, matches{`{}`, call(regular, "a[.]B", "")}, "", "", ""},
	} {
		for profile, want := range map[mesh.ProfileName]string{mesh.Istio: test.istio, mesh.Cilium: test.cilium, mesh.Kuma: test.others, "": test.others} {
			route := decodeRule(t, cmp.Or(test.kind, mesh.HTTPRoute), `{"matches": [`+strings.Join(test.matches, ",")+`]}`)
			p := mesh.FindProfile(profile)
			var got []string
			for _, shadow := range route.Shadows(route.Attached(p).Matches, p) {
				sign := "="
				if shadow.Ranked {
					sign = "<"
				}
				got = append(got, fmt.Sprint(shadow.Match, sign, shadow.By.Match))
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%s, %q: got %q, want %q", name, profile, got, want)
			}
		}
	}
}

// TestShadowsOfRulesWithoutMatches: Istio ranks a rule of a GRPCRoute without matches after one whose match has
// no condition, if no parentRef has a port.
func TestShadowsOfRulesWithoutMatches(t *testing.T) {
	route := decodeRule(t, mesh.GRPCRoute, `{}, {"matches": [{}]}`)
	for profile, want := range map[*mesh.Profile]int{nil: 1, mesh.FindProfile(mesh.Istio): 0} {
		shadows := route.Shadows(route.Attached(profile).Matches, profile)
		if len(shadows) != 1 || shadows[0].Rule != want || shadows[0].Ranked {
			t.Errorf("want rule %d, got %+v", want, shadows)
		}
	}
}

// TestUnmatchedIsBounded: it is asked for each route on a Service, about all of them.
func TestUnmatchedIsBounded(t *testing.T) {
	route := &mesh.AttachedRoute{Kind: mesh.HTTPRoute}
	if got := (&mesh.Owner{Routes: slices.Repeat([]*mesh.AttachedRoute{route}, 256)}).Unmatched(mesh.HTTPRoute); got != "GET /" {
		t.Errorf("of 256 routes: %q", got)
	}
	if got := (&mesh.Owner{Routes: slices.Repeat([]*mesh.AttachedRoute{route}, 257)}).Unmatched(mesh.HTTPRoute); got != "" {
		t.Errorf("of 257 routes: %q", got)
	}
}

// TestUnmatchedByNobody: without routes every request reaches the Service.
func TestUnmatchedByNobody(t *testing.T) {
	if got := new(mesh.Owner).Unmatched(mesh.HTTPRoute); got != "" {
		t.Error(got)
	}
}

// TestShadowsAreBounded: a route as large as the API server takes it is looked through
// with work that its size justifies.
func TestShadowsAreBounded(t *testing.T) {
	match := func(kind, value, last string) string {
		headers := []string{fmt.Sprintf(`{"name": "z", "type": %q, "value": %q}`, kind, last)}
		for i := range 15 {
			headers = append(headers, fmt.Sprintf(`{"name": "h%d", "type": %q, "value": %q}`, i, kind, value))
		}
		return `{"headers": [` + strings.Join(headers, ",") + `]}`
	}
	var matches []string
	for i := range 64 {
		matches = append(matches, match("RegularExpression", strings.Repeat("(a|b)*", 10), fmt.Sprintf("[0-9]%d", i)))
	}
	for i := range 64 {
		matches = append(matches, match("Exact", strings.Repeat("ab", 30), fmt.Sprintf("x%d", i)))
	}
	route := decodeRule(t, mesh.HTTPRoute, `{"matches": [`+strings.Join(matches[:64], ",")+`]}, {"matches": [`+strings.Join(matches[64:], ",")+`]}`)
	keys := route.Attached(nil).Matches
	if shadows := route.Shadows(keys, nil); len(shadows) > 0 {
		t.Errorf("%d matches never decide", len(shadows))
	}
	const most = 1_000_000 // 8,500,000 without a bound
	if got := testing.AllocsPerRun(1, func() { route.Shadows(keys, nil) }); got > most {
		t.Errorf("%.0f allocations, want at most %d", got, most)
	} else {
		t.Logf("%.0f allocations", got)
	}
}

// TestShadowsAreLinear: neither costly regular expressions nor long values are looked at
// again and again.
func TestShadowsAreLinear(t *testing.T) {
	headers := func(kind, value string) string {
		all := make([]string, 16)
		for i := range all {
			all[i] = fmt.Sprintf(`{"name": "h%d", "type": %q, "value": %q}`, i, kind, value)
		}
		return `"headers": [` + strings.Join(all, ",") + `]`
	}
	const (
		long = 2 << 20
		most = 2 * time.Second // far above what it takes, also on a busy machine
	)
	for name, test := range map[string]struct{ first, others string }{
		"many instructions": {headers("RegularExpression", "((a?b?c?d?){1,1000}(a?b?c?d?){1,1000}(a?b?c?d?){1,1000})"), headers("Exact", strings.Repeat("a", 60)+"%d")},
		"folded ranges":     {headers("RegularExpression", "(?i)["+strings.Repeat("B-\U0001e942", 9)+"]"), headers("Exact", "%d")},
		"a long path":       {`"path": {"value": "/` + strings.Repeat("/", long) + `"}, ` + headers("RegularExpression", "a"), `"path": {"value": "/%d"}`},
		"paths by expression": {
			`"path": {"value": "/` + strings.Repeat("/a", long/4) + `"}, ` + headers("RegularExpression", "a"),
			`"path": {"type": "RegularExpression", "value": "/` + strings.Repeat("(a|b)*", 20) + `%d"}, ` + headers("Exact", "%d"),
		},
		"below every path": {headers("RegularExpression", "(a?b?c?d?){1,60}"), `"path": {"type": "RegularExpression", "value": "/a%d"}, ` + headers("Exact", strings.Repeat("a", 60)+"%d")},
		"a long name":      {`"headers": [{"type": "RegularExpression", "name": "` + strings.Repeat("A", long) + `", "value": "a"}]`, `"headers": [{"name": "b", "value": "%d"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			matches := []string{test.first}
			for i := range 255 {
				matches = append(matches, strings.ReplaceAll(test.others, "%d", fmt.Sprint(i)))
			}
			var rules []string
			for chunk := range slices.Chunk(matches, 64) {
				rules = append(rules, `{"matches": [{`+strings.Join(chunk, "},{")+`}]}`)
			}
			route := decodeRule(t, mesh.HTTPRoute, strings.Join(rules, ","))
			keys, istio := route.Attached(nil).Matches, mesh.FindProfile(mesh.Istio) // it compares more than the specification
			best := time.Hour
			for try := 0; try < 3 && best > most; try++ { // others may use the machine too
				best = time.Duration(testing.Benchmark(func(b *testing.B) {
					for b.Loop() {
						route.Shadows(keys, istio)
					}
				}).NsPerOp())
			}
			if t.Log(best); best > most {
				t.Errorf("compared in %s, want at most %s", best, most)
			}
		})
	}
}
