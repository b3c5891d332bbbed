// Package meshes plays the routes of testdata, which were once put to real meshes, under
// the profile of each mesh, and compares gammaguard's answers with what the meshes did. It
// makes docs/meshes.md and the pages in docs/meshes.
package meshes
