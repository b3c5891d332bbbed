package audit

import (
	"maps"
	"slices"

	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/validate"
	"github.com/gammaguard/gammaguard/validate/rules"
)

// lacking is what of the grant routes lack.
type lacking struct {
	roles map[mesh.Role]bool
	kinds map[mesh.RouteKind]bool
}

func (l *lacking) add(kind mesh.RouteKind, roles ...mesh.Role) {
	for _, role := range roles {
		l.roles[role], l.kinds[kind] = true, true
	}
}

// command returns what grants it to the namespace.
func (l *lacking) command(policy *validate.Policy, namespace *mesh.Namespace) string {
	return rules.GrantCommand(policy, namespace.Name, namespace, slices.Sorted(maps.Keys(l.kinds)), slices.Sorted(maps.Keys(l.roles))...)
}
