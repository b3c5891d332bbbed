package envoy

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Answer is what becomes of a request.
type Answer struct {
	// Route is the place of the route that decides; empty where none does, which is answered
	// with the status 404.
	Route string
	// Status is that of the answer that the proxy gives itself; zero where it forwards the
	// request.
	Status int
	// Redirect is where the answer sends the client; nil for none.
	Redirect *Redirect
	// Shares are the clusters that get the request, each a part of Total of it.
	Shares []Share
	// Path and Host are what the cluster is asked for.
	Path, Host string
	Headers    Headers
	// Timeout bounds the whole request, TryTimeout one try; zero for no bound.
	Timeout, TryTimeout time.Duration
	Mirrors             []Mirror
}

// Redirect is an answer that sends the client elsewhere; what is empty stays.
type Redirect struct {
	Scheme, Host, Path string
	Port               int64
}

// Share is a cluster, and its weight among those of an Answer.
type Share struct {
	Cluster string
	Weight  int64
	// Host is what the cluster is asked for, where that is not the Answer's.
	Host    string
	Headers Headers
}

// Mirror is a cluster that gets copies of Parts of Of requests.
type Mirror struct {
	Cluster   string
	Parts, Of int64
}

// Headers are changes of the headers of a request and of its response, each as
// "set name=value", "add name=value" or "remove name", in the order in which they are made.
type Headers struct{ Request, Response []string }

// with returns the changes, and then others.
func (h Headers) with(more ...changes) Headers {
	out := Headers{Request: append([]string(nil), h.Request...), Response: append([]string(nil), h.Response...)}
	for _, c := range more {
		out.Request, out.Response = append(out.Request, c.Request...), append(out.Response, c.Response...)
	}
	return out
}

// changes are those that one level of a configuration makes.
type changes = Headers

// changes reads the changes of headers of a route, a virtual host, or a weighted cluster.
func (n node) changes() changes {
	return changes{
		Request:  n.changesOf("requestHeadersToAdd", "requestHeadersToRemove"),
		Response: n.changesOf("responseHeadersToAdd", "responseHeadersToRemove"),
	}
}

func (n node) changesOf(add, remove string) []string {
	var out []string
	for _, name := range n.get(remove).list() {
		out = append(out, "remove "+strings.ToLower(name.text()))
	}
	for _, option := range n.get(add).list() {
		action := "add"
		switch option.get("appendAction").value {
		case "OVERWRITE_IF_EXISTS_OR_ADD":
			action = "set"
		case "ADD_IF_ABSENT":
			action = "add if absent"
		case "OVERWRITE_IF_EXISTS":
			action = "set if present"
		case nil, "APPEND_IF_EXISTS_OR_ADD":
			if !option.get("append").flag(true) {
				action = "set"
			}
		default:
			option.get("appendAction").fail("not an action that gammaguard knows")
		}
		header := option.get("header")
		out = append(out, fmt.Sprintf("%s %s=%s", action, strings.ToLower(header.get("key").text()), strings.ReplaceAll(header.get("value").text(), "%%", "%")))
	}
	return out
}

// action is what a route does with its requests.
type action struct {
	status   int
	redirect *Redirect
	change   pathChange
	shares   []Share
	host     string
	timeout  time.Duration
	try      time.Duration
	mirrors  []Mirror
	// other names an action that this package does not know; empty for none.
	other string
}

// pathChange is what becomes of a path: replaced as a whole, by its matched prefix, or by an
// expression.
type pathChange struct {
	whole, prefix *string
	expression    *regexp.Regexp
	substitution  string
}

// defaultTimeout is Envoy's, where a route has none.
const defaultTimeout = 15 * time.Second

// action reads what a route does.
func (n node) action() action {
	direct, redirect, forward := n.get("directResponse"), n.get("redirect"), n.get("route")
	switch {
	case direct.exists():
		return action{status: int(direct.get("status").number())}
	case redirect.exists():
		return redirect.redirect()
	case forward.exists():
		return forward.forward()
	}
	return action{other: n.place}
}

// The codes of redirects (config.route.v3.RedirectAction.RedirectResponseCode).
var redirectStatus = map[any]int{nil: 301, "MOVED_PERMANENTLY": 301, "FOUND": 302, "SEE_OTHER": 303, "TEMPORARY_REDIRECT": 307, "PERMANENT_REDIRECT": 308}

