// Package webhook answers AdmissionReviews about routes: Validating by the engine
// of package validate, Mutating by the changes of package mutate. It holds no
// rules of its own.
//
// Both are plain http.Handlers, which Register puts on a ServeMux; package server serves it.
// controller-runtime's admission.Webhook decodes the whole review into typed objects, and
// each Handler the route once more, for several times the cost; here a request is decoded
// once, into the fields that are read.
//
// A denial is never taken from the caches alone: what it depends on is read
// live from the API server first. If that fails, the answer is an error that clients
// retry, neither a denial nor an admission.
package webhook
