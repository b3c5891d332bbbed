package proxies

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gammaguard/gammaguard/traffic"
)

// Answer is what becomes of a request, as texts that are equal where no client or backend can
// tell a difference. Retries, session persistence and CORS are not part of it.
type Answer struct {
	// Backends are who answers, with their shares: "Service shop/cart:80 50 %"; or a status
	// without a backend: "404". Empty for a redirect.
	Backends []string `json:"backends,omitempty"`
	// Redirect is the status, and what of the URL changes.
	Redirect string `json:"redirect,omitempty"`
	// Path and Host are what the backend is asked for, where that is not what the client asks for.
	Path string `json:"path,omitempty"`
	Host string `json:"host,omitempty"`
	// Headers are changes of the headers of a redirect; those of a backend stand with it.
	Headers []string `json:"headers,omitempty"`
	// Timeout and BackendTimeout are those of the request and of one try.
	Timeout        string   `json:"timeout,omitempty"`
	BackendTimeout string   `json:"backendTimeout,omitempty"`
	Mirrors        []string `json:"mirrors,omitempty"`
}

// Differences names the aspects in which two answers differ, in a fixed order; none if they
// are the same.
func (a *Answer) Differences(b *Answer) []string {
	var out []string
	for _, aspect := range []struct {
		name string
		same bool
	}{
		{"backends", slices.Equal(a.Backends, b.Backends)},
		{"redirect", a.Redirect == b.Redirect},
		{"path", a.Path == b.Path},
		{"host", a.Host == b.Host},
		{"headers", slices.Equal(a.Headers, b.Headers)},
		{"timeout", a.Timeout == b.Timeout},
		{"backend timeout", a.BackendTimeout == b.BackendTimeout},
		{"mirrors", slices.Equal(a.Mirrors, b.Mirrors)},
	} {
		if !aspect.same {
			out = append(out, aspect.name)
		}
	}
	return out
}

