package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
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
	before, after := posted(o)
	return review{kind, before, after}
}

// uidMark stands where each request has its own uid.
const uidMark = "00000000-0000-4000-8000-000000000000"

// posted wraps a route as the API server does for a CREATE, managed fields
// included, and cuts that around its uid.
func posted(o object) (before, after []byte) {
	metadata := o["metadata"].(object) //nolint:forcetypeassert // see route
	for key, value := range (object{
		"uid": "6b0e2d1c-8f7a-4c55-9d3e-0a1b2c3d4e5f", "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 1,
		"managedFields": []object{{
			"manager": "kubectl-create", "operation": "Update", "apiVersion": o["apiVersion"], "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
			"fieldsV1": object{
				"f:metadata": object{"f:labels": object{".": object{}, "f:app": object{}}},
				"f:spec":     object{".": object{}, "f:parentRefs": object{}, "f:rules": object{}},
			},
		}},
	}) {
		metadata[key] = value
	}
	kind := object{"group": "gateway.networking.k8s.io", "version": "v1", "kind": "HTTPRoute"}
	resource := object{"group": "gateway.networking.k8s.io", "version": "v1", "resource": "httproutes"}
	body := encode(object{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": object{
			"uid": uidMark, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
			"name": metadata["name"], "namespace": metadata["namespace"], "operation": "CREATE",
			"userInfo": object{
				"username": "admin", "groups": []string{"system:masters", "system:authenticated"},
				"extra": object{"authentication.kubernetes.io/credential-id": []string{"X509SHA256=" + strings.Repeat("ab", 32)}},
			},
			"object": o, "oldObject": nil, "dryRun": false,
			"options": object{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create", "fieldValidation": "Strict"},
		},
	})
	before, after, _ = bytes.Cut(body, []byte(uidMark))
	return before, after
}
