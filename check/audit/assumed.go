package audit

import (
	"maps"

	"github.com/gammaguard/gammaguard/mesh"
)

// asMode is a cluster in which every namespace has the mode.
type asMode struct {
	mesh.Reader
	mode mesh.Mode
}

// Namespace returns the namespace with the mode.
func (a *asMode) Namespace(name string) (*mesh.Namespace, error) {
	namespace, err := a.Reader.Namespace(name)
	if err != nil {
		return nil, err
	}
	return labelled(namespace, mesh.ModeLabel, string(a.mode)), nil
}

// labelled returns the namespace with the label.
func labelled(namespace *mesh.Namespace, key, value string) *mesh.Namespace {
	changed := *namespace
	changed.Labels = maps.Clone(namespace.Labels)
	changed.Labels[key] = value
	return &changed
}
