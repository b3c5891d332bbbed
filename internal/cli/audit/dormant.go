package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/gammaguard/gammaguard/internal/cli/report"
	"github.com/gammaguard/gammaguard/internal/printable"
	"github.com/gammaguard/gammaguard/mesh"
	"github.com/gammaguard/gammaguard/mutate"
)

// Dormant is a parentRef of a stored route that no mesh acts on.
type Dormant struct {
	// State is "dormant".
	State string `json:"state"`
	Field string `json:"field"`
	// Service is what it would be a parentRef to: "Service shop/cart".
	Service string `json:"service"`
}

// dormant returns the dormant parentRefs of the route.
func (a *auditor) dormant(route *mesh.Route) []Dormant {
	var found []Dormant
	set := route.Dormant(a.Engine.Policy().Mesh)
	for i := range route.Spec.ParentRefs {
		if set.Has(i) {
			service := route.Spec.ParentRefs[i].Service(route.Metadata.Namespace)
			found = append(found, Dormant{State: "dormant", Field: mesh.ParentPath(i, ""), Service: service.String()})
		}
	}
	return found
}

// asleep returns the dormant parentRefs of the route.
func (a *auditor) asleep(route *mesh.Route) []mesh.ParentRef {
	var refs []mesh.ParentRef
	for i, dormant := 0, route.Dormant(a.Engine.Policy().Mesh); i < len(route.Spec.ParentRefs); i++ {
		if dormant.Has(i) {
			refs = append(refs, route.Spec.ParentRefs[i])
		}
	}
	return refs
}

// wake returns the commands that make the dormant routes of the namespace live: the grant
// that these lack, if the namespace is known, and then what wakes each. The roles are those
// that live routes lack, which a command of their own grants before: the grant here has both.
func (a *auditor) wake(namespace *mesh.Namespace, routes []*mesh.Route, granted *lacking) []string {
	var (
		commands []string
		lacks    = lacking{roles: maps.Clone(granted.roles), kinds: maps.Clone(granted.kinds)}
		more     bool
		policy   = a.Engine.Policy()
	)
	for _, route := range routes {
		waking := a.Waking(route)
		if len(waking.Changes) == 0 {
			continue
		}
		if namespace != nil {
			missing := policy.Grants.Missing(namespace, route.Kind, policy.Grants.Needed(namespace.Name, a.asleep(route)))
			lacks.add(route.Kind, missing...)
			more = more || len(missing) > 0
		}
		commands = append(commands, wakeRoute(route, &waking)...)
	}
	if !more {
		return commands
	}
	label, annotate, both := strings.Cut(lacks.command(policy, namespace), " && ")
	if again := len(lacks.roles) > len(granted.roles) && len(granted.roles) > 0; again && !strings.Contains(label, " --overwrite") {
		label += " --overwrite"
	}
	if both {
		label += " && " + annotate
	}
	return append([]string{label}, commands...)
}

// wakeRoute returns the patch that makes the changes, or comments that name the owner to
// correct if a controller writes the route: it would undo the patch.
func wakeRoute(route *mesh.Route, waking *mutate.Plan) []string {
	if waking.Withheld() == mutate.WithheldByController {
		var comments []string
		for i := range waking.Changes {
			comments = append(comments, "# "+route.String()+": "+waking.Message(&waking.Changes[i]))
		}
		return comments
	}
	name := report.RouteName{Kind: route.Kind, Namespace: route.Metadata.Namespace, Name: route.Metadata.Name}
	return []string{patchCommand(&name, waking.Made())}
}

// patchCommand returns the command that makes the changes to a stored route.
func patchCommand(route *report.RouteName, changes []mutate.Change) string {
	patch, err := json.Marshal(mutate.Patch(changes))
	if err != nil {
		panic("audit: a patch sets strings and numbers only: " + err.Error())
	}
	return fmt.Sprintf("kubectl patch %ss.%s %s -n %s --type=json -p %s", strings.ToLower(string(route.Kind)), mesh.GatewayGroup,
		printable.Shell(route.Name), printable.Shell(route.Namespace), printable.Shell(string(patch)))
}

// Patch returns the command that makes what mutations would set in the stored route, whatever the mode;
// empty if there is nothing to set, if a controller writes the route, whose owner is to be corrected, or
// if a part of the route is dormant, which has commands of its own.
func (r *Route) Patch() string {
	if len(r.plan.Changes) == 0 || r.plan.Withheld() == mutate.WithheldByController || len(r.Dormant) > 0 {
		return ""
	}
	return patchCommand(&r.RouteName, r.plan.Changes)
}