// String returns the answer in a line.
func (a *Answer) String() string {
	parts := []string{strings.Join(a.Backends, ", ")}
	for _, part := range []struct{ name, text string }{
		{"redirect", a.Redirect},
		{"path", a.Path},
		{"host", a.Host},
		{"", strings.Join(a.Headers, ", ")},
		{"timeout", a.Timeout},
		{"timeout of a try", a.BackendTimeout},
		{"mirrored to", strings.Join(a.Mirrors, ", ")},
	} {
		if part.text != "" {
			parts = append(parts, strings.TrimSpace(part.name+" "+part.text))
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// share is a part of the requests: Parts of an unknown whole.
type share struct {
	text  string
	parts int64
}

// shares writes parts of requests as shares of their sum, those of one text together.
func shares(all []share) []string {
	var total int64
	sums := map[string]int64{}
	for _, s := range all {
		total += s.parts
		sums[s.text] += s.parts
	}
	var out []string
	for text, parts := range sums {
		if parts == 0 {
			continue
		}
		out = append(out, fraction(text, parts, total))
	}
	slices.Sort(out)
	return out
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fraction writes a backend that gets a part of the requests: "Service shop/cart:80 90 %". A part that has more than two
// decimals is followed by itself, so that no two parts are equal texts: "33.33 % (1/3)".
func fraction(backend string, parts, of int64) string {
	if parts >= of {
		return backend
	}
	percent := strconv.FormatFloat(math.Round(float64(parts)*10000/float64(of))/100, 'f', -1, 64) + " %"
	if divisor := gcd(parts, of); 10000%(of/divisor) != 0 {
		percent += fmt.Sprintf(" (%d/%d)", parts/divisor, of/divisor)
	}
	return backend + " " + percent
}

// Ours returns what gammaguard says of a request.
func Ours(outcome *traffic.Outcome, request *traffic.Request) *Answer {
	path := cmp.Or(request.Path, "/")
	if r := outcome.Redirect; r != nil {
		return &Answer{Redirect: redirect(r.Status, r.Scheme, r.Host, int64(r.Port), r.Path.Apply(path), path, request.Port), Headers: ourHeaders(nil, outcome.ResponseHeaders)}
	}
	if len(outcome.Shares) == 1 && outcome.Shares[0].Answer == traffic.FormerRoutes {
		return &Answer{} // what the proxies have says nothing of it
	}
	out := &Answer{Timeout: timeout(outcome.RequestTimeout), BackendTimeout: timeout(outcome.BackendTimeout)}
	if w := outcome.Rewrite; w != nil {
		out.Host, out.Path = w.Host, changed(w.Path.Apply(path), path)
	}
	common := int64(1)
	for i := range outcome.Shares {
		common *= outcome.Shares[i].Of / gcd(common, outcome.Shares[i].Of)
	}
	var all []share
	for i := range outcome.Shares {
		s := &outcome.Shares[i]
		text := s.Backend
		if text == "" {
			text = status(s.Answer)
		} else if changes := ourHeaders(slices.Concat(outcome.RequestHeaders, s.RequestHeaders), slices.Concat(outcome.ResponseHeaders, s.ResponseHeaders)); len(changes) > 0 {
			text += " [" + strings.Join(changes, ", ") + "]"
		}
		all = append(all, share{text, s.Parts * (common / s.Of)})
	}
	out.Backends = shares(all)
	for _, m := range outcome.Mirrors {
		if m.Problem == "" && m.Parts > 0 {
			out.Mirrors = append(out.Mirrors, fraction(m.Backend, m.Parts, m.Of))
		}
	}
	slices.Sort(out.Mirrors)
	out.unreached()
	return out
}

// unreached leaves out what nobody can notice where no backend gets the request.
func (a *Answer) unreached() {
	for _, backend := range a.Backends {
		if _, fails := failures[backend]; !fails {
			return
		}
	}
	*a = Answer{Backends: a.Backends}
}

// redirect writes a redirect. Of a path only a change counts. Without a port, and without a
// scheme that implies one, the client comes to the port that it asked before (Gateway API,
// HTTPRequestRedirectFilter.port).
func redirect(status int, scheme, host string, port int64, to, path string, asked int32) string {
	switch {
	case port == 0 && scheme == "":
		port = int64(asked)
	case scheme == "http" && port == 80, scheme == "https" && port == 443:
		port = 0 // as if it were left out
	}
	if scheme == "https" && port == 443 || scheme == "http" && port == 80 { // implied
		port = 0
	}
	text := fmt.Sprint(status)
	for _, part := range []struct{ name, text string }{{"scheme", scheme}, {"host", host}, {"path", changed(to, path)}} {
		if part.text != "" {
			text += " " + part.name + " " + part.text
		}
	}
	if port != 0 {
		text += fmt.Sprintf(" port %d", port)
	}
	return text
}

// changed returns the new text, or nothing where it is the old one.
func changed(to, from string) string {
	if to == from {
		return ""
	}
	return to
}

// timeout returns a duration in one notation, and nothing for no bound.
func timeout(text string) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		return text
	}
	return bound(d)
}

func bound(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func ourHeaders(request, response []traffic.HeaderChange) []string {
	var out []string
	write := func(what string, changes []traffic.HeaderChange) {
		for _, h := range changes {
			text := fmt.Sprintf("%s %s %s", what, h.Action, h.Name)
			if h.Action != "remove" {
				text += "=" + h.Value
			}
			out = append(out, text)
		}
	}
	write("request", request)
	write("response", response)
	slices.Sort(out)
	return out
}

// failures are the answers without a backend, each as the status of HTTP: a proxy that answers
// a gRPC request itself sends the status of gRPC that stands for it.
var failures = map[string]string{"UNAVAILABLE": "500", "UNIMPLEMENTED": "404", "500": "500", "404": "404", "503": "503"}

func status(answer string) string { return cmp.Or(failures[answer], answer) }
