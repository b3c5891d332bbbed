package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// What a request is about. All but fine and warned must be refused. The Services of
// two kinds are named after them.
const (
	fine      = "fine"
	warned    = "warned"
	missing   = "missing"
	headless  = "headless"
	external  = "external"
	forbidden = "ungranted"
)

// review is a prepared AdmissionReview, cut around the uid that each request has
// of its own.
type review struct {
	kind          string
	before, after []byte
	// reads are the paths of what a denial is confirmed by.
	reads []string
}

func (r *review) admitted() bool { return r.kind == fine || r.kind == warned }

// traffic says which requests are sent.
type traffic struct {
	layout
	// bad is the share that must be refused, the faults in turn.
	bad float64
	// warned has every other request warned: of hostnames, and of a match that
	// another route has.
	warned bool
	// shared has every route on the one Service that many share.
	shared bool
	// updates has every request change the rules of a route that is there.
	updates bool
}

// reviews returns n requests, always the same ones.
func (t traffic) reviews(n int) []review {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable, not secret
	faults := []string{missing, headless, external, forbidden}
	reviews := make([]review, n)
	sent := 0
	for i := range reviews {
		kind := fine
		switch {
		case int(float64(i+1)*t.bad) > sent:
			kind = faults[sent%len(faults)]
			sent++
		case t.warned:
			kind = warned
		}
		reviews[i] = t.review(random, kind, i)
	}
	return reviews
}

func (t traffic) review(random *rand.Rand, kind string, i int) review {
	service := random.IntN(t.services)
	o := object{
		Namespace: home(service), Name: fmt.Sprintf("request-%06d", i), Parent: serviceName(service),
		Hostnames: kind == warned, Requested: true,
	}
	if t.updates {
		stored := t.object(random.IntN(t.routes))
		stored.Requested = true
		o.Old, o.Namespace, o.Name, o.Age, o.Parent = &stored, stored.Namespace, stored.Name, stored.Age, stored.Parent
	}
	if t.shared {
		o.Namespace, o.Parent = shared, sharedService
	}
	o.Backend = o.Parent
	switch kind {
	case missing:
		o.Parent = fmt.Sprintf("absent-%05d", i)
	case headless, external:
		o.Parent = kind
	case forbidden:
		o.Namespace, o.Parent = ungranted, serviceName(0)
	}
	for rule := range 1 + random.IntN(3) {
		o.Matches = append(o.Matches, 1_000_000+i*10+rule)
	}
	if kind == warned {
		o.Matches = append(o.Matches, everything)
	}
	o.Port = 80 * random.IntN(2)
	before, after, _ := bytes.Cut(encode("AdmissionReview", o), []byte(uidMark))
	r := review{kind: kind, before: before, after: after}
	if !r.admitted() {
		home := "/api/v1/namespaces/" + o.Namespace
		r.reads = []string{home, home + "/services/" + o.Parent}
	}
	return r
}

// uidMark stands where each request has its own uid.
const uidMark = "00000000-0000-4000-8000-000000000000"
