// Package truth holds what gammaguard's trace says of random requests against what the meshes'
// own code makes of the same routes. docs/truth.md is what it finds.
package truth
