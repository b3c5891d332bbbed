package traffic

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// compare returns in what the trace differs from the expectation.
func (e *expectation) compare(trace *Trace) []string {
	c := &comparison{expectation: e, trace: trace}
	c.status()
	if section(e.fields, "RedirectRequest") != nil {
		c.redirect()
	}
	if len(trace.Outcome.Shares) > 0 && trace.Outcome.Shares[0].Backend != "" {
		c.backends()
		c.sent()
		c.response()
	}
	c.mirrors()
	return c.differences
}

type comparison struct {
	*expectation
	trace       *Trace
	differences []string
}

func (c *comparison) want(what string, want, got any) {
	if fmt.Sprint(want) != fmt.Sprint(got) {
		c.differences = append(c.differences, fmt.Sprintf("%s: want %v, got %v", what, want, got))
	}
}

func (c *comparison) status() {
	response := section(c.fields, "Response")
	wanted := []any{response["Code"]}
	switch {
	case response["StatusCodes"] != nil:
		wanted = response["StatusCodes"].([]any)
	case response["StatusCode"] != nil:
		wanted = []any{response["StatusCode"]}
	}
	got := "200"
	o := &c.trace.Outcome
	switch {
	case o.Redirect != nil:
		got = strconv.Itoa(o.Redirect.Status)
	case o.Shares[0].Answer != "":
		got = o.Shares[0].Answer
	}
	text := map[string]string{"<nil>": "200", "OK": "200", "Unimplemented": "UNIMPLEMENTED", "Unavailable": "UNAVAILABLE"}
	if !slices.ContainsFunc(wanted, func(want any) bool {
		return cmp.Or(text[fmt.Sprint(want)], fmt.Sprint(want)) == got
	}) {
		c.want("status", wanted, got)
	}
}

func (c *comparison) redirect() {
	redirect := c.trace.Outcome.Redirect
	if redirect == nil {
		c.want("redirect", true, false)
		return
	}
	location, err := url.Parse(redirect.Location(&c.trace.Request))
	if err != nil {
		c.want("redirect", nil, err)
		return
	}
	wanted := section(c.fields, "RedirectRequest")
	for _, part := range []struct{ field, got string }{
		{"Scheme", location.Scheme}, {"Host", location.Hostname()}, {"Path", location.Path}, {"Port", location.Port()},
	} {
		if want, ok := wanted[part.field]; ok {
			c.want("redirect "+part.field, want, part.got)
		}
	}
}

// backends compares who gets the request: the Backend, or the weights.
func (c *comparison) backends() {
	shares := map[string]float64{}
	for _, share := range c.trace.Outcome.Shares {
		name := strings.TrimPrefix(share.Backend, mesh.ServiceKind+" ")
		namespace, name, _ := strings.Cut(name, "/")
		name, _, _ = strings.Cut(name, ":")
		shares[name] += float64(share.Parts) / float64(share.Of)
		if want := c.fields["Namespace"]; want != nil && want != "" {
			c.want("namespace", want, namespace)
		}
	}
	if want, ok := c.fields["Backend"].(string); ok && c.weights == nil {
		c.want("share of "+want, 1, shares[want])
	}
	for name, want := range c.weights {
		if math.Abs(shares[name]-want.(float64)) > 1e-9 {
			c.want("share of "+name, want, shares[name])
		}
	}
}

// sent compares the request as the backend gets it.
func (c *comparison) sent() {
	wanted := section(c.fields, "ExpectedRequest")
	if wanted == nil {
		return
	}
	o := &c.trace.Outcome
	headers := changeHeaders(c.trace.Request.Headers, slices.Concat(o.RequestHeaders, o.Shares[0].RequestHeaders))
	request := section(wanted, "Request")
	for name, want := range section(request, "Headers") {
		c.want("header "+name, want, headers[strings.ToLower(name)])
	}
	c.absent(wanted, headers)
	path, host := c.trace.Request.path(), c.trace.Request.Host
	if o.Rewrite != nil {
		path, host = o.Rewrite.Path.Apply(path), cmp.Or(o.Rewrite.Host, host)
	}
	if want, _ := request["Path"].(string); want != "" {
		want, _, _ = strings.Cut(want, "?")
		if misprinted[c.name] == "" {
			c.want("path", want, path)
		} else if want == path {
			c.want("path", "misprinted", path)
		}
	}
	if want, _ := request["Host"].(string); want != "" {
		c.want("host", want, host)
	}
}

// changeHeaders applies changes to headers, which it returns anew.
func changeHeaders(headers map[string]string, changes []HeaderChange) map[string]string {
	out := make(map[string]string, len(headers)+len(changes))
	for name, value := range headers {
		out[name] = value
	}
	for _, c := range changes {
		switch old, has := out[c.Name]; {
		case c.Action == "remove":
			delete(out, c.Name)
		case c.Action == "add" && has:
			out[c.Name] = old + "," + c.Value
		default:
			out[c.Name] = c.Value
		}
	}
	return out
}

func (c *comparison) response() {
	headers := map[string]string{}
	for name, v := range section(c.fields, "BackendSetResponseHeaders") {
		headers[strings.ToLower(name)] = v.(string)
	}
	o := &c.trace.Outcome
	headers = changeHeaders(headers, slices.Concat(o.Shares[0].ResponseHeaders, o.ResponseHeaders))
	response := section(c.fields, "Response")
	for name, want := range section(response, "Headers") {
		c.want("response header "+name, want, headers[strings.ToLower(name)])
	}
	c.absent(response, headers)
}

func (c *comparison) absent(wanted map[string]any, headers map[string]string) {
	names, _ := wanted["AbsentHeaders"].([]any)
	for _, name := range names {
		if got, ok := headers[strings.ToLower(name.(string))]; ok {
			c.want(fmt.Sprint("header ", name), "absent", got)
		}
	}
}

func (c *comparison) mirrors() {
	wanted, _ := c.fields["MirroredTo"].([]any)
	var want, got []string
	for _, mirror := range wanted {
		m := mirror.(map[string]any)
		ref := section(m, "BackendRef")
		percentage := 100
		if m["Percent"] != nil {
			percentage = m["Percent"].(int)
		}
		want = append(want, fmt.Sprintf("Service %s/%s %d %%", ref["Namespace"], ref["Name"], percentage))
	}
	for _, m := range c.trace.Outcome.Mirrors {
		backend, _, _ := strings.Cut(m.Backend, ":")
		got = append(got, backend+" "+Percent(m.Parts, m.Of)+m.Problem)
	}
	c.want("mirrored to", want, got)
}
