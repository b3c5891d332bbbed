package config

import "embed"

// Manifests is the kustomize tree next to this file: what `kubectl apply -k`
// installs is what tests and the demo read.
//
//go:embed base components default overlays policy rbac webhook
var Manifests embed.FS
