package envoy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gammaguard/gammaguard/internal/cli/envoy"
)

// forwards returns a route configuration of one virtual host with a route for each match, to the
// clusters c0, c1 and so on.
func forwards(matches ...string) string {
	routes := make([]string, len(matches))
	for i, match := range matches {
		routes[i] = fmt.Sprintf(`{"match": %s, "route": {"cluster": "c%d"}}`, match, i)
	}
	return config(routes...)
}

func config(routes ...string) string {
	return `{"name": "80", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [` + strings.Join(routes, ",") + `]}]}`
}

// answer returns what becomes of a request: the cluster, the status, or the error.
func answer(t *testing.T, text string, r envoy.Request) string {
	t.Helper()
	configs, err := envoy.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := configs[0].Answer(&r)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case len(got.Shares) == 1:
		return got.Shares[0].Cluster
	}
	return fmt.Sprint(got.Status)
}

func TestMatch(t *testing.T) {
	header := func(name, value string) envoy.Request {
		return envoy.Request{Path: "/", Method: "GET", Headers: map[string]string{name: value}}
	}
	for match, want := range map[string]struct{ yes, no []envoy.Request }{
		`{"prefix": "/a"}`:                          {[]envoy.Request{{Path: "/a"}, {Path: "/ab"}}, []envoy.Request{{Path: "/"}, {Path: "/A"}}},
		`{"path": "/a"}`:                            {[]envoy.Request{{Path: "/a"}}, []envoy.Request{{Path: "/a/"}}},
		`{"path_separated_prefix": "/a"}`:           {[]envoy.Request{{Path: "/a"}, {Path: "/a/b"}}, []envoy.Request{{Path: "/ab"}}},
		`{"pathSeparatedPrefix": "/a"}`:             {[]envoy.Request{{Path: "/a/"}}, []envoy.Request{{Path: "/b"}}},
		`{"safeRegex": {"regex": "/a|/b"}}`:         {[]envoy.Request{{Path: "/b"}}, []envoy.Request{{Path: "/bc"}, {Path: "/x/b"}}},
		`{"prefix": "/A", "case_sensitive": false}`: {[]envoy.Request{{Path: "/ab"}}, []envoy.Request{{Path: "/b"}}},
		`{"prefix": "/", "grpc": {}}`: {
			[]envoy.Request{header("content-type", "application/grpc"), header("content-type", "application/grpc+proto")},
			[]envoy.Request{header("content-type", "application/grpc-web"), header("content-type", "text/html")},
		},
		`{"prefix": "/", "headers": [{"name": ":method", "stringMatch": {"exact": "PUT"}}]}`: {
			[]envoy.Request{{Path: "/", Method: "PUT"}}, []envoy.Request{{Path: "/", Method: "GET"}},
		},
		`{"prefix": "/", "headers": [{"name": "X", "exact_match": "1"}]}`:                                 {[]envoy.Request{header("x", "1")}, []envoy.Request{header("x", "12"), header("y", "1")}},
		`{"prefix": "/", "headers": [{"name": "x", "stringMatch": {"exact": "a"}, "invertMatch": true}]}`: {[]envoy.Request{header("x", "b")}, []envoy.Request{header("x", "a"), header("y", "b")}},
		`{"prefix": "/", "headers": [{"name": "x", "stringMatch": {"exact": "a"}, "invertMatch": true, "treatMissingHeaderAsEmpty": true}]}`: {
			[]envoy.Request{header("y", "b")}, []envoy.Request{header("x", "a")},
		},
		`{"prefix": "/", "headers": [{"name": "x"}]}`:                                                     {[]envoy.Request{header("x", "")}, []envoy.Request{header("y", "")}},
		`{"prefix": "/", "headers": [{"name": "x", "presentMatch": false}]}`:                              {[]envoy.Request{header("y", "")}, []envoy.Request{header("x", "")}},
		`{"prefix": "/", "headers": [{"name": "x", "rangeMatch": {"start": "1", "end": "3"}}]}`:           {[]envoy.Request{header("x", "2")}, []envoy.Request{header("x", "3"), header("x", "one")}},
		`{"prefix": "/", "headers": [{"name": "x", "stringMatch": {"safeRegex": {"regex": "1.*"}}}]}`:     {[]envoy.Request{header("x", "12")}, []envoy.Request{header("x", "21")}},
		`{"prefix": "/", "headers": [{"name": "x", "stringMatch": {"suffix": "B", "ignoreCase": true}}]}`: {[]envoy.Request{header("x", "ab")}, []envoy.Request{header("x", "ba")}},
		`{"prefix": "/", "queryParameters": [{"name": "p", "stringMatch": {"prefix": "1"}}]}`:             {[]envoy.Request{{Path: "/", Query: map[string]string{"p": "12"}}}, []envoy.Request{{Path: "/"}}},
		`{"prefix": "/", "query_parameters": [{"name": "p", "present_match": true}, {"name": "q"}]}`:      {[]envoy.Request{{Path: "/", Query: map[string]string{"p": "", "q": ""}}}, []envoy.Request{{Path: "/", Query: map[string]string{"p": ""}}}},
	} {
		for _, r := range want.yes {
			if got := answer(t, forwards(match), r); got != "c0" {
				t.Errorf("%s: %+v: got %s, want a match", match, r, got)
			}
		}
		for _, r := range want.no {
			if got := answer(t, forwards(match), r); got != "404" {
				t.Errorf("%s: %+v: got %s, want none", match, r, got)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	text := forwards(`{"prefix": "/a"}`, `{"path": "/a/b"}`, `{"prefix": "/"}`)
	for path, want := range map[string]string{"/a/b": "c0", "/b": "c2"} {
		if got := answer(t, text, envoy.Request{Path: path}); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestUnknown: what is not known is an error for the requests that hang on it alone.
func TestUnknown(t *testing.T) {
	text := forwards(`{"prefix": "/a", "cookies": [{"name": "c"}]}`, `{"prefix": "/"}`)
	if got := answer(t, text, envoy.Request{Path: "/b"}); got != "c1" {
		t.Errorf("got %s", got)
	}
	if got := answer(t, text, envoy.Request{Path: "/a"}); !strings.Contains(got, "virtualHosts[0].routes[0].match.cookies") {
		t.Errorf("got %s, want the place of the condition", got)
	}
}

func TestVirtualHosts(t *testing.T) {
	host := func(cluster, domains string) string {
		return fmt.Sprintf(`{"domains": [%s], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": %q}}]}`, domains, cluster)
	}
	text := `[{"virtualHosts": [` + strings.Join([]string{
		host("any", `"*"`), host("suffix", `"*.example.com"`), host("longer", `"*.a.example.com"`),
		host("prefix", `"example.*"`), host("exact", `"b.example.com", "c"`),
	}, ",") + `]}]`
	for name, want := range map[string]string{
		"other": "any", "x.example.com": "suffix", "x.a.example.com": "longer", "example.org": "prefix", "B.example.com": "exact", "c": "exact", "c:80": "any",
	} {
		if got := answer(t, text, envoy.Request{Host: name, Path: "/"}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	ignoring := strings.Replace(text, `{"virtualHosts"`, `{"ignorePortInHostMatching": true, "virtualHosts"`, 1)
	if got := answer(t, ignoring, envoy.Request{Host: "c:80", Path: "/"}); got != "exact" {
		t.Errorf("got %s", got)
	}
}

func TestActions(t *testing.T) {
	for action, want := range map[string]*envoy.Answer{
		`"directResponse": {"status": 500}`: {Status: 500, Path: "/a/b"},
		`"redirect": {"hostRedirect": "h", "portRedirect": 8443, "prefixRewrite": "/n", "responseCode": "FOUND", "schemeRedirect": "https"}`: {
			Status: 302, Path: "/n/b", Redirect: &envoy.Redirect{Scheme: "https", Host: "h", Port: 8443, Path: "/n/b"},
		},
		`"redirect": {"path_redirect": "/n"}`: {Status: 301, Path: "/n", Redirect: &envoy.Redirect{Path: "/n"}},
		`"route": {"cluster": "c", "timeout": "0s", "regexRewrite": {"pattern": {"regex": "^/a(.*)$"}, "substitution": "/n\\1"}, "hostRewriteLiteral": "h",
		  "retryPolicy": {"perTryTimeout": "1s"}, "requestMirrorPolicies": [{"cluster": "m", "runtimeFraction": {"defaultValue": {"numerator": 500, "denominator": "TEN_THOUSAND"}}}]}`: {
			Path: "/n/b", Host: "h", TryTimeout: 1e9, Shares: []envoy.Share{{Cluster: "c", Weight: 1}}, Mirrors: []envoy.Mirror{{Cluster: "m", Parts: 500, Of: 10_000}},
		},
		`"route": {"cluster": "c", "maxStreamDuration": {"maxStreamDuration": "0s"}}`: {Path: "/a/b", Shares: []envoy.Share{{Cluster: "c", Weight: 1}}},
		`"route": {"weightedClusters": {"clusters": [{"name": "c", "weight": 3, "requestHeadersToRemove": ["X"]}, {"name": "d", "weight": 0}]}},
		  "requestHeadersToAdd": [{"header": {"key": "A", "value": "5%%"}, "appendAction": "OVERWRITE_IF_EXISTS_OR_ADD"}, {"header": {"key": "b", "value": "1"}}]`: {
			Path: "/a/b", Timeout: 15e9, Shares: []envoy.Share{{Cluster: "c", Weight: 3, Headers: envoy.Headers{Request: []string{"remove x"}}}},
			Headers: envoy.Headers{Request: []string{"set a=5%", "add b=1"}},
		},
	} {
		configs, err := envoy.Read([]byte(config(`{"match": {"prefix": "/a"}, ` + action + `}`)))
		if err != nil {
			t.Errorf("%s: %v", action, err)
			continue
		}
		got, err := configs[0].Answer(&envoy.Request{Path: "/a/b"})
		if err != nil {
			t.Errorf("%s: %v", action, err)
			continue
		}
		want.Route = "virtualHosts[0].routes[0]"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: want, got:\n%s", action, diff)
		}
	}
}

func TestRead(t *testing.T) {
	one := forwards(`{"prefix": "/"}`)
	for _, text := range []string{
		one, "[" + one + "]",
		`{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump"}, {"@type": "type.googleapis.com/envoy.admin.v3.RoutesConfigDump",
		  "dynamic_route_configs": [{"version_info": "1", "route_config": ` + one + `}]}]}`,
		`{"kind": "CiliumEnvoyConfig", "spec": {"resources": [{"@type": "type.googleapis.com/envoy.config.listener.v3.Listener"},
		  {"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", ` + one[1:] + `]}}`,
	} {
		configs, err := envoy.Read([]byte(text))
		if err != nil || len(configs) != 1 || configs[0].Name != "80" {
			t.Errorf("%s: got %v, %v", text, configs, err)
		}
	}
	for text, want := range map[string]string{
		``:                        "empty or cut off",
		"{\n\"a\": }":             "line 2 is not valid JSON",
		`{} {}`:                   "goes on",
		`{"items": 3}`:            "items: want a route configuration, not the number 3",
		`{"kind": "Pod"}`:         "no route configuration",
		forwards(`{"prefix": 3}`): "virtualHosts[0].routes[0].match.prefix: want a string, not the number 3",
		forwards(`{"safeRegex": {"regex": "("}}`):                                  "virtualHosts[0].routes[0].match.safeRegex.regex: not a valid RE2 expression",
		config(`{"route": {"cluster": "c"}}`):                                      "virtualHosts[0].routes[0].match: a route has no match",
		config(`{"match": {"prefix": "/"}, "redirect": {"responseCode": "SOON"}}`): "redirect.responseCode: not a code",
	} {
		if _, err := envoy.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
