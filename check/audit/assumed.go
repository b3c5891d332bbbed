package audit

import (
	"maps"

	"github.com/gammaguard/gammaguard/mesh"
)

// assumed is a cluster in which namespaces have labels that they do not have yet.
type assumed struct {
	mesh.Reader
	// mode is the mode of every namespace; empty: each its own.
	mode mesh.Mode
	// grant is the grant of the one namespace, if it is named.
	namespace string
	grant     mesh.Grant
}

// Namespace returns the namespace with the labels.
func (a *assumed) Namespace(name string) (*mesh.Namespace, error) {
	stored, err := a.Reader.Namespace(name)
	granted := a.namespace != "" && name == a.namespace
	if err != nil || a.mode == "" && !granted {
		return stored, err
	}
	namespace := *stored
	namespace.Labels = maps.Clone(stored.Labels)
	if a.mode != "" {
		namespace.Labels[mesh.ModeLabel] = string(a.mode)
	}
	if granted {
		namespace.Labels[mesh.GrantLabel] = string(a.grant)
	}
	return &namespace, nil
}
