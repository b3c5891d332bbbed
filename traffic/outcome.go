package traffic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
)

// Outcome is what becomes of a request.
type Outcome struct {
	// Shares say who answers, each a part of the requests. They are empty for a
	// redirect, which no backend sees.
	Shares []Share `json:"shares,omitempty"`
	Effects
}

// Share is the part of the requests that one backend gets, or that is answered
// without one. Parts of Of requests are its own.
type Share struct {
	// Backend is who gets them: "Service shop/cart:80".
	Backend string `json:"backend,omitempty"`
	// Answer is what the client gets where no backend answers: "500".
	Answer string `json:"answer,omitempty"`
	// Reason says why there is an Answer, or why the parent Service gets them.
	Reason string `json:"reason,omitempty"`
	Parts  int64  `json:"parts"`
	Of     int64  `json:"of"`
	// Effects are those of the backendRef alone.
	Effects

	ref mesh.BackendRef
	// forNow: the backend would get them if it had endpoints.
	forNow bool
}

// caveats are what is worth knowing of an outcome: of how the mesh reads the rule, and of the backends; and those that the mesh leaves out.
type caveats struct{ rule, backends, leftOut []string }

// outcome returns what becomes of the requests that the match decides, and what
// is not known of it.
func (t *Table) outcome(pr *portRoutes, e *entry) (Outcome, caveats, error) {
	rule := &e.route.rules[e.rule]
	doubts := caveats{rule: slices.Clone(rule.notes)}
	if rule.fails != "" {
		return failed(invalidBackend, e.route.Kind, rule.fails), doubts, nil
	}
	effects, err := t.resolve(e, rule.effects, &doubts)
	if err != nil {
		return Outcome{}, caveats{}, err
	}
	out := Outcome{Effects: effects}
	if out.Redirect != nil {
		pr.redirectPort(t.engine.Policy().Mesh, e, out.Redirect)
		return out, doubts, nil
	}
	backends, err := t.backendsOf(pr, e, &doubts)
	if err != nil {
		return Outcome{}, caveats{}, err
	}
	var total int64
	for i := range backends {
		total += backends[i].weight
	}
	for i := range backends {
		if backend := &backends[i]; backend.weight > 0 {
			share, err := t.share(e, backend, total, &doubts)
			if err != nil {
				return Outcome{}, caveats{}, err
			}
			out.add(share)
		}
	}
	if profile := t.engine.Policy().Mesh; len(rule.backends) == 0 {
		switch profile.Does(e.route.Kind, mesh.NoBackendRefs).Value {
		case mesh.ToParent:
			share := forwarded(backendName(pr.service.Key, pr.port.Number)).Shares[0]
			share.Reason = "the rule has no backendRefs"
			out.Shares = []Share{share}
			return out, doubts, nil
		case mesh.UnknownTreatment:
			doubts.rule = append(doubts.rule, "it is not known what "+profile.Title+" does with a rule without backendRefs")
		}
	}
	if len(out.Shares) == 0 {
		failure, reason := invalidBackend, "the rule has no backendRefs"
		switch {
		case len(backends) > 0:
			reason = "every backendRef has weight 0"
			if profile := t.engine.Policy().Mesh; profile.ReadsBackends().ZeroRefused {
				failure = refusedRoutes
				reason += ", so " + profile.Title + "'s proxies refuse the routes of the whole Service, and keep the former ones"
			}
		case len(rule.backends) > 0:
			reason = "no backendRef is a Service that exists and is permitted"
		}
		out.Shares = []Share{{Answer: failure.answer(e.route.Kind), Reason: reason, Parts: 1, Of: 1}}
	}
	return out, doubts, nil
}

// share returns what one backendRef gets.
func (t *Table) share(e *entry, backend *backendRef, total int64, doubts *caveats) (Share, error) {
	s, err := t.backend(e.route, &backend.ref)
	if err != nil {
		return Share{}, err
	}
	if s.doubt != "" {
		doubts.backends = append(doubts.backends, s.doubt)
	}
	effects, err := t.resolve(e, backend.effects, doubts)
	if err != nil {
		return Share{}, err
	}
	divisor := gcd(backend.weight, total)
	share := Share{Backend: s.name, Parts: backend.weight / divisor, Of: total / divisor, Effects: effects, ref: backend.ref}
	switch {
	case backend.fails != "":
		share.Backend, share.Effects = "", Effects{}
		share.Answer, share.Reason = invalidBackend.answer(e.route.Kind), printable.Text(backend.fails)
	case s.failure != noFailure:
		share.Backend, share.Effects = "", Effects{}
		share.Answer, share.Reason = s.failure.answer(e.route.Kind), printable.Text(s.name+" "+s.problem)
		share.forNow = s.failure == noEndpoints
	case effects.Redirect != nil:
		share.Backend = ""
	}
	return share, nil
}

// add adds a share, to one that is the same but for its size.
func (o *Outcome) add(share Share) {
	for i := range o.Shares {
		if have := &o.Shares[i]; have.whole() == share.whole() {
			parts, of := have.Parts*share.Of+share.Parts*have.Of, have.Of*share.Of
			divisor := gcd(parts, of)
			have.Parts, have.Of = parts/divisor, of/divisor
			return
		}
	}
	o.Shares = append(o.Shares, share)
}