func (n node) redirect() action {
	out := action{redirect: &Redirect{Scheme: n.get("schemeRedirect").text(), Host: n.get("hostRedirect").text(), Port: n.get("portRedirect").number()}, change: n.pathChange()}
	if n.get("httpsRedirect").flag(false) {
		out.redirect.Scheme = "https"
	}
	if whole := n.get("pathRedirect"); whole.exists() {
		text := whole.text()
		out.change.whole = &text
	}
	code := n.get("responseCode")
	if _, isText := code.value.(string); isText || !code.exists() {
		out.status = redirectStatus[code.value]
	}
	if out.status == 0 {
		code.fail("not a code that gammaguard knows")
	}
	return out
}

func (n node) pathChange() (out pathChange) {
	if prefix := n.get("prefixRewrite"); prefix.exists() && prefix.text() != "" {
		text := prefix.text()
		out.prefix = &text
	}
	if rewrite := n.get("regexRewrite"); rewrite.exists() {
		pattern := rewrite.get("pattern").get("regex")
		if !pattern.spend(len(pattern.text())) {
			return out
		}
		expression, err := regexp.Compile(pattern.text())
		if err != nil {
			pattern.fail("not a valid RE2 expression: %v", err)
		}
		out.expression = expression
		out.substitution = groups.ReplaceAllString(strings.ReplaceAll(rewrite.get("substitution").text(), "$", "$$"), "$${$1}")
	}
	return out
}

// groups are the references of a substitution to what a group matched: \1.
var groups = regexp.MustCompile(`\\([0-9])`)

// apply returns the path after the change, where the match looked for a prefix.
func (p *pathChange) apply(path string, match *pathMatch) string {
	switch {
	case p.whole != nil:
		return *p.whole
	case p.prefix != nil && match.kind == "safeRegex":
		return *p.prefix
	case p.prefix != nil:
		return *p.prefix + path[min(len(match.text), len(path)):]
	case p.expression != nil:
		return p.expression.ReplaceAllString(path, p.substitution)
	}
	return path
}

// forward reads where a route sends its requests (config.route.v3.RouteAction).
func (n node) forward() action {
	out := action{change: n.pathChange(), host: n.get("hostRewriteLiteral").text(), timeout: n.get("timeout").duration(defaultTimeout)}
	if stream := n.get("maxStreamDuration"); stream.exists() { // which turns the timeout off
		out.timeout = stream.get("maxStreamDuration").duration(0)
	}
	out.try = n.get("retryPolicy").get("perTryTimeout").duration(0)
	if whole := n.get("pathRewrite"); whole.exists() {
		text := whole.text()
		out.change.whole = &text
	}
	weighted := n.get("weightedClusters")
	switch {
	case n.get("cluster").exists():
		out.shares = []Share{{Cluster: n.get("cluster").text(), Weight: 1}}
	case weighted.exists():
		for _, cluster := range weighted.get("clusters").list() {
			out.shares = append(out.shares, Share{
				Cluster: cluster.get("name").text(), Weight: cluster.get("weight").number(),
				Host: cluster.get("hostRewriteLiteral").text(), Headers: cluster.changes(),
			})
		}
	default:
		out.other = n.place
	}
	for _, mirror := range n.get("requestMirrorPolicies").list() {
		out.mirrors = append(out.mirrors, mirror.mirror())
	}
	return out
}

// The denominators of fractions (type.v3.FractionalPercent.DenominatorType).
var denominators = map[any]int64{nil: 100, "HUNDRED": 100, "TEN_THOUSAND": 10_000, "MILLION": 1_000_000}

func (n node) mirror() Mirror {
	out := Mirror{Cluster: n.get("cluster").text(), Parts: 1, Of: 1}
	if fraction := n.get("runtimeFraction").get("defaultValue"); fraction.exists() {
		out.Parts, out.Of = fraction.get("numerator").number(), denominators[fraction.get("denominator").value]
		if out.Of == 0 {
			fraction.get("denominator").fail("not a denominator that gammaguard knows")
		}
	}
	return out
}

// answer returns what the route does with a request, and with its headers by the levels above.
func (r *route) answer(request *Request, levels ...changes) (*Answer, error) {
	a := &r.action
	if a.other != "" {
		return nil, fmt.Errorf("gammaguard does not know the action of %s", a.other)
	}
	out := &Answer{
		Route: r.place, Status: a.status, Path: a.change.apply(request.Path, &r.path), Host: a.host,
		Headers: r.headers.with(levels...), Timeout: a.timeout, TryTimeout: a.try, Mirrors: a.mirrors,
	}
	if a.redirect != nil {
		redirect := *a.redirect
		redirect.Path = out.Path
		out.Redirect = &redirect
	}
	for _, share := range a.shares {
		if share.Weight > 0 {
			out.Shares = append(out.Shares, share)
		}
	}
	return out, nil
}
