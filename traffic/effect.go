package traffic

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gammaguard/gammaguard/mesh"
)

// Effects are what filters, timeouts and the like do to a request and its
// response.
type Effects struct {
	RequestHeaders  []HeaderChange `json:"requestHeaders,omitempty"`
	ResponseHeaders []HeaderChange `json:"responseHeaders,omitempty"`
	Rewrite         *Rewrite       `json:"rewrite,omitempty"`
	Redirect        *Redirect      `json:"redirect,omitempty"`
	Mirrors         []Mirror       `json:"mirrors,omitempty"`
	RequestTimeout  string         `json:"requestTimeout,omitempty"`
	BackendTimeout  string         `json:"backendRequestTimeout,omitempty"`
	// Other are filters and settings that change no destination, or whose effect
	// is the implementation's, each as a text.
	Other []string `json:"other,omitempty"`
}

// HeaderChange is one change of a header: "set", "add" or "remove".
type HeaderChange struct {
	Action string `json:"action"`
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
}

// Rewrite changes a request on its way to the backend.
type Rewrite struct {
	Host string      `json:"host,omitempty"`
	Path *PathChange `json:"path,omitempty"`
}

// Redirect answers a request with another place to go to. What is empty stays as
// in the request.
type Redirect struct {
	Status int         `json:"status"`
	Scheme string      `json:"scheme,omitempty"`
	Host   string      `json:"host,omitempty"`
	Port   int32       `json:"port,omitempty"`
	Path   *PathChange `json:"path,omitempty"`
	// NoQuery: the query of the request is lost.
	NoQuery bool `json:"noQuery,omitempty"`
}

// PathChange replaces a path as a whole, or the prefix of it that a match matched.
type PathChange struct {
	// Replacement is the new path, or the new prefix.
	Replacement string `json:"replacement"`
	// Prefix is what is replaced; empty for the whole path.
	Prefix string `json:"prefix,omitempty"`
	// Joined: the replacement and the rest of the path are joined as they are.
	Joined bool `json:"joined,omitempty"`
	// Whole: the prefix is replaced as it is written: a path that only lacks its slash stays as it is, and
	// of two slashes in its place one is lost.
	Whole bool `json:"whole,omitempty"`
	// ofMatch: what is replaced is what the match matched.
	ofMatch bool
}

// Mirror is a backend that gets copies of requests. Parts of Of requests are
// copied.
type Mirror struct {
	Backend string `json:"backend"`
	Parts   int64  `json:"parts"`
	Of      int64  `json:"of"`
	// Problem says why no copy arrives; empty if copies do.
	Problem string `json:"problem,omitempty"`

	ref mesh.BackendRef
}

func lowerFilters(filters []mesh.Filter) Effects {
	var e Effects
	for i := range filters {
		f := &filters[i]
		switch {
		case f.RequestHeaderModifier != nil:
			e.RequestHeaders = append(e.RequestHeaders, lowerHeaders(f.RequestHeaderModifier)...)
		case f.ResponseHeaderModifier != nil:
			e.ResponseHeaders = append(e.ResponseHeaders, lowerHeaders(f.ResponseHeaderModifier)...)
		case f.RequestMirror != nil:
			e.Mirrors = append(e.Mirrors, lowerMirror(f.RequestMirror))
		case f.RequestRedirect != nil:
			in := f.RequestRedirect
			e.Redirect = &Redirect{Status: cmp.Or(in.StatusCode, 302), Scheme: in.Scheme, Host: in.Hostname, Port: in.Port, Path: lowerPath(in.Path)}
		case f.URLRewrite != nil:
			if to := (Rewrite{Host: f.URLRewrite.Hostname, Path: lowerPath(f.URLRewrite.Path)}); to != (Rewrite{}) { // else it changes nothing
				e.Rewrite = &to
			}
		case f.ExtensionRef != nil:
			e.Other = append(e.Other, fmt.Sprintf("extension %s.%s %s", f.ExtensionRef.Kind, f.ExtensionRef.Group, f.ExtensionRef.Name))
		}
		e.addOther("CORS", f.CORS)
		e.addOther("external authorization", f.ExternalAuth)
	}
	return e
}

