package describe

import (
	"fmt"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
)

// ineffective says why a route that applies has no effect in the mesh of the policy, and by which
// rule. Both are empty if it has, as far as is known.
func ineffective(engine *validate.Engine, reader mesh.Reader, service *mesh.Service, b *validate.Binding) (why, rule string, err error) {
	profile := engine.Policy().Mesh
	if profile == nil {
		return "", "", nil
	}
	gap, err := engine.Unenrolled(reader, service.Key, b.At.Scope)
	if err != nil {
		return "", "", err
	}
	if gap != nil {
		return gap.Problem, validate.RuleServiceNotEnrolled, nil
	}
	if engine.Action(validate.RuleServiceOverridden) == validate.Off || !b.Route.Kind.MatchesRequests() {
		return "", "", nil
	}
	for _, key := range profile.OverridesOf(service.Key, b.Route.Namespace) {
		if mesh.FindObject(reader, key) == nil {
			return fmt.Sprintf("because of %s %s/%s, %s ignores it", key.Kind, key.Namespace, key.Name, profile.Title), validate.RuleServiceOverridden, nil
		}
	}
	return "", "", nil
}
