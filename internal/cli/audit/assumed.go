package audit

import (
	"maps"

	"github.com/gammaguard/gammaguard/mesh"
)

// asMode returns the cluster as if every namespace had the mode.
func asMode(cluster mesh.Reader, mode mesh.Mode) mesh.Reader {
	return mesh.ReaderFunc(func(read mesh.Read) mesh.Answer {
		answer := cluster.Do(read)
		if answer.Namespace != nil {
			answer.Namespace = labeled(answer.Namespace, mesh.ModeLabel, string(mode))
		}
		return answer
	})
}

// granted returns the namespace with the grant, for routes of every kind.
func granted(namespace *mesh.Namespace, grant mesh.Grant) *mesh.Namespace {
	changed := labeled(namespace, mesh.GrantLabel, string(grant))
	changed.GrantKinds = nil
	return changed
}

// labeled returns the namespace with the label.
func labeled(namespace *mesh.Namespace, key, value string) *mesh.Namespace {
	changed := *namespace
	changed.Labels = maps.Clone(namespace.Labels)
	changed.Labels[key] = value
	return &changed
}
