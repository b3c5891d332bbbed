// Package live shows the core a running cluster: as a mesh.World from caches
// that keep only what the core reads (Cache), and by live reads of single
// objects (Reader).
//
// A Cache lists and watches Services, Namespaces, EndpointSlices, and, where
// the API server serves them, ServiceImports, ReferenceGrants and the five route
// kinds. Each object is decoded into a narrow type, reduced to a small immutable
// value of package mesh, and indexed, so that every question of mesh.World is one
// lookup. Kinds that are installed later are found without a restart.
//
// Whoever must act on changes registers with Cache.OnChange before Start. What
// the cache returns is shared: it is never to be changed.
//
// The package links client-go only.
package live
