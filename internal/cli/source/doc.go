// Package source reads what a set of manifests is made of: files, folders, kustomizations,
// Helm charts and standard input in, objects and the places that they come from out. It
// reads only what is in the repository, and bounds what one set may cost.
package source
