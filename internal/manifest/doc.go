// Package manifest is a mesh.Reader made of manifests: YAML or JSON files as one
// gives them to kubectl.
//
// Read splits a file into objects that know where they stand in it. A Set holds
// the objects that bear on mesh routing and answers for them; it also does the
// little of an API server that its answers need, such as defaults of a Service
// and the age of a route.
package manifest
