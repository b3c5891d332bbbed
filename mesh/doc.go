// Package mesh holds the nouns of Gateway API mesh routing and their logic:
// routes of every kind, the Services that they have as parents, the ports that
// a parentRef selects, scopes, grants and precedence between route kinds.
//
// The package is pure: it takes values and returns values. Reader is the one
// interface through which it, and all that is built on it, sees a cluster or a
// set of files.
//
// The terms are those of GEP-1294 (xRoutes Mesh Binding), formerly GEP-1426.
package mesh
