package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// What a request is about. All but fine and warned must be refused.
const (
	fine      = "fine"
	warned    = "warned"
	missing   = "missing Service"
	headless  = "headless Service"
	external  = "ExternalName Service"
	forbidden = "ungranted namespace"
)

// review is a prepared AdmissionReview, cut around the uid that each request has
// of its own.
type review struct {
	kind          string
	before, after []byte
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
	namespace, name := t.at(service), serviceName(service)
	if t.shared {
		namespace, name = shared, sharedService
	}
	backend := name
	switch kind {
	case missing:
		name = fmt.Sprintf("absent-%05d", i)
	case headless:
		name = "headless"
	case external:
		name = "external"
	case forbidden:
		namespace, name = ungranted, serviceName(0)
	}
	rules := make([]object, 1+random.IntN(3))
	for r := range rules {
		rules[r] = rule(1_000_000+i*10+r, backend)
	}
	if kind == warned {
		rules = append(rules, rule(-1, backend))
	}
	o := route("HTTPRoute", namespace, fmt.Sprintf("request-%06d", i), parent(name, 80*random.IntN(2)), rules...)
	if kind == warned {
		o["spec"].(object)["hostnames"] = []string{"shop.example.test"} //nolint:forcetypeassert // see route
	}
	metadata := o["metadata"].(object) //nolint:forcetypeassert // see route
	metadata["managedFields"] = json.RawMessage(managedFields)
	var body bytes.Buffer
	text := fmt.Appendf(nil, request, uidMark, namespace, metadata["name"], encode(o))
	if err := json.Compact(&body, text); err != nil {
		panic(err) // it was made above
	}
	before, after, _ := bytes.Cut(body.Bytes(), []byte(uidMark))
	return review{kind, before, after}
}

// uidMark stands where each request has its own uid.
const uidMark = "00000000-0000-4000-8000-000000000000"

// managedFields are those of a route that kubectl create has made.
const managedFields = `[{"manager": "kubectl-create", "operation": "Update", "apiVersion": "gateway.networking.k8s.io/v1",
	"time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": {
		"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {".": {}, "f:parentRefs": {}, "f:rules": {}}}}]`

// request is an AdmissionReview of a CREATE as the API server writes it, but for the
// space: the uid, the namespace, the name and the object are missing.
const request = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "%s",
	"kind": {"group": "gateway.networking.k8s.io", "version": "v1", "kind": "HTTPRoute"},
	"resource": {"group": "gateway.networking.k8s.io", "version": "v1", "resource": "httproutes"},
	"requestKind": {"group": "gateway.networking.k8s.io", "version": "v1", "kind": "HTTPRoute"},
	"requestResource": {"group": "gateway.networking.k8s.io", "version": "v1", "resource": "httproutes"},
	"namespace": %q, "name": %q, "operation": "CREATE",
	"userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"],
		"extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=abababababababababababababababababababababababababababababababab"]}},
	"object": %s, "oldObject": null, "dryRun": false,
	"options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create", "fieldValidation": "Strict"}}}`
