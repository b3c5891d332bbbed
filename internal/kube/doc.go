// Package kube shows the core a running cluster: as a mesh.Reader from caches
// that keep only what the core reads (Cache), and by live reads of single
// objects (Reader).
//
// A Cache lists and watches Services, Namespaces, EndpointSlices, and, where
// the API server serves them, ServiceImports, ReferenceGrants and the five route
// kinds. Each object is decoded by package mesh, reduced to a small immutable
// value, and kept in one of client-go's indexed stores, so that every question of
// mesh.Reader is a few lookups. Kinds that are installed later are found without a
// restart.
//
// The stores are fed by client-go's reflectors, not by its informers: these want
// each value to be an object with all its metadata, which alone is larger than what
// is kept of a route.
//
// Whoever must act on changes registers with Cache.OnChange before Start. What
// the cache returns is shared: it is never to be changed.
//
// The package links client-go only.
package kube