// addOther adds what has no known effect as a text that says all of it, in an order of its own.
func (e *Effects) addOther(what string, v *jsontext.Value) {
	if v == nil {
		return
	}
	text := v.Clone()
	if text.Canonicalize(mesh.Lenient) != nil {
		text = *v // which differs from any other notation
	}
	e.Other = append(e.Other, what+" "+string(text))
}

// addSettings adds what a rule says beside its filters.
func (e *Effects) addSettings(rule *mesh.RouteRule) {
	if rule.Timeouts != nil {
		e.RequestTimeout, e.BackendTimeout = rule.Timeouts.Request, rule.Timeouts.BackendRequest
	}
	e.addOther("retry", rule.Retry)
	e.addOther("session persistence", rule.SessionPersistence)
}

func lowerHeaders(in *mesh.HeaderModifier) []HeaderChange {
	var out []HeaderChange
	for _, h := range in.Set {
		out = append(out, HeaderChange{"set", strings.ToLower(h.Name), h.Value})
	}
	for _, h := range in.Add {
		out = append(out, HeaderChange{"add", strings.ToLower(h.Name), h.Value})
	}
	for _, name := range in.Remove {
		out = append(out, HeaderChange{"remove", strings.ToLower(name), ""})
	}
	return out
}

func lowerMirror(in *mesh.RequestMirror) Mirror {
	out := Mirror{ref: in.BackendRef}
	out.Parts, out.Of = in.Part()
	return out
}

func lowerPath(in *mesh.PathModifier) *PathChange {
	switch {
	case in == nil:
		return nil
	case in.ReplaceFullPath != nil:
		return &PathChange{Replacement: *in.ReplaceFullPath}
	case in.ReplacePrefixMatch != nil:
		return &PathChange{Replacement: *in.ReplacePrefixMatch, ofMatch: true}
	}
	return nil
}

// Apply returns the path after the change (Gateway API, HTTPPathModifier).
func (p *PathChange) Apply(path string) string {
	if p == nil {
		return path
	}
	if p.Prefix == "" {
		return p.Replacement
	}
	if p.Whole {
		if rest, ok := strings.CutPrefix(path, p.Prefix); ok {
			return p.Replacement + strings.TrimPrefix(rest, "/")
		}
		return path
	}
	if p.Joined {
		return p.Replacement + path[min(len(p.Prefix), len(path)):]
	}
	replacement := strings.TrimRight(p.Replacement, "/")
	rest := strings.TrimPrefix(path, strings.TrimRight(p.Prefix, "/"))
	if replacement+rest == "" {
		return "/"
	}
	return replacement + rest
}

// String reads "path /new", or "path prefix /old to /new".
func (p *PathChange) String() string {
	if p.Prefix == "" {
		return "path " + shown(p.Replacement)
	}
	return fmt.Sprintf("path prefix %s to %s", p.Prefix, shown(p.Replacement))
}

// Location returns where the redirect sends the request: the value of the Location header. A client that names no
// host asks for the Service by its name and namespace. Without a scheme, port 443 stands for https. A port that the scheme implies is not written
// (Gateway API, HTTPRequestRedirectFilter.port).
func (r *Redirect) Location(request *Request) string {
	asked, _, _ := strings.Cut(request.Host, ":")
	asked = cmp.Or(asked, request.Service.Name+"."+request.Service.Namespace)
	scheme, port := r.Scheme, r.Port
	if scheme == "" {
		port = cmp.Or(port, request.Port)
		scheme = "http"
		if request.Port == 443 {
			scheme = "https"
		}
	}
	location := url.URL{Scheme: scheme, Host: cmp.Or(r.Host, asked), Path: r.Path.Apply(request.path())}
	if implied := map[string]int32{"http": 80, "https": 443}[scheme]; port != 0 && port != implied {
		location.Host += ":" + strconv.Itoa(int(port))
	}
	if !r.NoQuery {
		location.RawQuery = request.query()
	}
	return location.String()
}
