package envoy

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
)

// Conditions returns what each route for the Host header looks for, in the words of package mesh,
// as far as these have words for it: for requests that tell the routes apart.
func (c *Config) Conditions(host string) [][]mesh.Condition {
	found := c.find(host)
	if found == nil {
		return nil
	}
	all := make([][]mesh.Condition, len(found.routes))
	for i := range found.routes {
		all[i] = found.routes[i].wanted
	}
	return all
}

// Hosts returns the domains that have a virtual host with more than one route, or with one that looks
// for anything.
func (c *Config) Hosts() []string {
	var hosts []string
	for i := range c.hosts {
		if h := &c.hosts[i]; len(h.routes) > 1 || len(h.routes) == 1 && len(h.routes[0].wanted) > 0 {
			hosts = append(hosts, h.domains...)
		}
	}
	return hosts
}

// wanted returns what a match looks for.
func (n node) wanted() (out []mesh.Condition) {
	add := func(dimension mesh.Dimension, name string, kind mesh.MatchType, text string) {
		out = append(out, mesh.Condition{Subject: mesh.Subject{Dimension: dimension, Name: name}, Type: kind, Text: text})
	}
	switch path := mesh.PathDimension; {
	case n.get("path").exists():
		add(path, "", mesh.Exact, n.get("path").text())
	case n.get("pathSeparatedPrefix").exists():
		add(path, "", mesh.PathPrefix, n.get("pathSeparatedPrefix").text())
	case n.get("safeRegex").exists():
		add(path, "", mesh.RegularExpression, n.get("safeRegex").get("regex").text())
	case n.get("prefix").text() != "" && n.get("prefix").text() != "/":
		add(path, "", mesh.RegularExpression, regexp.QuoteMeta(n.get("prefix").text())+".*")
	}
	for _, header := range n.get("headers").list() {
		name := strings.ToLower(header.get("name").text())
		kind, text := header.wantedText()
		switch {
		case header.get("invertMatch").flag(false):
			kind, text = mesh.Exact, text+"x"
		case name == ":method":
			add(mesh.MethodDimension, "", kind, text)
			continue
		}
		if !strings.HasPrefix(name, ":") {
			add(mesh.HeaderDimension, name, kind, text)
		}
	}
	for _, parameter := range n.get("queryParameters").list() {
		kind, text := parameter.wantedText()
		add(mesh.QueryParamDimension, parameter.get("name").text(), kind, text)
	}
	if n.get("grpc").exists() {
		add(mesh.HeaderDimension, "content-type", mesh.RegularExpression, `application/grpc(\+.*)?`)
	}
	return out
}

// wantedText returns what the value of a header or a query parameter must be.
func (n node) wantedText() (mesh.MatchType, string) {
	test, suffix := n.get("stringMatch"), ""
	if !test.exists() {
		test, suffix = n, "Match"
	}
	for _, kind := range []struct{ field, before, after string }{{"prefix", "", ".*"}, {"suffix", ".*", ""}, {"contains", ".*", ".*"}} {
		if text := test.get(kind.field + suffix); text.exists() {
			return mesh.RegularExpression, kind.before + regexp.QuoteMeta(text.text()) + kind.after
		}
	}
	switch {
	case test.get("exact" + suffix).exists():
		return mesh.Exact, test.get("exact" + suffix).text()
	case test.get("safeRegex" + suffix).exists():
		return mesh.RegularExpression, test.get("safeRegex" + suffix).get("regex").text()
	case test.get("rangeMatch").exists():
		return mesh.Exact, strconv.FormatInt(test.get("rangeMatch").get("start").number(), 10)
	}
	return mesh.Exact, "x"
}
