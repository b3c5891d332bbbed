// Package config is everything that one configures: GuardConfiguration, the type
// of the configuration file, and the kustomize tree in the folders next to it.
//
// Load decodes strictly, fills in defaults, and reports every mistake at once by
// field path.
package config
