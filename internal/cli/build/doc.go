// Package build runs kustomize and Helm where they can do no harm: in a process of the same
// program that has no PATH, no environment, no network, no files, and bounded memory and time. It asks its
// parent for each file.
//
// A program that builds calls Main before anything else: the process may be such a builder.
package build
