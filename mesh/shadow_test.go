package mesh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
			`{"method": {"service": "a.B", "method": "Do"}}`: "a gRPC call of a.B/Do",
			`{"method": {"method": "Do"}}`:                   "a gRPC call of example.Other/Do",
		},
		mesh.TCPRoute: {`{}`: ""},
	} {
		for match, want := range matches {
			route := decodeRule(t, kind, `{"matches": [`+match+`]}`)
			if diff := cmp.Diff(want, route.Example(mesh.PlacedMatch{})); diff != "" {
				t.Errorf("%s %s (-want +got)\n%s", kind, match, diff)
			}
		}
	}
}

// TestShadowsOfOtherKinds: their rules have no matches.
func TestShadowsOfOtherKinds(t *testing.T) {
	if got := decodeRule(t, mesh.TCPRoute, `{}, {}`).Shadows(nil); got != nil {
		t.Errorf("%+v", got)
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
	if shadows := route.Shadows(keys); len(shadows) > 0 {
		t.Errorf("%d matches never decide", len(shadows))
	}
	const most = 1_000_000 // 8,500,000 without a bound
	if got := testing.AllocsPerRun(1, func() { route.Shadows(keys) }); got > most {
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
		most = 300 * time.Millisecond
	)
	for name, test := range map[string]struct{ first, others string }{
		"many instructions": {headers("RegularExpression", "((a?b?c?d?){1,1000}(a?b?c?d?){1,1000}(a?b?c?d?){1,1000})"), headers("Exact", strings.Repeat("a", 60)+"%d")},
		"folded ranges":     {headers("RegularExpression", "(?i)["+strings.Repeat("B-\U0001e942", 9)+"]"), headers("Exact", "%d")},
		"a long path":       {`"path": {"value": "/` + strings.Repeat("/", long) + `"}, ` + headers("RegularExpression", "a"), `"path": {"value": "/%d"}`},
		"a long name":       {`"headers": [{"type": "RegularExpression", "name": "` + strings.Repeat("A", long) + `", "value": "a"}]`, `"headers": [{"name": "b", "value": "%d"}]`},
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
			keys := route.Attached(nil).Matches
			best := time.Hour
			for try := 0; try < 3 && best > most; try++ { // others may use the machine too
				best = time.Duration(testing.Benchmark(func(b *testing.B) {
					for b.Loop() {
						route.Shadows(keys)
					}
				}).NsPerOp())
			}
			if t.Log(best); best > most {
				t.Errorf("compared in %s, want at most %s", best, most)
			}
		})
	}
}
