package expect

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/traffic"
)

// judge returns what of the expectation is not met.
func (e *Expect) judge(trace *traffic.Trace) (failures []string) {
	namespace := trace.Request.Service.Namespace
	got := &trace.Outcome
	differ := func(want, is string) {
		failures = append(failures, printable.Sprintf("want %s, got %s", printable.Layout(want), printable.Layout(is)))
	}
	if want := e.shares(namespace); want != nil && (got.Redirect != nil || !e.sameShares(want, got.Shares, namespace)) {
		expected, destinations := traffic.Outcome{Shares: want}, traffic.Outcome{Shares: got.Shares, Effects: traffic.Effects{Redirect: got.Redirect}}
		is := destinations.Text(namespace)
		if got.Redirect != nil && string(e.Status) == strconv.Itoa(got.Redirect.Status) {
			is += "; to expect it, write redirect: {status: " + string(e.Status) + "}"
		}
		differ(expected.Text(namespace), is)
	}
	if want := e.Redirect; want != nil {
		if got.Redirect == nil {
			differ(want.text(), got.Text(namespace))
		} else if is := (Redirect{Status: got.Redirect.Status, Location: got.Redirect.Location(&trace.Request)}); !want.meets(&is) {
			differ(want.text(), is.text())
		}
	}
	if e.Route != "" && (trace.Chosen == nil || trace.Chosen.Route != e.Route) {
		chosen := "no route"
		if trace.Chosen != nil {
			chosen = trace.Chosen.Route
		}
		differ(printable.Text(e.Route)+" to decide", printable.Text(chosen))
	}
	if e.Effects != nil {
		is := got.Effects
		is.Redirect = nil
		if effectsKey(e.Effects, namespace) != effectsKey(&is, namespace) {
			differ("effects "+textOr(e.Effects.Text(namespace), "none"), textOr(is.Text(namespace), "none"))
		}
	}
	return failures
}

// meets reports whether the redirect is as it is wanted, as far as that is set.
func (r *Redirect) meets(is *Redirect) bool {
	return (r.Status == 0 || r.Status == is.Status) && (r.Location == "" || r.Location == is.Location)
}

// text reads "redirect 301 to https://cart.shop/moved", as far as it is set.
func (r *Redirect) text() string {
	text := "redirect"
	if r.Status != 0 {
		text += fmt.Sprintf(" %d", r.Status)
	}
	if r.Location != "" {
		text += " to " + printable.Text(r.Location)
	}
	return text
}

func textOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// shares returns the shares that are expected, as package traffic has them; nil where none are.
func (e *Expect) shares(namespace string) (want []traffic.Share) {
	switch {
	case e.Backend != "":
		return []traffic.Share{{Backend: backendName(e.Backend, namespace), Parts: 1, Of: 1}}
	case e.Status != "":
		return []traffic.Share{{Answer: string(e.Status), Parts: 1, Of: 1}}
	}
	var total int64
	for i := range e.Shares {
		total += e.Shares[i].Weight
	}
	for i := range e.Shares {
		s := &e.Shares[i]
		share := traffic.Share{Answer: string(s.Status), Parts: s.Weight, Of: total}
		if s.Backend != "" {
			share.Backend = backendName(s.Backend, namespace)
		}
		if s.Effects != nil {
			share.Effects = *s.Effects
		}
		want = append(want, share)
	}
	return want
}

// backendName returns the name that package traffic has for a backend: cart:80 in namespace shop is
// "Service shop/cart:80". What has a kind is as it is.
func backendName(name, namespace string) string {
	switch {
	case strings.Contains(name, " "):
		return name
	case strings.Contains(name, "/"):
		return "Service " + name
	}
	return "Service " + namespace + "/" + name
}

// sameShares compares shares by who answers, and by the effects of the backendRef: where those of the share are
// expected, or all.
func (e *Expect) sameShares(want, got []traffic.Share, namespace string) bool {
	left := slices.Clone(got)
	for i := range want {
		w := &want[i]
		compared := e.Effects != nil || len(e.Shares) > 0 && e.Shares[i].Effects != nil
		parts := new(big.Rat)
		left = slices.DeleteFunc(left, func(g traffic.Share) bool {
			mine := w.Backend == g.Backend && w.Answer == g.Answer && (!compared || effectsKey(&w.Effects, namespace) == effectsKey(&g.Effects, namespace))
			if mine {
				parts.Add(parts, big.NewRat(g.Parts, g.Of))
			}
			return mine
		})
		if parts.Cmp(big.NewRat(w.Parts, w.Of)) != 0 {
			return false
		}
	}
	return len(left) == 0
}

// effectsKey is equal for equal effects of routes on Services in the namespace. Mirrors without parts get all requests. Why a copy of a request does not
// arrive is a text for people.
func effectsKey(e *traffic.Effects, namespace string) string {
	same := *e
	same.RequestHeaders, same.ResponseHeaders = lowerNames(e.RequestHeaders), lowerNames(e.ResponseHeaders)
	same.Mirrors = slices.Clone(e.Mirrors)
	for i := range same.Mirrors {
		m := &same.Mirrors[i]
		m.Problem, m.Backend = "", backendName(m.Backend, namespace)
		if m.Of == 0 {
			m.Parts, m.Of = 1, 1
		}
		part := big.NewRat(m.Parts, m.Of)
		m.Parts, m.Of = part.Num().Int64(), part.Denom().Int64()
	}
	text, err := json.Marshal(same)
	if err != nil { // plain data
		panic(err)
	}
	return string(text)
}

func lowerNames(changes []traffic.HeaderChange) []traffic.HeaderChange {
	changes = slices.Clone(changes)
	for i := range changes {
		changes[i].Name = strings.ToLower(changes[i].Name)
	}
	return changes
}

// judgeRevision returns how what the request meets differs from what it met in a revision.
func judgeRevision(revision string, then, now *traffic.Trace) []string {
	namespace := now.Request.Service.Namespace
	if !then.Outcome.Equal(&now.Outcome) {
		return []string{printable.Sprintf("want %s, as in revision %s, got %s", printable.Layout(then.Outcome.Text(namespace)), revision, printable.Layout(now.Outcome.Text(namespace)))}
	}
	return nil
}
