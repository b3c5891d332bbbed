// Package proxies holds what gammaguard says of requests against what the proxies of a mesh were
// given: Envoy's route configurations, and the forms in which meshes hand routes on. An
// Answer is what becomes of one request, by either.
package proxies
