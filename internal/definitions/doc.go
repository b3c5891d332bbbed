// Package definitions does to a custom resource what the API server does by its
// CustomResourceDefinition, with the API server's own packages and without a
// cluster.
//
// Default fills in defaults alone, for objects that are taken for good. Write gives
// the whole answer to a create or an update, and shows its use.
//
// The definitions of the route kinds come with the binary, from the release of the
// Gateway API in go.mod: `make definitions` puts them into the folder that is
// embedded, where they are not under version control. A binary that was built
// without it has none, and Embedded says so.
package definitions
