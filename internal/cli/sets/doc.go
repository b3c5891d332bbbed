// Package sets finds what is deployed together in a repository, and so judged together:
// kustomizations, Helm charts, and folders of manifests, or what .gammaguard.yaml names. Once
// the sets were judged, it says which files may hold routes and no set has.
package sets