// whole writes the share as if it were all of the requests.
func (s Share) whole() string {
	s.Parts, s.Of = 1, 1
	return s.text("")
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// resolve fills in what the effects of a rule leave to the match and the mesh.
func (t *Table) resolve(e *entry, in Effects, doubts *caveats) (Effects, error) {
	out := in
	if in.Rewrite != nil {
		out.Rewrite = &Rewrite{Host: in.Rewrite.Host, Path: e.reading().replace(mesh.URLRewriteFilter, in.Rewrite.Path, e.match)}
		doubts.rule = append(doubts.rule, e.reading().joined(out.Rewrite.Path)...)
	}
	if in.Redirect != nil {
		redirect := *in.Redirect
		redirect.Path = e.reading().replace(mesh.RequestRedirectFilter, redirect.Path, e.match)
		redirect.NoQuery = redirect.Path != nil && redirect.Path.Prefix == "" && e.reading().profile.ReplacesQuery()
		out.Redirect = &redirect
		doubts.rule = append(doubts.rule, e.reading().joined(redirect.Path)...)
	}
	out.Mirrors = slices.Clone(in.Mirrors)
	for i := range out.Mirrors {
		m := &out.Mirrors[i]
		s, err := t.backend(e.route, &m.ref)
		if err != nil {
			return Effects{}, err
		}
		if s.doubt != "" {
			doubts.backends = append(doubts.backends, s.doubt)
		}
		m.Backend, m.Problem = s.name, s.problem
		if t.engine.Policy().Mesh.ReadsBackends().WholePercents && m.Of > 0 {
			m.Parts, m.Of = m.Parts*100/m.Of, 100
		}
	}
	return out, nil
}

// failed returns the outcome of requests that nobody answers.
func failed(f failure, kind mesh.RouteKind, reason string) Outcome {
	return Outcome{Shares: []Share{{Answer: f.answer(kind), Reason: reason, Parts: 1, Of: 1}}}
}

// forwarded returns the outcome of requests that reach the Service itself.
func forwarded(name string) Outcome {
	return Outcome{Shares: []Share{{Backend: name, Parts: 1, Of: 1}}}
}

// text writes the share, with names as seen from a namespace.
func (s *Share) text(namespace string) string {
	text := Percent(s.Parts, s.Of)
	switch {
	case s.Redirect != nil:
		text = s.Redirect.String() + " " + text
	case s.Backend != "":
		text = near(s.Backend, namespace) + " " + text
	case s.Parts == s.Of:
		text = s.Answer
	default:
		text = s.Answer + " " + text
	}
	if s.Reason != "" {
		text += " (" + near(s.Reason, namespace) + ")"
	}
	if lines := s.lines(); len(lines) > 0 {
		text += " [" + strings.Join(lines, "; ") + "]"
	}
	return text
}

// near leaves out of names in a text what is the same everywhere: "Service " and
// the namespace.
func near(text, namespace string) string {
	if namespace == "" {
		return text
	}
	text = strings.ReplaceAll(text, mesh.ServiceKind+" "+namespace+"/", "")
	return serviceName.ReplaceAllString(text, "$1")
}

// serviceName is the name of a Service in a text, with its namespace.
var serviceName = regexp.MustCompile(mesh.ServiceKind + ` ([^\s/]+/)`)

// largestFirst returns the shares in an order of their own.
func (o *Outcome) largestFirst() []Share {
	shares := slices.Clone(o.Shares)
	slices.SortStableFunc(shares, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Parts*a.Of, a.Parts*b.Of), strings.Compare(a.text(""), b.text("")))
	})
	return shares
}

// Answers returns the shares without why they are, so that those between which no request can tell a difference are one.
func (o *Outcome) Answers() []Share { return o.answers(false) }

// answers returns them; if apart, with why of those backends that only lack endpoints, so that each is one.
func (o *Outcome) answers(apart bool) []Share {
	var out Outcome
	for _, share := range o.Shares {
		if !apart || !share.forNow {
			share.Reason = ""
		}
		out.add(share)
	}
	return out.Shares
}

// key is equal for outcomes between which no request can tell a difference, for
// whatever reason they are. Endpoints come and go without a change of a route, so backends that lack only these differ.
func (o *Outcome) key() string {
	same := Outcome{Shares: o.answers(true), Effects: o.Effects}
	same.Shares = same.largestFirst()
	text, err := json.Marshal(same)
	if err != nil { // plain data
		panic(err)
	}
	return string(text)
}

// Equal reports whether no request can tell a difference between two outcomes, for whatever reason they are.
func (o *Outcome) Equal(other *Outcome) bool { return o.key() == other.key() }

// Text returns the outcome in a line that only shows, with names as seen from the namespace; they
// are in full where it is empty.
func (o *Outcome) Text(namespace string) string {
	shares := o.largestFirst()
	parts := make([]string, len(shares))
	for i := range shares {
		parts[i] = shares[i].text(namespace)
	}
	text := strings.Join(parts, ", ")
	if o.Redirect != nil {
		text = o.Redirect.String()
	}
	if lines := o.lines(); len(lines) > 0 {
		text = fmt.Sprintf("%s; %s", text, near(strings.Join(lines, "; "), namespace))
	}
	return printable.Text(text)
}
