// Package controlplane is the module of a cluster's programs. It requires the main module for
// that module's versions: what both need is then compiled once for both.
package controlplane

import _ "github.com/gammaguard/gammaguard/internal/version"
