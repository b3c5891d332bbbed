package proxies

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/traffic"
)

// action is what a rule of a mesh's own form does with requests.
type action struct {
	redirect *mesh.RequestRedirect
	rewrite  *mesh.URLRewrite
	headers  []string
	// responseHeaders are those that also change a redirect.
	responseHeaders []string
	mirrors         []string
	timeout         string
	shares          []actionShare
}

// actionShare is a backend, or a status, that gets Weight of the requests.
type actionShare struct {
	backend string
	headers []string
	weight  int64
}

// modify adds changes of headers.
func (a *action) modify(filter *mesh.Filter) {
	a.headers = append(a.headers, modified("request", filter.RequestHeaderModifier)...)
	response := modified("response", filter.ResponseHeaderModifier)
	a.headers, a.responseHeaders = append(a.headers, response...), append(a.responseHeaders, response...)
}

// modified writes the changes of a modifier as the Answer has them.
func modified(what string, m *mesh.HeaderModifier) (out []string) {
	if m == nil {
		return nil
	}
	for _, h := range m.Set {
		out = append(out, what+" set "+strings.ToLower(h.Name)+"="+h.Value)
	}
	for _, h := range m.Add {
		out = append(out, what+" add "+strings.ToLower(h.Name)+"="+h.Value)
	}
	for _, name := range m.Remove {
		out = append(out, what+" remove "+strings.ToLower(name))
	}
	return out
}

// answer returns what becomes of a request that a match with the path prefix decides.
func (a *action) answer(r *traffic.Request, prefix string) *Answer {
	path := cmp.Or(r.Path, "/")
	if to := a.redirect; to != nil {
		return &Answer{
			Redirect: redirect(cmp.Or(to.StatusCode, 302), to.Scheme, to.Hostname, int64(to.Port), change(path, prefix, to.Path), path, r.Port),
			Headers:  slices.Sorted(slices.Values(a.responseHeaders)),
		}
	}
	out := &Answer{Timeout: a.timeout, Mirrors: slices.Sorted(slices.Values(a.mirrors))}
	if a.rewrite != nil {
		out.Host, out.Path = a.rewrite.Hostname, changed(change(path, prefix, a.rewrite.Path), path)
	}
	var all []share
	for _, s := range a.shares {
		text := s.backend
		if headers := slices.Sorted(slices.Values(slices.Concat(a.headers, s.headers))); len(headers) > 0 && failures[text] == "" {
			text += " [" + strings.Join(headers, ", ") + "]"
		}
		all = append(all, share{text, s.weight})
	}
	out.Backends = shares(all)
	if len(out.Backends) == 0 {
		out.Backends = []string{"500"} // every weight is 0
	}
	out.unreached()
	return out
}

// change returns the path after the change.
func change(path, prefix string, to *mesh.PathModifier) string {
	switch {
	case to == nil:
	case to.ReplaceFullPath != nil:
		return *to.ReplaceFullPath
	case to.ReplacePrefixMatch != nil:
		return underPrefix(path, prefix, *to.ReplacePrefixMatch)
	}
	return path
}

// answerOf returns an Answer of one backend or status.
func answerOf(backend string) *Answer { return &Answer{Backends: []string{backend}} }

// direct returns what a port without any routes does: its requests reach the Service.
func direct(service *mesh.Service, port mesh.Port) *Answer {
	return answerOf(backend(service.Key.Namespace, service.Key.Name, int64(port.Number)))
}

// Direct returns what proxies do that were given nothing for a Service port.
func Direct(service *mesh.Service, port mesh.Port) *Port {
	return &Port{Answer: func(*traffic.Request) (*Answer, error) { return direct(service, port), nil }}
}
