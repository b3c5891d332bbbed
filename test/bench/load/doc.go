// Command load measures what gammaguard costs: the built webhook process under
// AdmissionReviews over TLS, beside a webhook that only decodes and admits, and
// the status reconciler in it, over a real API server with up to 100,000 routes.
//
// It writes what it found as JSON and as docs/performance.md, which says how to read
// it. Linux only: it reads /proc.
package main

//go:generate go run . -render -out ../../../docs/performance
